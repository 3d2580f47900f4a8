"""People across organisations: found by name or address, and erased at their request."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from core import scope
from core.errors import SteelyardError
from core.routes import route
from core.types import Actor, ObjectRef
from portal.erasing import erase, running_work
from portal.web.console import frame
from portal.web.organization.asking import show
from tenants.enums import PlatformPermission
from tenants.permissions import authorize_platform
from tenants.selectors.platform import people_known, roles_of_people
from tenants.services.erasure import LONGEST_REASON, prospect

if TYPE_CHECKING:
    from tenants.models import Membership, User

PAGE = 50
_MAY = PlatformPermission.MANAGE_TENANTS


class EraseForm(forms.Form):
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="The platform's audit log keeps it, so without the person's name and address.",
    )
    confirmed = forms.CharField(max_length=254, widget=forms.TextInput(attrs={"autocomplete": "off"}))


@route(permission=_MAY, verb="person.listed", scoped=False)
@require_GET
def people_list(request: HttpRequest) -> HttpResponse:
    """By address, fifty a page; a constant number of queries."""
    words, after = request.GET.get("q", "").strip()[:120], request.GET.get("after", "")[:254]
    with frame.across(request, _MAY, "person.listed"):
        found = people_known(words)
        rows = list((found.filter(email__gt=after) if after else found)[: PAGE + 1])
        roles = roles_of_people([row.pk for row in rows[:PAGE]])
    context: dict[str, object] = {
        "people": [_row(row, roles.get(row.pk, [])) for row in rows[:PAGE]],
        "chosen": {"q": words},
        "next": f"?{urlencode({'q': words, 'after': rows[PAGE - 1].email})}" if len(rows) > PAGE else "",
    }
    return frame.page(request, "portal/console/people.html", context)


@route(permission=_MAY, verb="person.viewed", scoped=False)
@never_cache
@require_GET
def person(request: HttpRequest, person_id: UUID) -> HttpResponse:
    return _page(request, person_id, EraseForm())


@route(permission=_MAY, verb="person.erased", scoped=False)
@never_cache
@require_POST
def person_erase(request: HttpRequest, person_id: UUID) -> HttpResponse:
    """For a reason, with the address typed. Refused with everything that stands against it."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    form = EraseForm(request.POST)
    authorize_platform(actor, _MAY, ObjectRef("person", str(person_id)))
    if not form.is_valid():
        return _page(request, person_id, form, status=400)
    try:
        erase(actor=actor, user_id=person_id, now=timezone.now(), **form.cleaned_data)
    except SteelyardError as error:
        return _page(request, person_id, form, status=show(form, error, request))
    messages.success(request, "The person is erased.")
    return redirect("console-people")


def _page(request: HttpRequest, person_id: UUID, form: EraseForm, *, status: int = 200) -> HttpResponse:
    """A look is recorded; after a refusal that stands there in its place."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    ref = ObjectRef("person", str(person_id))
    look = frame.across(request, _MAY, "person.viewed", ref) if status == 200 else scope.of_platform()
    with look:
        found = prospect(actor=actor, user_id=person_id, work=running_work, now=timezone.now())
        roles = roles_of_people([person_id]).get(person_id, [])
    context: dict[str, object] = {
        "person": _row(found.person, roles),
        "holds": found.holds,
        "hindered_by": found.hindered_by,
        "form": form,
    }
    return frame.page(request, "portal/console/person.html", context, status=status)


def _row(row: User, roles: list[Membership]) -> dict[str, object]:
    return {
        "name": row.full_name or row.email,
        "email": row.email,
        "url": reverse("console-person", args=[row.pk]),
        "erase_url": reverse("console-person-erase", args=[row.pk]),
        "platform_role": f"platform {row.get_platform_role_display()}".lower() if row.platform_role else "",
        "active": row.is_active,
        "since": row.created_at,
        "roles": [_role(each) for each in roles],
        "organizations": sorted({each.organization.slug for each in roles}),
    }


def _role(row: Membership) -> dict[str, str]:
    place = row.project or row.team
    return {
        "role": row.get_role_display(),
        "place": f"{row.organization.slug}/{place.slug}" if place else row.organization.slug,
        "url": reverse("console-tenant", args=[row.organization.slug]),
    }

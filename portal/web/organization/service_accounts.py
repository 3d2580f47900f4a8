"""Service accounts: principals that act by tokens alone."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from core.errors import SteelyardError
from core.routes import route
from portal.web.organization.asking import asked, show, words_of
from portal.web.organization.forms import ServiceAccountForm
from tenants.enums import Permission
from tenants.permissions import authorize
from tenants.selectors.places import roles_of, service_accounts_visible_to
from tenants.services import service_accounts


@route(permission=Permission.MANAGE_SERVICE_ACCOUNTS, verb="service_account.listed")
@require_GET
def service_account_list(request: HttpRequest) -> HttpResponse:
    return _list(request)


@route(permission=Permission.MANAGE_SERVICE_ACCOUNTS, verb="service_account.created")
@require_POST
def service_account_new(request: HttpRequest) -> HttpResponse:
    actor, organization = asked(request)
    authorize(actor, Permission.MANAGE_SERVICE_ACCOUNTS, organization)
    form = ServiceAccountForm(request.POST)
    if not form.is_valid():
        return _list(request, form=form, status=400)
    words = form.cleaned_data
    try:
        made = service_accounts.create(
            actor=actor,
            organization=organization,
            name=words["name"],
            description=words["description"],
            now=timezone.now(),
        )
    except SteelyardError as error:
        return _list(request, form=form, status=show(form, error, request))
    messages.success(request, f"{made.name} is there. It may do nothing until it has a role and a token.")
    return redirect("service-accounts")


@route(permission=Permission.MANAGE_SERVICE_ACCOUNTS, verb="service_account.disabled")
@require_POST
def service_account_disable(request: HttpRequest, account_id: UUID) -> HttpResponse:
    actor, _ = asked(request)
    done = service_accounts.disable(actor=actor, account_id=account_id, now=timezone.now())
    messages.success(request, f"{done.name} is disabled. What used its tokens is refused from now on.")
    return redirect("service-accounts")


def _list(request: HttpRequest, *, form: ServiceAccountForm | None = None, status: int = 200) -> HttpResponse:
    actor, organization = asked(request)
    authorize(actor, Permission.MANAGE_SERVICE_ACCOUNTS, organization)
    rows = list(service_accounts_visible_to(actor))
    roles = roles_of(actor, [row.user_id for row in rows])
    context = {
        "accounts": [
            {
                "id": row.pk,
                "name": row.name,
                "description": row.description,
                "since": row.created_at,
                "disabled_at": row.disabled_at,
                "roles": [
                    {"role": role.get_role_display(), "place": words_of(role.place)}
                    for role in roles.get(row.user_id, [])
                ],
                "roles_url": reverse("member", args=[row.user_id]) if row.disabled_at is None else "",
                "disable_url": reverse("service-account-disable", args=[row.pk]),
            }
            for row in rows
        ],
        "form": form or ServiceAccountForm(),
        "new_url": reverse("service-account-new"),
    }
    return render(request, "portal/organization/service_accounts.html", context, status=status)

"""The platform's own rules, in force for every organisation."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core import refusals, scope
from core.errors import Conflict, Invalid, NotFound
from core.routes import route
from core.types import Actor
from portal.web.console import frame
from portal.web.policies import editing
from portal.web.policies.forms import RuleForm
from portal.web.policies.words import MODES
from provisioning.services.policy_preview import preview_for_platform
from tenants.enums import PlatformPermission, PolicyKind
from tenants.permissions import authorize_platform
from tenants.selectors.policies import platform_policies
from tenants.services import policies

if TYPE_CHECKING:
    from tenants.models import PlatformPolicy

_MAY = PlatformPermission.MANAGE_PLATFORM_POLICY
CURRENCY = "USD"
"""What the platform's limits of price are in. An organisation with another currency is asked for approval instead."""


@route(permission=_MAY, verb="policy.listed", scoped=False)
@require_GET
def policy_list(request: HttpRequest) -> HttpResponse:
    with frame.across(request, _MAY, "policy.listed"):
        rows = [editing.row(each, reverse("console-policy-edit", args=[each.pk])) for each in platform_policies()]
    context: dict[str, object] = {"rules": rows, "kinds": editing.kinds("console-policy-new")}
    return frame.page(request, "portal/console/policies.html", context)


@route(permission=_MAY, verb="policy.created", scoped=False)
@require_http_methods(["GET", "POST"])
def policy_new(request: HttpRequest) -> HttpResponse:
    """A form of the kind of rule asked for; a POST sets it for everybody."""
    kind = editing.kind_of(request)
    actor = _allowed(request)
    with scope.of_platform():
        form = editing.form_of(request, kind, initial=editing.NEW, currency=CURRENCY)
    if request.method != "POST" or not form.is_valid():
        return _editor(request, form, kind, None)
    data = form.cleaned_data
    draft = policies.Draft(data["slug"], data["title"], kind, form.terms(), data["mode"])
    try:
        with scope.of_platform():
            made = policies.create_for_platform(actor=actor, draft=draft, now=timezone.now())
    except Invalid as error:
        editing.show(form, error)
        return _editor(request, form, kind, None)
    except Conflict as error:
        refusals.note(request, error)
        form.add_error("slug", error.message)
        return _editor(request, form, kind, None)
    messages.success(request, f"{made.title} is set for everybody: {MODES[made.mode][1].lower()}.")
    return redirect("console-policies")


@route(permission=_MAY, verb="policy.changed", scoped=False)
@require_http_methods(["GET", "POST"])
def policy_edit(request: HttpRequest, policy_id: UUID) -> HttpResponse:
    """One rule with its history; a POST changes it for everybody."""
    actor = _allowed(request, policy_id)
    with scope.of_platform():
        policy = _policy(policy_id)
        form = editing.form_for(request, policy, currency=CURRENCY)
    if request.method != "POST" or not form.is_valid():
        return _editor(request, form, policy.kind, policy)
    data = form.cleaned_data
    try:
        with scope.of_platform():
            changed = policies.change(
                actor=actor,
                policy_id=policy_id,
                title=data["title"],
                terms=form.terms(),
                mode=data["mode"],
                now=timezone.now(),
            )
    except Invalid as error:
        editing.show(form, error)
        return _editor(request, form, policy.kind, policy)
    messages.success(request, f"{changed.title}: version {changed.version}, {MODES[changed.mode][1].lower()}.")
    return redirect("console-policies")


@route(permission=_MAY, verb="policy.previewed", scoped=False)
@require_POST
def policy_preview(request: HttpRequest) -> HttpResponse:
    """What the rule in the form, enforced, would have changed for everybody in the last thirty days."""
    kind = editing.kind_of(request)
    actor = _allowed(request)
    with scope.of_platform():
        form = editing.terms_only(editing.form_of(request, kind, initial={}, currency=CURRENCY))
    replaces = request.POST.get("replaces", "")
    if not form.is_valid():
        errors = [str(error[0]) for error in form.errors.values()]
        return render(request, "portal/policies/_preview.html", {"errors": errors}, status=422)
    try:
        with scope.of_platform():
            found = preview_for_platform(
                actor=actor,
                kind=kind,
                terms=form.terms(),
                replaces=UUID(replaces) if replaces else None,
                currency=CURRENCY,
                title=form.cleaned_data["title"],
                now=timezone.now(),
            )
    except (Invalid, ValueError) as error:
        return render(request, "portal/policies/_preview.html", {"errors": [str(error)]}, status=422)
    context = {"found": found, "limits": kind == PolicyKind.IDLE_STOP, "unlinked": True}
    return render(request, "portal/policies/_preview.html", context)


@route(permission=_MAY, verb="policy.retired", scoped=False)
@require_POST
def policy_retire(request: HttpRequest, policy_id: UUID) -> HttpResponse:
    actor = _allowed(request, policy_id)
    with scope.of_platform():
        title = _policy(policy_id).title
        policies.retire(actor=actor, policy_id=policy_id, now=timezone.now())
    messages.success(request, f"{title} is retired. What it said is kept.")
    return redirect("console-policies")


def _allowed(request: HttpRequest, policy_id: UUID | None = None) -> Actor:
    """The actor, if it may. A stranger to the console is told of no rule of that id."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    try:
        authorize_platform(actor, _MAY)
    except NotFound:
        if policy_id is None:
            raise
        raise NotFound("policy", policy_id) from None
    return actor


def _policy(policy_id: UUID) -> PlatformPolicy:
    found = next((each for each in platform_policies() if each.pk == policy_id), None)
    if found is None:
        raise NotFound("policy", policy_id)
    return found


def _editor(request: HttpRequest, form: RuleForm, kind: str, policy: PlatformPolicy | None) -> HttpResponse:
    with scope.of_platform():
        context = editing.editor_context(
            form,
            kind,
            policy,
            trail=[{"label": "Policies", "url": reverse("console-policies")}],
            save_url=request.path,
            preview_url=reverse("console-policy-preview"),
            retire_url=reverse("console-policy-retire", args=[policy.pk]) if policy else "",
        )
    answer = frame.page(request, "portal/policies/edit.html", context)
    answer.status_code = 400 if form.errors else 200
    return answer

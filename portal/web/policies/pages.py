"""The list of rules, the editor, the preview, and the end of a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core import refusals
from core.errors import Conflict, Invalid
from core.routes import route
from core.types import Actor
from portal.web.policies import editing
from portal.web.policies.forms import RuleForm
from portal.web.policies.words import MODES
from provisioning.services.policy_preview import preview
from tenants.enums import Permission, PolicyKind, PolicyOrigin
from tenants.permissions import authorize, holds
from tenants.selectors import organization_of
from tenants.selectors.policies import AnyPolicy, policies_visible_to, policy_for
from tenants.services import policies

if TYPE_CHECKING:
    from tenants.models import Policy


@route(permission=Permission.VIEW_POLICY, verb="policy.listed")
@require_GET
def policy_list(request: HttpRequest) -> HttpResponse:
    """The platform's rules, then the organisation's own."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    organization = organization_of(actor)
    rows = policies_visible_to(actor)
    may_set = holds(actor, Permission.MANAGE_POLICY, organization)
    context = {
        "organization": organization.name,
        "platforms": [editing.row(each, "") for each in rows if not _is_own(each)],
        "own": [editing.row(each, reverse("policy-edit", args=[each.pk])) for each in rows if _is_own(each)],
        "kinds": editing.kinds("policy-new") if may_set else [],
    }
    return render(request, "portal/policies/list.html", context)


@route(permission=Permission.MANAGE_POLICY, verb="policy.created")
@require_http_methods(["GET", "POST"])
def policy_new(request: HttpRequest) -> HttpResponse:
    """A form of the kind of rule asked for; a POST sets it."""
    kind = editing.kind_of(request)
    actor: Actor = request.actor  # type: ignore[attr-defined]
    organization = organization_of(actor)
    form = editing.form_of(request, kind, initial=editing.NEW, currency=organization.currency)
    authorize(actor, Permission.MANAGE_POLICY, organization)
    if request.method != "POST" or not form.is_valid():
        return _editor(request, form, kind, None)
    draft = policies.Draft(
        form.cleaned_data["slug"], form.cleaned_data["title"], kind, form.terms(), form.cleaned_data["mode"]
    )
    try:
        made = policies.create(actor=actor, organization=organization, draft=draft, now=timezone.now())
    except Invalid as error:
        editing.show(form, error)
        return _editor(request, form, kind, None)
    except Conflict as error:
        refusals.note(request, error)
        form.add_error("slug", error.message)
        return _editor(request, form, kind, None)
    messages.success(request, f"{made.title} is set: {MODES[made.mode][1].lower()}.")
    return redirect("policies")


@route(permission=Permission.MANAGE_POLICY, verb="policy.changed")
@require_http_methods(["GET", "POST"])
def policy_edit(request: HttpRequest, policy_id: UUID) -> HttpResponse:
    """One of the organisation's rules with its history; a POST changes it."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    policy = _own(actor, policy_id)
    form = editing.form_for(request, policy, currency=organization_of(actor).currency)
    if request.method != "POST" or not form.is_valid():
        return _editor(request, form, policy.kind, policy)
    try:
        changed = policies.change(
            actor=actor,
            policy_id=policy_id,
            title=form.cleaned_data["title"],
            terms=form.terms(),
            mode=form.cleaned_data["mode"],
            now=timezone.now(),
        )
    except Invalid as error:
        editing.show(form, error)
        return _editor(request, form, policy.kind, policy)
    messages.success(request, f"{changed.title}: version {changed.version}, {MODES[changed.mode][1].lower()}.")
    return redirect("policies")


@route(permission=Permission.MANAGE_POLICY, verb="policy.previewed")
@require_POST
def policy_preview(request: HttpRequest) -> HttpResponse:
    """What the rule in the form, enforced, would have changed in the last thirty days."""
    kind = editing.kind_of(request)
    actor: Actor = request.actor  # type: ignore[attr-defined]
    form = editing.terms_only(editing.form_of(request, kind, initial={}, currency=organization_of(actor).currency))
    replaces = request.POST.get("replaces", "")
    if not form.is_valid():
        errors = [str(error[0]) for error in form.errors.values()]
        return render(request, "portal/policies/_preview.html", {"errors": errors}, status=422)
    try:
        found = preview(
            actor=actor,
            kind=kind,
            terms=form.terms(),
            replaces=UUID(replaces) if replaces else None,
            title=form.cleaned_data["title"],
            now=timezone.now(),
        )
    except (Invalid, ValueError) as error:
        return render(request, "portal/policies/_preview.html", {"errors": [str(error)]}, status=422)
    return render(request, "portal/policies/_preview.html", {"found": found, "limits": kind == PolicyKind.IDLE_STOP})


@route(permission=Permission.MANAGE_POLICY, verb="policy.retired")
@require_POST
def policy_retire(request: HttpRequest, policy_id: UUID) -> HttpResponse:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    title = policy_for(actor, policy_id).title
    policies.retire(actor=actor, policy_id=policy_id, now=timezone.now())
    messages.success(request, f"{title} is retired. What it said is kept.")
    return redirect("policies")


def _editor(request: HttpRequest, form: RuleForm, kind: str, policy: Policy | None) -> HttpResponse:
    context = editing.editor_context(
        form,
        kind,
        policy,
        trail=[{"label": "Policies", "url": reverse("policies")}],
        save_url=request.path,
        preview_url=reverse("policy-preview"),
        retire_url=reverse("policy-retire", args=[policy.pk]) if policy else "",
    )
    return render(request, "portal/policies/edit.html", context, status=400 if form.errors else 200)


def _own(actor: Actor, policy_id: UUID) -> Policy:
    found = policy_for(actor, policy_id)
    if not _is_own(found):
        raise Http404
    authorize(actor, Permission.MANAGE_POLICY, organization_of(actor))
    return found  # type: ignore[return-value]


def _is_own(policy: AnyPolicy) -> bool:
    return policy.rule.name.origin is PolicyOrigin.ORGANIZATION

"""Policies: set by the platform or an organisation, changed in versions, switched on, retired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from core import audit, scope
from core.errors import Conflict, FieldError, Forbidden, Invalid, NotFound, Stale
from core.names import checked_name
from core.types import Actor, Json, ObjectRef
from tenants.enums import Permission, PlatformPermission, PolicyKind, PolicyMode
from tenants.models import Organization, PlatformPolicy, PlatformPolicyVersion, Policy, PolicyVersion
from tenants.models.organizations import SLUG
from tenants.permissions import authorize, authorize_platform
from tenants.policy_rules import parse
from tenants.selectors.policies import AnyPolicy, policy_for


@dataclass(frozen=True, slots=True)
class Draft:
    """A rule as somebody writes it. `terms` are read by the schema of its kind."""

    slug: str
    title: str
    kind: str
    terms: Mapping[str, Json]
    mode: str = PolicyMode.OFF


@transaction.atomic
def create(*, actor: Actor, organization: Organization, draft: Draft, now: datetime) -> Policy:
    """An organisation's rule. It starts as its mode says; off unless somebody asks for more."""
    authorize(actor, Permission.MANAGE_POLICY, organization)
    policy = Policy(organization=organization, **_columns(draft, now))
    _insert(policy, actor, now)
    return policy


@transaction.atomic
def create_for_platform(*, actor: Actor, draft: Draft, now: datetime) -> PlatformPolicy:
    """A rule for every organisation. In the platform's scope."""
    authorize_platform(actor, PlatformPermission.MANAGE_PLATFORM_POLICY)
    policy = PlatformPolicy(**_columns(draft, now))
    _insert(policy, actor, now)
    return policy


@transaction.atomic
def change(
    *,
    actor: Actor,
    policy_id: UUID,
    now: datetime,
    title: str | None = None,
    terms: Mapping[str, Json] | None = None,
    mode: str | None = None,
    expected_version: int | None = None,
) -> AnyPolicy:
    """Another title, other terms, another mode: whatever is given. Makes a new version; the old ones are kept."""
    policy = _for_change(actor, policy_id, expected_version)
    before = _shown(policy)
    if title is not None:
        policy.title = _title(title)
    if terms is not None:
        policy.terms = parse(policy.kind, terms).as_json()
    if mode is not None:
        policy.mode = _mode(mode)
    if _shown(policy) == before:
        return policy
    _save(policy, actor, now)
    audit.record(actor, "policy.changed", policy.ref, now=now, before=before, after=_shown(policy))
    return policy


@transaction.atomic
def retire(*, actor: Actor, policy_id: UUID, now: datetime, expected_version: int | None = None) -> None:
    """It says nothing any more; what it said is kept."""
    policy = _for_change(actor, policy_id, expected_version)
    before = _shown(policy)
    policy.retired_at = now
    policy.mode = PolicyMode.OFF
    _save(policy, actor, now)
    audit.record(actor, "policy.retired", policy.ref, now=now, before=before, after={"retired": True})


def _for_change(actor: Actor, policy_id: UUID, expected_version: int | None) -> AnyPolicy:
    """The locked row, if the actor may change it: an organisation its own rules, the platform the rest."""
    platform = PlatformPolicy.objects.filter(pk=policy_id, retired_at=None).exists()
    policy: AnyPolicy | None
    if platform:
        _refuse_from_inside(actor, policy_id)
        authorize_platform(actor, PlatformPermission.MANAGE_PLATFORM_POLICY)
        policy = PlatformPolicy.objects.select_for_update().filter(pk=policy_id, retired_at=None).first()
    else:
        seen = policy_for(actor, policy_id)
        assert isinstance(seen, Policy)
        authorize(actor, Permission.MANAGE_POLICY, seen.organization)
        policy = Policy.objects.select_for_update().filter(pk=policy_id, retired_at=None).first()
    if policy is None:
        raise NotFound("policy", policy_id)
    if expected_version is not None and policy.version != expected_version:
        raise Stale("The rule has changed since you read it. Read it again, then decide.")
    return policy


def _refuse_from_inside(actor: Actor, policy_id: UUID) -> None:
    """An organisation sees the platform's rules; they are changed in the platform's scope alone."""
    if scope.require().is_platform:
        return
    ref = ObjectRef("policy", str(policy_id)) if actor.platform_role else policy_for(actor, policy_id).ref
    ask = "the platform: it sets this rule for every organisation, in its console"
    raise Forbidden(PlatformPermission.MANAGE_PLATFORM_POLICY, ref, ask=ask)


def _insert(policy: AnyPolicy, actor: Actor, now: datetime) -> None:
    try:
        with transaction.atomic():
            policy.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(
            f"There is a rule called {policy.slug} already. Choose another name.", code="name_taken"
        ) from error
    _keep_version(policy, actor, now)
    audit.record(actor, "policy.created", policy.ref, now=now, after={"kind": policy.kind, **_shown(policy)})


def _save(policy: AnyPolicy, actor: Actor, now: datetime) -> None:
    policy.version += 1
    policy.changed_at = now
    policy.save(update_fields=["title", "terms", "mode", "version", "changed_at", "retired_at"])
    _keep_version(policy, actor, now)


def _keep_version(policy: AnyPolicy, actor: Actor, now: datetime) -> None:
    said = {
        "number": policy.version,
        "title": policy.title,
        "terms": policy.terms,
        "mode": policy.mode,
        "changed_by": actor.id,
        "at": now,
    }
    if isinstance(policy, Policy):
        PolicyVersion.objects.create(organization_id=policy.organization_id, policy=policy, **said)
    else:
        PlatformPolicyVersion.objects.create(policy=policy, **said)


def _columns(draft: Draft, now: datetime) -> dict[str, object]:
    """What every kind of rule stores. Raises Invalid, naming every field that cannot be meant."""
    if draft.kind not in set(PolicyKind):
        raise Invalid([FieldError("kind", "unknown", f"A kind is one of {', '.join(PolicyKind.values)}.")])
    if not SLUG.regex.match(draft.slug):  # type: ignore[union-attr]
        raise Invalid([FieldError("slug", "malformed", str(SLUG.message))])
    return {
        "slug": draft.slug,
        "title": _title(draft.title),
        "kind": draft.kind,
        "terms": parse(draft.kind, draft.terms).as_json(),
        "mode": _mode(draft.mode),
        "created_at": now,
        "changed_at": now,
    }


def _title(title: str) -> str:
    return " ".join(checked_name("title", title, most=80).split())


def _mode(mode: str) -> str:
    if mode not in set(PolicyMode):
        raise Invalid([FieldError("mode", "unknown", f"A mode is one of {', '.join(PolicyMode.values)}.")])
    return mode


def _shown(policy: AnyPolicy) -> dict[str, Json]:
    return {"title": policy.title, "terms": policy.terms, "mode": str(policy.mode)}

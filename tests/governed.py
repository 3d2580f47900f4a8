"""What is governed in tests: requests for approval, and policies."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from django.utils import timezone

from core.ids import uuid7
from core.types import ObjectRef
from tenants.enums import Decider
from tenants.models import Approval, PlatformPolicy, Policy
from tenants.permissions import Place
from tenants.services import approvals, policies
from tests.house import SYSTEM, Tenant, an_act


def asked(
    tenant: Tenant,
    person: str = "alice",
    *,
    needed: int = 1,
    decider: str = "organization",
    place: Place | None = None,
    operator_id: UUID | None = None,
) -> Approval:
    """An open request in the first project, about something that lies above."""
    request = approvals.Request(
        kind="price",
        subject=ObjectRef("price", str(uuid7()), "gpu-hour/h100"),
        place=place or next(iter(tenant.projects.values())),
        justification="The new contract.",
        payload={"from": {"amount": "2.95", "currency": "USD"}, "to": {"amount": "2.50", "currency": "USD"}},
        rule="prices",
        needed=needed,
        decider=Decider(decider),
    )
    with an_act(), tenant.scope():
        return approvals.ask(
            actor=replace(tenant.actor(person), operator_id=operator_id), request=request, now=timezone.now()
        )


def ruled(tenant: Tenant, *, mode: str = "observe") -> Policy:
    """A rule of the organisation about large launches."""
    draft = policies.Draft("large-launches", "Large launches", "approval_above", {"accelerators": 1}, mode)
    with an_act(), tenant.scope():
        return policies.create(
            actor=tenant.actor("olivia"), organization=tenant.organization, draft=draft, now=timezone.now()
        )


def platform_rule(*, mode: str = "enforce") -> PlatformPolicy:
    """A rule of the platform's about confidential data. In the platform's scope."""
    draft = policies.Draft("at-home", "At home", "regions", {"regions": {"confidential": ["here"]}}, mode)
    return policies.create_for_platform(actor=SYSTEM, draft=draft, now=timezone.now())

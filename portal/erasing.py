"""Erasing a person joins tenancy and provisioning: what they have running stands against it, so it is asked here."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from core import audit, scope
from core.types import Actor, ObjectRef, Reason
from provisioning.selectors.workloads import unfinished_of
from tenants.enums import PlatformPermission
from tenants.permissions import authorize_platform
from tenants.services import erasure
from tenants.services.erasure import Holdings, Prospect

_SHOWN = 20


def prospect(*, actor: Actor, user_id: UUID, now: datetime) -> Prospect:
    """What would go and what hinders, in a scope of the platform's. Whoever looks at somebody else is recorded."""
    with scope.of_platform():
        if user_id != actor.id:
            authorize_platform(actor, PlatformPermission.MANAGE_TENANTS, ObjectRef("person", str(user_id)))
            audit.record(actor, "person.viewed", ObjectRef("person", str(user_id)), now=now)
        return erasure.prospect(actor=actor, user_id=user_id, work=running_work, now=now)


def erase(*, actor: Actor, user_id: UUID, confirmed: str, now: datetime, reason: str = "") -> Holdings:
    """For good, in a scope of the platform's: a person is in every organisation at once."""
    with scope.of_platform():
        return erasure.erase_person(
            actor=actor, user_id=user_id, confirmed=confirmed, work=running_work, now=now, reason=reason
        )


def running_work(user_id: UUID) -> list[Reason]:
    """A reason for each workload of a person that has not ended, in the platform's scope."""
    found = unfinished_of(user_id)
    reasons = [
        Reason(
            code="still_running",
            message=f"{row.name} in {row.project.organization.slug}/{row.project.slug} is {row.state}."
            " Stop or delete it, and wait until it has ended.",
            resource=row.kind,
        )
        for row in found[:_SHOWN]
    ]
    more = len(found) - len(reasons)
    if more > 0:
        reasons.append(Reason(code="still_running", message=f"{more} more workloads have not ended."))
    return reasons

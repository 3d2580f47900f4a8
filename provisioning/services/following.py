"""The way to a stream of what a workload says: a one-time code, and whether whoever spent it may still listen.

A code holds for one person, one workload, one kind of stream and the credential that asked. There is no cookie: a
stream that broke off is asked for again, with a new code.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from core import audit, scope
from core.types import Actor
from provisioning.durations import duration
from provisioning.enums import Purpose
from provisioning.models import EntryCode
from provisioning.selectors.addresses import origin_of
from provisioning.selectors.sweeps import entry_code
from provisioning.selectors.workloads import workload_for
from provisioning.services.entries import Denied, actor_behind, hash_of
from tenants.enums import Permission
from tenants.permissions import holds

LONGEST: Final = timedelta(hours=12)
"""After this a stream ends and is asked for again."""

SPENT = Denied(410, "code_spent", "This address has been used or is older than its 30 seconds. Ask for it again.")
GONE = Denied(404, "not_found", "There is no such workload.")


@dataclass(frozen=True, slots=True)
class Followed:
    """An address that works once."""

    url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Listener:
    """A code was good. `pass_key` names the permission that listening rests on; `tail`: what to begin with."""

    pass_key: str
    person_id: UUID
    organization_id: UUID
    workload_id: UUID
    tail: int


def follow(*, actor: Actor, workload_id: UUID, purpose: Purpose, tail: int, now: datetime) -> Followed:
    """An address for whoever may see the workload, in whatever state it is. Raises NotFound."""
    with scope.of_organization(actor.tenant_id):
        workload = workload_for(actor, workload_id)
        code, expires_at = secrets.token_urlsafe(32), now + duration("ENTRY_CODE_LIFETIME")
        EntryCode.objects.create(
            organization_id=workload.organization_id,
            workload=workload,
            purpose=purpose,
            tail=tail,
            user_id=actor.person_id,
            session_key=actor.session_key,
            token_id=actor.token_id,
            created_at=now,
            expires_at=expires_at,
            code_hash=hash_of(code),
        )
        audit.record(actor, "workload.followed", workload.ref, now=now, after={"stream": str(purpose)})
    return Followed(f"{origin_of(workload.label)}/_steelyard/{purpose}?code={code}", expires_at)


def redeem(*, label: str, purpose: Purpose, code: str, now: datetime) -> Listener | Denied:
    """Spend a code, once, on the workload and the stream that it was made for."""
    found = entry_code(hash_of(code))
    if found is None:
        return SPENT
    with scope.of_organization(found.organization_id):
        row = EntryCode.objects.select_for_update(of=("self",)).select_related("workload__project").get(pk=found.id)
        late = row.redeemed_at is not None or row.expires_at <= now
        if late or row.workload.label != label or row.purpose != purpose:
            return SPENT
        if not _may_listen(row, now):
            return GONE
        EntryCode.objects.filter(pk=row.pk).update(redeemed_at=now)
        return Listener(
            pass_key=f"{row.organization_id}/{row.pk}",
            person_id=row.user_id,
            organization_id=row.organization_id,
            workload_id=row.workload_id,
            tail=row.tail,
        )


def recheck(pass_keys: Collection[str], now: datetime) -> set[str]:
    """Those of the listeners' pass keys that still hold."""
    by_organization: dict[UUID, list[UUID]] = defaultdict(list)
    for key in pass_keys:
        organization, _, code = key.partition("/")
        by_organization[UUID(organization)].append(UUID(code))
    holding = set()
    for organization_id, ids in by_organization.items():
        with scope.of_organization(organization_id):
            rows = EntryCode.objects.filter(pk__in=ids).select_related("workload__project")
            holding |= {f"{organization_id}/{row.pk}" for row in rows if _still_listens(row, now)}
    return holding


def _still_listens(row: EntryCode, now: datetime) -> bool:
    return row.redeemed_at is not None and now < row.redeemed_at + LONGEST and _may_listen(row, now)


def _may_listen(row: EntryCode, now: datetime) -> bool:
    actor = actor_behind(row, now)
    return actor is not None and holds(actor, Permission.VIEW_WORKLOAD, row.workload.project)

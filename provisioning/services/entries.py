"""The way into a workspace: a one-time code, the cookie it buys, and whether that cookie still admits.

Functions that are asked before a tenant is known open short scopes of their own, and call no driver inside them.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.sessions.models import Session
from django.db import transaction

from core import audit, scope
from core.types import Actor, ActorKind
from provisioning.drivers.base import DriverUnavailable, RunSpec, WorkloadDriver
from provisioning.drivers.places import Place
from provisioning.durations import duration
from provisioning.enums import Purpose, State
from provisioning.errors import WrongState
from provisioning.models import EntryCode, Workload, WorkspaceEntry
from provisioning.permissions import authorize_enter, may_enter
from provisioning.selectors.specs import place_of, spec_of
from provisioning.selectors.sweeps import entry_code, workspace_entry
from provisioning.selectors.workloads import workload_for
from tenants.selectors import people_by_id
from tenants.selectors.sign_in import lacks_second_factor
from tenants.services import tokens

COOKIE_LIFETIME = timedelta(hours=12)
FORGET_AFTER = timedelta(days=1)

Drivers = Callable[[Place], WorkloadDriver]


@dataclass(frozen=True, slots=True)
class Opened:
    """A way in, shown once: the code buys one cookie on the host that begins with `label`."""

    label: str
    code: str
    path: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Entered:
    cookie_value: str
    expires_at: datetime
    path: str


@dataclass(frozen=True, slots=True)
class Admitted:
    """Where the cookie may go. `pass_key` names the permission that it rests on."""

    pass_key: str
    unix_socket: str | None
    host: str | None
    port: int | None
    base_path: str


@dataclass(frozen=True, slots=True)
class Denied:
    """Why not, as an HTTP status with a code and a sentence."""

    status: int
    code: str
    message: str


_UNKNOWN = Denied(404, "not_found", "There is no such workspace.")
_SPENT = Denied(410, "code_spent", "This link has been used or is older than its 30 seconds. Open the workspace again.")
_COME_IN = Denied(401, "enter_through_portal", "Open the workspace from the portal.")
_UNREACHABLE = Denied(503, "cluster_unreachable", "The workspace's cluster does not answer now. Its work goes on.")
_NOT_THERE = Denied(503, "starting", "The workspace does not run now.")


@transaction.atomic
def open_entry(*, actor: Actor, workload_id: UUID, now: datetime, path: str = "/") -> Opened:
    """A code of 30 seconds for the owner of a running workspace, bound to the session or token that asked."""
    workload = workload_for(actor, workload_id)
    authorize_enter(actor, workload)
    if workload.state != State.RUNNING:
        raise WrongState(f"{workload.name} is {workload.state}: it can be opened while it runs.")
    code, expires_at = secrets.token_urlsafe(32), now + duration("ENTRY_CODE_LIFETIME")
    EntryCode.objects.create(
        organization_id=workload.organization_id,
        workload=workload,
        purpose=Purpose.ENTER,
        user_id=workload.owner_id,
        session_key=actor.session_key,
        token_id=actor.token_id,
        created_at=now,
        expires_at=expires_at,
        code_hash=hash_of(code),
        path=_local_path(path),
    )
    audit.record(actor, "workload.opened", workload.ref, now=now)
    return Opened(label=workload.label, code=code, path=_local_path(path), expires_at=expires_at)


def redeem(*, label: str, code: str, now: datetime) -> Entered | Denied:
    """Spend a code, once, on the workspace that it was made for. The caller has begun the act."""
    found = entry_code(hash_of(code))
    if found is None:
        return _SPENT
    with scope.of_organization(found.organization_id):
        row = EntryCode.objects.select_for_update(of=("self",)).select_related("workload__project").get(pk=found.id)
        late = row.redeemed_at is not None or row.expires_at <= now
        if late or row.workload.label != label or row.purpose != Purpose.ENTER:
            return _SPENT
        actor = actor_behind(row, now)
        if actor is None or not may_enter(actor, row.workload):
            return _UNKNOWN
        cookie, expires_at = secrets.token_urlsafe(32), now + COOKIE_LIFETIME
        WorkspaceEntry.objects.create(
            organization_id=row.organization_id,
            workload=row.workload,
            user_id=row.user_id,
            session_key=row.session_key,
            token_id=row.token_id,
            created_at=now,
            expires_at=expires_at,
            cookie_hash=hash_of(cookie),
        )
        EntryCode.objects.filter(pk=row.pk).update(redeemed_at=now)
        audit.record(actor, "workload.entered", row.workload.ref, now=now)
        return Entered(cookie_value=cookie, expires_at=expires_at, path=row.path)


def admit(*, label: str, cookie: str, drivers: Drivers, now: datetime) -> Admitted | Denied:
    """Whether a cookie admits to the workspace of that host now, and where its server listens."""
    found = workspace_entry(hash_of(cookie))
    if found is None:
        return _COME_IN
    with scope.of_organization(found.organization_id):
        row = _entry(found.id)
        refusal = _refusal(row, now)
        if refusal is None and row is not None and row.workload.label != label:
            refusal = _UNKNOWN
        if refusal is not None or row is None:
            return refusal or _COME_IN
        spec, place = spec_of(row.workload), place_of(row.workload.cluster)
    try:
        return _endpoint(f"{found.organization_id}/{found.id}", spec, drivers(place))
    except DriverUnavailable:
        return _UNREACHABLE


def recheck(pass_keys: Collection[str], now: datetime) -> set[str]:
    """Those of the pass keys that still hold: asked again and again while something is open on them."""
    by_organization: dict[UUID, list[UUID]] = defaultdict(list)
    for key in pass_keys:
        organization, _, entry = key.partition("/")
        by_organization[UUID(organization)].append(UUID(entry))
    holding = set()
    for organization_id, ids in by_organization.items():
        with scope.of_organization(organization_id):
            holding |= {f"{organization_id}/{entry_id}" for entry_id in ids if _refusal(_entry(entry_id), now) is None}
    return holding


def forget_expired(*, now: datetime) -> int:
    """Codes and cookies that ended a day ago. Runs in the platform's scope."""
    with scope.of_platform():
        codes, _ = EntryCode.objects.filter(expires_at__lt=now - FORGET_AFTER).delete()
        cookies, _ = WorkspaceEntry.objects.filter(expires_at__lt=now - FORGET_AFTER).delete()
    return codes + cookies


def _entry(entry_id: UUID) -> WorkspaceEntry | None:
    """With what a refusal reads; the rest is read by whom it admits, once."""
    return WorkspaceEntry.objects.filter(pk=entry_id).select_related("workload__project").first()


def _refusal(row: WorkspaceEntry | None, now: datetime) -> Denied | None:
    """Why an entry does not hold now: expired, signed out, permission lost, or nothing runs."""
    if row is None or row.expires_at <= now:
        return _COME_IN
    actor = actor_behind(row, now)
    if actor is None:
        return _COME_IN
    if not may_enter(actor, row.workload):
        return _UNKNOWN
    return None if row.workload.state == State.RUNNING else _not_running(row.workload)


def actor_behind(row: EntryCode | WorkspaceEntry, now: datetime) -> Actor | None:
    """The person, if the credential that asked is still alive: the portal's session, or the token."""
    if row.token_id is not None:
        token = tokens.living(token_id=row.token_id, now=now)
        if token is None:
            return None
        scopes = frozenset(token.scopes) or None
    elif row.session_key and Session.objects.filter(session_key=row.session_key, expire_date__gt=now).exists():
        scopes = None
    else:
        return None
    person = people_by_id([row.user_id]).get(row.user_id)
    if person is None or not person.is_active or lacks_second_factor(row.user_id):
        return None
    return Actor(
        kind=ActorKind.USER,
        id=row.user_id,
        organization_id=row.organization_id,
        label=person.email,
        token_id=row.token_id,
        scopes=scopes,
        session_key=row.session_key,
    )


def _endpoint(pass_key: str, spec: RunSpec, driver: WorkloadDriver) -> Admitted | Denied:
    endpoint = driver.endpoint_of(spec)
    if endpoint is None:
        return _NOT_THERE
    return Admitted(
        pass_key=pass_key,
        unix_socket=endpoint.unix_socket,
        host=endpoint.host,
        port=endpoint.port,
        base_path=endpoint.base_path,
    )


def _not_running(workload: Workload) -> Denied:
    return Denied(503, str(workload.state), f"{workload.name} is {workload.state}.")


def hash_of(secret: str) -> bytes:
    """Codes and cookies have 256 random bits: they need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def _local_path(path: str) -> str:
    """A path of the workspace itself, never another host's."""
    return path[:500] if path.startswith("/") and not path.startswith("//") and "\\" not in path else "/"

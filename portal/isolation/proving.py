"""One proof of isolation: two organisations, a walk over the routes, the database's own answers, a report, an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count
from django.utils import timezone

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.anchors import public_keys
from core.errors import NotFound
from core.ids import uuid7
from core.models import Outcome as Ended
from core.types import Actor, Json, ObjectRef, Reason
from portal.backup.manifest import own_version
from portal.isolation.document import About, Findings, report_of
from portal.isolation.objects import SORTS, Objects, find
from portal.isolation.people import MAKER, undone
from portal.isolation.routes import Address, addresses, addresses_of_packages
from portal.isolation.tables import ask_roles, ask_tables
from portal.isolation.walking import CALLERS, walk
from portal.isolation.words import Caller, Outcome, Party
from portal.models import IsolationReport
from tenants.enums import Standing
from tenants.selectors.platform import tenant_by_slug, tenants_matching

VERB = "isolation.proved"
_UNCOUNTED = frozenset({"event_id", "session_id"})
"""Sorts of which an organisation may have millions."""


class CannotProve(RuntimeError):
    """There is nothing to ask about: the sentence says why."""


def prove(
    *,
    organization: str = "",
    stranger: str = "",
    callers: Sequence[Caller] = CALLERS,
    routes: Sequence[Address] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> IsolationReport:
    """Ask, write the report and record that it was made, in the platform's chain. Raises CannotProve.

    A run that breaks off is recorded too. Call it outside any transaction.
    """
    started, report_id = timezone.now(), uuid7()
    with acts.begin(Source(SourceKind.COMMAND)):
        try:
            subject, other = parties(organization, stranger)
            with scope.of_platform():
                objects, theirs = find(subject, other, now=started), find(other, subject, now=started)
            rows = walk(objects, theirs, routes=routes or addresses(), callers=callers, now=started, tell=tell)
            with undone():
                tables, roles = ask_tables(subject, other), ask_roles()
            tell(f"database: {len(tables)} tables, {len(roles)} checks of its roles")
            found = Findings(subject, other, rows, tables, roles)
            return _kept(found, report_id, started, callers=callers, objects=objects)
        except Exception as error:
            _broken_off(report_id, error)
            raise


def parties(organization: str, stranger: str) -> tuple[Party, Party]:
    """Those named, else of the open ones the two with objects for most names in addresses. Raises CannotProve."""
    with scope.of_platform():
        named = [_named(slug) for slug in (organization, stranger) if slug]
        rest = [one for one in _by_objects() if one not in named]
    if organization and not stranger:
        chosen = [*named, *rest[:1]]
    elif stranger and not organization:
        chosen = [*rest[:1], *named]
    else:
        chosen = named or rest[:2]
    if len(chosen) < 2 or chosen[0] == chosen[1]:
        raise CannotProve("Two organisations are needed, one whose objects are asked for and one of strangers.")
    return chosen[0], chosen[1]


def _named(slug: str) -> Party:
    try:
        found = tenant_by_slug(slug)
    except NotFound:
        raise CannotProve(f"There is no organisation {slug}.") from None
    return Party(found.pk, found.slug)


def _by_objects() -> list[Party]:
    """Open organisations, the one with objects of most sorts first, then the one with most of them."""
    sorts: dict[UUID, int] = {}
    objects: dict[UUID, int] = {}
    for label in {sort.label for name, sort in SORTS.items() if name not in _UNCOUNTED} - {"tenants.Organization"}:
        rows = apps.get_model(label)._base_manager.values_list("organization_id").annotate(found=Count("pk"))
        for organization_id, found in rows:
            sorts[organization_id] = sorts.get(organization_id, 0) + 1
            objects[organization_id] = objects.get(organization_id, 0) + found
    open_ones = [Party(one.pk, one.slug) for one in tenants_matching("").exclude(standing=Standing.CLOSED)]
    return sorted(open_ones, key=lambda one: (-sorts.get(one.id, 0), -objects.get(one.id, 0), one.slug))


def _kept(
    found: Findings, report_id: UUID, started: datetime, *, callers: Sequence[Caller], objects: Objects
) -> IsolationReport:
    ended = timezone.now()
    about = _about(report_id, started, ended)
    document = report_of(found, about, callers=[caller.name for caller in callers], objects=objects)
    total = found.total
    report = IsolationReport(
        pk=report_id,
        started_at=started,
        ended_at=ended,
        version=about.version,
        subject=found.subject.slug,
        stranger=found.stranger.slug,
        asked=total[Outcome.HELD] + total[Outcome.FAILED],
        held=total[Outcome.HELD],
        failed=total[Outcome.FAILED],
        not_asked=total[Outcome.NOT_ASKED],
        document=document.decode(),
    )
    with scope.of_platform():
        report.save(force_insert=True)
        audit.record(MAKER, VERB, _ref(report_id), now=ended, after=_counts(report))
    return report


def _counts(report: IsolationReport) -> dict[str, Json]:
    return {
        "asked": report.asked,
        "held": report.held,
        "failed": report.failed,
        "not_asked": report.not_asked,
        "organizations": [report.subject, report.stranger],
    }


def _broken_off(report_id: UUID, error: Exception) -> None:
    reason = Reason(code="broken_off", message=f"The proof broke off: {type(error).__name__}.")
    maker: Actor = MAKER
    audit.record_refusal(maker, VERB, _ref(report_id), outcome=Ended.FAILED, reason=reason, now=timezone.now())


def _ref(report_id: UUID) -> ObjectRef:
    return ObjectRef("isolation_report", str(report_id))


def _about(report_id: UUID, started: datetime, ended: datetime) -> About:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), session_user::text")
        server, login = cursor.fetchone() or ("", "")
    return About(
        id=str(report_id),
        address=str(settings.STEELYARD["PORTAL_ORIGIN"]),
        key=public_keys()[0],
        version=own_version(),
        migrations=_heads(),
        database=server,
        login=login,
        started_at=started,
        ended_at=ended,
        addresses_of_packages=addresses_of_packages(),
    )


def _heads() -> dict[str, str]:
    """The newest migration that each app's tables have been through."""
    heads: dict[str, str] = {}
    for app, name in MigrationRecorder(connection).applied_migrations():
        heads[app] = max(heads.get(app, ""), name)
    return heads

"""Quota that is lent out: who waits for it, and when it comes back at the latest (when what runs on it must end)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from django.db.models import Q, QuerySet

from core.types import Reason
from provisioning.enums import State, VolumeState, Waits
from provisioning.models import Workload
from provisioning.selectors.workloads import rules_of
from provisioning.taking_back import Borrower, Need
from provisioning.types import Lender, Verdict
from tenants.enums import QuotaLevel
from tenants.selectors import quota_book
from tenants.types import Pool, QuotaBook, QuotaLine

ENDS_FOR_A_LENDER = (State.QUEUED, State.PROVISIONING, State.RUNNING)
"""States in which a preemptible workload gives back what it has borrowed."""


def lenders_waiting(book: QuotaBook) -> tuple[Lender, ...]:
    """Who waits for what was lent. Asked only where somebody may borrow; mostly nobody may."""
    if not any(line.pool for ladder in book.ladders.values() for line in ladder):
        return ()
    return tuple({_lender(each) for each in waiting(Waits.LENT_OUT).select_related("project__team")})


def waiting(*why: Waits) -> QuerySet[Workload]:
    """Workloads of the scope's organisation that wait for one of these reasons, oldest first."""
    return Workload.objects.filter(state=State.REQUESTED, reason__code__in=why).order_by("pk")


def _lender(workload: Workload) -> Lender:
    reason, project = workload.reason or {}, workload.project
    by_team = reason.get("level") == QuotaLevel.TEAM and project.team is not None
    place = project.team.slug if by_team and project.team else project.slug
    return Lender(resource=str(reason.get("resource")), level=str(reason.get("level")), place=place)


def needs_of(workload: Workload, now: datetime) -> tuple[Need, ...]:
    """What a workload that waits for its share is short of; nothing where anything else is missing too."""
    book = quota_book(workload.project, workload.owner_id, now=now)
    held = {"storage_gib": workload.volume.size_gib} if workload.volume.state == VolumeState.PRESENT else {}
    claim = workload.size.claim(workload.volume.size_gib)
    more = {name: amount - held.get(name, 0) for name, amount in claim.amounts}
    found = book.shortfalls(more)
    if any(reason.code != Waits.LENT_OUT for reason in found):
        return ()
    return tuple(need for reason in found if (need := _need(reason, book)) is not None)


def borrowers_of(needs: Sequence[Need]) -> tuple[list[Borrower], list[Borrower]]:
    """What of the borrowers' workloads may end for a lender, the youngest first; and what is ending already."""
    places = {place for need in needs for place in need.borrowed}
    projects = [name for level, name in places if level == QuotaLevel.PROJECT]
    teams = [name for level, name in places if level == QuotaLevel.TEAM]
    rows = (
        Workload.objects.filter(Q(project__slug__in=projects) | Q(project__team__slug__in=teams))
        .filter(Q(preemptible=True, state__in=ENDS_FOR_A_LENDER) | Q(state=State.STOPPING))
        .select_related("project__team", "shape__accelerator", "shape__region", "volume")
        .order_by("-queued_at", "-pk")
    )
    may: list[Borrower] = []
    ending: list[Borrower] = []
    for row in rows:
        (ending if row.state == State.STOPPING else may).append(_borrower(row))
    return may, ending


def _need(reason: Reason, book: QuotaBook) -> Need | None:
    line = _line_of(reason, book)
    if line is None or line.pool is None:
        return None
    around = line.pool.around
    borrowed = {
        (level, name): amount
        for name, amount in line.pool.borrowers
        for level in (str(QuotaLevel.PROJECT), str(QuotaLevel.TEAM))
        if (level, name) in around
    }
    return Need(line.resource, _short(reason, line.pool), borrowed)


def _borrower(row: Workload) -> Borrower:
    places = {(str(QuotaLevel.PROJECT), row.project.slug)}
    if row.project.team is not None:
        places.add((str(QuotaLevel.TEAM), row.project.team.slug))
    return Borrower(row.pk, frozenset(places), row.size.claim(row.volume.size_gib).as_dict())


def _line_of(reason: Reason, book: QuotaBook) -> QuotaLine | None:
    return next((each for each in book.ladders.get(reason.resource or "", ()) if each.level == reason.level), None)


def _short(reason: Reason, pool: Pool) -> int:
    return (reason.asked or 0) - pool.left + pool.kept


def with_eta(verdict: Verdict, book: QuotaBook) -> Verdict:
    """The same verdict; a lender is also told from when on, at the latest, enough is back."""
    if not verdict.lent:
        return verdict
    told = tuple(_told(reason, book) for reason in verdict.lent)
    return replace(verdict, lent=told, waits=told[0])


def _told(reason: Reason, book: QuotaBook) -> Reason:
    line = _line_of(reason, book)
    if line is None or line.pool is None:
        return reason
    back = _back_by(line, _short(reason, line.pool))
    if back is None:
        return reason
    return replace(reason, message=f"{reason.message} Back by {back.astimezone(UTC):%H:%M} UTC on {back:%-d %B}.")


def _back_by(line: QuotaLine, short: int) -> datetime | None:
    """The instant by which the borrowers' running workloads have freed as much as is short; None where none says."""
    places = [place for place, _ in line.pool.borrowers] if line.pool else []
    running = Workload.objects.filter(
        Q(project__slug__in=places) | Q(project__team__slug__in=places), state=State.RUNNING, bound_at__isnull=False
    ).select_related("shape__accelerator", "shape__region", "volume")
    ends = []
    for workload in running:
        amount = workload.size.claim(workload.volume.size_gib).as_dict().get(line.resource, 0)
        lifetime = rules_of(workload).max_lifetime
        if amount and lifetime is not None and workload.bound_at is not None:
            at = workload.bound_at + lifetime
            ends.append((max(at, workload.stop_extended_until or at), amount))
    for at, amount in sorted(ends):
        short -= amount
        if short <= 0:
            return at
    return None

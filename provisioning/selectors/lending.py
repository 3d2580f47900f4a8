"""Quota that is lent out: who waits for it, and when it comes back at the latest (when what runs on it must end)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from django.db.models import Q, QuerySet

from core.types import Reason
from provisioning.enums import State, Waits
from provisioning.models import Workload
from provisioning.selectors.workloads import rules_of
from provisioning.types import Lender, Verdict
from tenants.enums import QuotaLevel
from tenants.types import QuotaBook, QuotaLine


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


def with_eta(verdict: Verdict, book: QuotaBook) -> Verdict:
    """The same verdict; a lender is also told from when on, at the latest, enough is back."""
    if not verdict.lent:
        return verdict
    told = tuple(_told(reason, book) for reason in verdict.lent)
    return replace(verdict, lent=told, waits=told[0])


def _told(reason: Reason, book: QuotaBook) -> Reason:
    line = next((each for each in book.ladders.get(reason.resource or "", ()) if each.level == reason.level), None)
    if line is None or line.pool is None:
        return reason
    back = _back_by(line, (reason.asked or 0) - line.pool.left + line.pool.kept)
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
        amount = workload.shape.facts.claim(workload.volume.size_gib).as_dict().get(line.resource, 0)
        lifetime = rules_of(workload).max_lifetime
        if amount and lifetime is not None and workload.bound_at is not None:
            at = workload.bound_at + lifetime
            ends.append((max(at, workload.stop_extended_until or at), amount))
    for at, amount in sorted(ends):
        short -= amount
        if short <= 0:
            return at
    return None

"""When quota that is lent out comes back at the latest: at the end of the lifetimes of what runs on it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from django.db.models import Q

from core.types import Reason
from provisioning.enums import State
from provisioning.models import Workload
from provisioning.selectors.workloads import rules_of
from provisioning.types import Verdict
from tenants.types import QuotaBook, QuotaLine

LENT = "lent_out"


def with_eta(verdict: Verdict, book: QuotaBook) -> Verdict:
    """The same verdict; a lender is also told from when on, at the latest, enough is back."""
    if all(reason.code != LENT for reason in verdict.reasons):
        return verdict
    return replace(verdict, reasons=tuple(_told(reason, book) for reason in verdict.reasons))


def _told(reason: Reason, book: QuotaBook) -> Reason:
    line = next((each for each in book.ladders.get(reason.resource or "", ()) if each.level == reason.level), None)
    if reason.code != LENT or line is None or line.pool is None:
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

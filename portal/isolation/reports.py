"""The reports that were kept, for the platform's scope: no organisation's role reads them."""

from __future__ import annotations

from uuid import UUID

from core.anchors import public_keys
from core.errors import NotFound
from portal.isolation.verifier import Verdict, verify
from portal.models import IsolationReport


def history(*, most: int) -> list[IsolationReport]:
    """Newest first, without their documents."""
    return list(IsolationReport.objects.defer("document").order_by("-ended_at", "-pk")[:most])


def latest() -> IsolationReport | None:
    return IsolationReport.objects.order_by("-ended_at", "-pk").first()


def report_by_id(report_id: UUID) -> IsolationReport:
    """Raises NotFound."""
    found = IsolationReport.objects.filter(pk=report_id).first()
    if found is None:
        raise NotFound("isolation_report", report_id)
    return found


def verdict_of(report: IsolationReport) -> Verdict:
    """Whether the stored document is as this installation signed it, under today's key or a former one."""
    return verify(report.document.encode(), keys=public_keys())

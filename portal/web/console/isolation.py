"""The proof of isolation: the latest report, those before it, and the signed file for whoever wants to check it."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from core.routes import route
from core.types import ObjectRef
from portal.backup.manifest import own_version
from portal.isolation.reports import history, latest, report_by_id, verdict_of
from portal.models import IsolationReport
from portal.web.console import frame
from portal.web.console.isolation_shown import shown
from tenants.enums import PlatformPermission

_KEPT_IN_SIGHT = 20
P = PlatformPermission


@route(permission=P.VIEW_PLATFORM_AUDIT, verb="isolation.viewed", scoped=False)
@require_GET
def isolation(request: HttpRequest) -> HttpResponse:
    """The latest report."""
    with frame.across(request, P.VIEW_PLATFORM_AUDIT, "isolation.viewed"):
        report, rows = latest(), history(most=_KEPT_IN_SIGHT)
    return _page(request, report, rows)


@route(permission=P.VIEW_PLATFORM_AUDIT, verb="isolation.viewed", scoped=False)
@require_GET
def isolation_report(request: HttpRequest, report_id: UUID) -> HttpResponse:
    ref = ObjectRef("isolation_report", str(report_id))
    with frame.across(request, P.VIEW_PLATFORM_AUDIT, "isolation.viewed", ref):
        report, rows = report_by_id(report_id), history(most=_KEPT_IN_SIGHT)
    return _page(request, report, rows)


@route(permission=P.VIEW_PLATFORM_AUDIT, verb="isolation.exported", scoped=False)
@require_GET
def isolation_file(request: HttpRequest, report_id: UUID) -> HttpResponse:
    """The document byte by byte as it was signed."""
    ref = ObjectRef("isolation_report", str(report_id))
    with frame.across(request, P.VIEW_PLATFORM_AUDIT, "isolation.exported", ref):
        report = report_by_id(report_id)
    response = HttpResponse(report.document.encode(), content_type="application/json")
    name = f"isolation-{report.ended_at:%Y-%m-%dT%H%M%SZ}.json"
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    return response


def _page(request: HttpRequest, report: IsolationReport | None, rows: list[IsolationReport]) -> HttpResponse:
    context: dict[str, object] = {"report": None, "history": [_row(row, report) for row in rows]}
    if report is not None:
        context |= shown(report, verdict_of(report), running=own_version())
        context["file_url"] = reverse("console-isolation-file", args=[report.pk])
    return frame.page(request, "portal/console/isolation.html", context)


def _row(row: IsolationReport, here: IsolationReport | None) -> dict[str, object]:
    return {
        "url": reverse("console-isolation-report", args=[row.pk]),
        "file_url": reverse("console-isolation-file", args=[row.pk]),
        "at": row.ended_at,
        "version": row.version,
        "subject": row.subject,
        "stranger": row.stranger,
        "asked": row.asked,
        "failed": row.failed,
        "not_asked": row.not_asked,
        "here": here is not None and row.pk == here.pk,
    }

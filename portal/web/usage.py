"""What was used and what it costs, month by month, and the draft of its invoice."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from billing.selectors import draft_invoice, month_to_date, usage_sessions_visible_to
from billing.selectors.documents import issued_invoice_of
from billing.selectors.usage import between, session_costs
from billing.types import CostTable, InvoiceLine
from core.errors import NotFound
from core.money import settle
from core.routes import route
from core.types import Actor
from portal.web.months import Pages, pages_of
from portal.web.numbers import exactly, hours_as_time, hours_words, per_mille, rate
from portal.web.workloads.rows import launch_url_for
from tenants.enums import Permission
from tenants.permissions import holds
from tenants.selectors import organization_of, people_by_id

if TYPE_CHECKING:
    from billing.models import UsageSession
    from tenants.models import Organization

_PER_PAGE = 50
_UNITS = {"hour": "h", "gib_hour": "GiB h"}


@route(permission=Permission.VIEW_USAGE, verb="usage.viewed")
@require_GET
def usage_month(request: HttpRequest) -> HttpResponse:
    """Month to date by project and by person, and the sessions behind it."""
    actor, organization, pages, now = _asked(request)
    so_far = month_to_date(actor, now, month=pages.month.name)
    sessions = between(usage_sessions_visible_to(actor), pages.month.start, pages.month.end).order_by("-id")
    page = Paginator(sessions.select_related("sku"), _PER_PAGE).get_page(request.GET.get("page"))
    total = sum((row.exact for row in so_far.by_project.rows), Fraction(0))
    here = reverse("usage")
    may_invoice = holds(actor, Permission.VIEW_INVOICE, organization)
    context = {
        "month": pages.title,
        "zone": organization.time_zone,
        "previous": f"{here}?month={pages.previous}",
        "next": f"{here}?month={pages.following}" if pages.following else None,
        "csv_url": f"{reverse('usage-csv')}?month={pages.month.name}",
        "invoice_url": f"{reverse('invoice-draft')}?month={pages.month.name}" if may_invoice else "",
        "total": so_far.total,
        "total_exact": exactly(total, organization.currency),
        "total_held": sum((hours_as_time(row.running_hours) for row in so_far.by_project.rows), timedelta()),
        "as_of": min(now, pages.month.end),
        "launch_url": launch_url_for(actor),
        "projects": _shares(so_far.by_project, total, organization.currency),
        "people": _shares(so_far.by_user, total, organization.currency),
        "sessions": _session_rows(list(page.object_list), organization, now),
        "page": {
            "previous": f"?month={pages.month.name}&page={page.previous_page_number()}" if page.has_previous() else "",
            "next": f"?month={pages.month.name}&page={page.next_page_number()}" if page.has_next() else "",
        },
    }
    return render(request, "portal/usage/month.html", context)


@route(permission=Permission.VIEW_USAGE, verb="usage.exported")
@require_GET
def usage_csv(request: HttpRequest) -> HttpResponse:
    """Every session of the month that the person may see, times in UTC, amounts exact."""
    actor, organization, pages, now = _asked(request)
    found = between(usage_sessions_visible_to(actor), pages.month.start, pages.month.end).order_by("id")
    rows = list(found.select_related("sku"))
    costs = session_costs([row.pk for row in rows], now)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["project", "workload", "sku", "component", "quantity", "from", "to", "cost_so_far", "currency"])
    for row in rows:
        cost = exactly(costs.get(row.pk, Fraction(0)), organization.currency).split()[0].replace(",", "")
        quantity = hours_words(Fraction(row.quantity_micro, 1_000_000)).replace(",", "")
        ended = row.during.upper.astimezone(UTC).isoformat() if row.during.upper else ""
        writer.writerow(
            [
                row.project_label,
                row.workload_label,
                row.sku.code,
                row.component,
                quantity,
                row.during.lower.astimezone(UTC).isoformat(),
                ended,
                cost,
                organization.currency,
            ]
        )
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="usage-{organization.slug}-{pages.month.name}.csv"'
    return response


@route(permission=Permission.VIEW_INVOICE, verb="invoice.viewed")
@require_GET
def invoice_draft(request: HttpRequest) -> HttpResponse:
    """What the month would be billed if it ended now; what is issued is no draft any more."""
    actor, organization, pages, now = _asked(request)
    issued = issued_invoice_of(actor, pages.month.name)
    if issued is not None:
        return redirect("invoice", issued.pk)
    draft = draft_invoice(actor, pages.month.name, now)
    total = sum((entry.line.exact for entry in draft.lines), Fraction(0))
    usage_url = f"{reverse('usage')}?month={pages.month.name}"
    context = {
        "month": pages.title,
        "zone": organization.time_zone,
        "hours": hours_words(Fraction(pages.month.seconds, 3600)),
        "organization": organization.name,
        "final": organization.closed_at is not None,
        "as_of": min(organization.closed_at or now, pages.month.end),
        "complete": pages.month.end <= now,
        "lines": [_invoice_line(entry, draft.currency, usage_url) for entry in draft.lines],
        "total": draft.subtotal,
        "total_exact": exactly(total, draft.currency),
        "csv_url": f"/api/v1/invoices/{pages.month.name}.csv",
        "usage_url": usage_url,
    }
    return render(request, "portal/invoices/draft.html", context)


def _asked(request: HttpRequest) -> tuple[Actor, Organization, Pages, datetime]:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    organization, now = organization_of(actor), timezone.now()
    asked = request.GET.get("month", "")
    pages = pages_of(asked, organization.time_zone, now)
    if pages is None:
        raise NotFound("month", asked)
    return actor, organization, pages, now


def _shares(table: CostTable, total: Fraction, currency: str) -> list[dict[str, object]]:
    return [
        {
            "label": row.label,
            "held": hours_as_time(row.running_hours),
            "amount": row.amount,
            "exact": exactly(row.exact, currency),
            "share": per_mille(row.exact, total),
        }
        for row in table.rows
    ]


def _session_rows(rows: Sequence[UsageSession], organization: Organization, now: datetime) -> list[dict[str, object]]:
    costs = session_costs([row.pk for row in rows], now)
    people = people_by_id({row.user_id for row in rows if row.user_id})
    return [
        {
            "workload": row.workload_label,
            "workload_url": reverse("workload", args=[row.workload_id]),
            "user": people[row.user_id].full_name if row.user_id in people else "",
            "what": _what(row),
            "started": row.during.lower,
            "ended": row.during.upper,
            "held": (row.during.upper or now) - row.during.lower,
            "amount": settle(costs.get(row.pk, Fraction(0)), organization.currency),
            "exact": exactly(costs.get(row.pk, Fraction(0)), organization.currency),
        }
        for row in rows
    ]


def _what(row: UsageSession) -> str:
    quantity = hours_words(Fraction(row.quantity_micro, 1_000_000))
    return f"{row.sku.label}, {quantity} GiB" if row.sku.unit == "gib_hour" else f"{row.sku.label} × {quantity}"


def _invoice_line(entry: InvoiceLine, currency: str, usage_url: str) -> dict[str, object]:
    line = entry.line
    unit = _UNITS.get(line.unit, line.unit)
    return {
        "project": line.project,
        "what": line.sku_label,
        "note": "from an earlier month" if line.late else "",
        "quantity": f"{hours_words(line.quantity)} {unit}",
        "price": rate(Fraction(line.unit_price), currency),
        "per": unit,
        "amount": entry.amount,
        "exact": exactly(line.exact, currency),
        "url": f"{usage_url}#sessions",
    }

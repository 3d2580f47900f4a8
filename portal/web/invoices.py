"""Issued invoices: all of them, one of them, and what is behind each of its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from billing.enums import InvoiceState
from billing.selectors.drilling import LineView, PartOfLine, line_of
from billing.selectors.overview import DocumentRow, invoice_view, overview
from core.money import Money, minor_digits
from core.routes import route
from core.types import Actor
from portal.web.numbers import exactly, hours_words, rate
from tenants.enums import Permission
from tenants.permissions import holds
from tenants.selectors import organization_of, people_by_id

_TONES = {
    InvoiceState.PAID: "good",
    InvoiceState.OVERDUE: "bad",
    InvoiceState.ISSUED: "wait",
    InvoiceState.PARTIALLY_PAID: "wait",
}
_UNITS = {"hour": "h", "gib_hour": "GiB h", "each": ""}


@dataclass(frozen=True, slots=True)
class Shown:
    """A document in a list."""

    number: str
    url: str
    pdf_url: str
    month: str
    state: str
    tone: str
    total: Money
    open: Money
    issued_at: datetime
    due_at: datetime | None
    about: str


@route(permission=Permission.VIEW_INVOICE, verb="invoice.listed")
@require_GET
def invoice_list(request: HttpRequest) -> HttpResponse:
    """What was billed, what of it is open, and what is left of credit."""
    actor, now = _actor(request), timezone.now()
    found, organization = overview(actor, now), organization_of(actor)
    currency = organization.currency
    context = {
        "invoices": [_shown(row) for row in found.invoices],
        "notes": [_shown(row) for row in found.notes],
        "held": found.held,
        "open": _money(found.statement.balance, currency),
        "overdue": _money(found.overdue, currency),
        "wallet": _money(found.statement.wallet, currency),
        "promotions": _money(found.statement.promotions, currency),
        "profile": found.profile,
        "draft_url": reverse("invoice-draft"),
        "zone": organization.time_zone,
    }
    return render(request, "portal/invoices/list.html", context)


@route(permission=Permission.VIEW_INVOICE, verb="invoice.viewed")
@require_GET
def invoice_page(request: HttpRequest, invoice_id: UUID) -> HttpResponse:
    """As it was issued, and what followed."""
    found = invoice_view(_actor(request), invoice_id)
    currency = found.row.currency
    lines = [
        {
            "project": line["project"],
            "what": line["description"],
            "late": line["late"],
            "quantity": f"{hours_words(Fraction(str(line['quantity'])))} {_UNITS.get(str(line['unit']), '')}".strip(),
            "price": rate(Fraction(str(line["unit_price"])), currency),
            "amount": _money(Decimal(str(line["amount"])), currency),
            "exact": exactly(Fraction(str(line["exact"])), currency),
            "url": reverse("invoice-line", args=[invoice_id, line["position"]]),
        }
        for line in found.lines
    ]
    context = {
        "invoice": _shown(found.row),
        "said": found.said,
        "lines": lines,
        "notes": [_shown(row) for row in found.notes],
        "receipts": [
            {"on": row.on, "words": row.words, "amount": _money(row.amount, currency)} for row in found.receipts
        ],
        "replacement": _shown(found.replacement) if found.replacement else None,
        "hash": found.hash,
        "files": f"/api/v1/invoices/{invoice_id}",
        "list_url": reverse("invoices"),
    }
    return render(request, "portal/invoices/issued.html", context)


@route(permission=Permission.VIEW_INVOICE, verb="invoice.viewed")
@require_GET
def invoice_line(request: HttpRequest, invoice_id: UUID, position: int) -> HttpResponse:
    """The sessions that make up a line; their exact parts sum to it."""
    actor = _actor(request)
    line = line_of(actor, invoice_id, position)
    may_audit = holds(actor, Permission.VIEW_AUDIT, organization_of(actor))
    context = {
        "line": line,
        "unit": _UNITS.get(line.unit, ""),
        "price": rate(Fraction(line.unit_price), line.currency),
        "amount": _money(line.amount, line.currency),
        "exact": exactly(line.exact, line.currency),
        "parts": _parts(line, line.parts, may_audit=may_audit),
        "may_audit": may_audit,
        "invoice_url": reverse("invoice", args=[invoice_id]),
        "list_url": reverse("invoices"),
    }
    return render(request, "portal/invoices/line.html", context)


def _parts(line: LineView, parts: Sequence[PartOfLine], *, may_audit: bool) -> list[dict[str, object]]:
    people = people_by_id({part.user_id for part in parts if part.user_id})
    names = {person_id: person.full_name or person.email for person_id, person in people.items()}
    return [
        {
            "workload": part.workload,
            "workload_url": reverse("workload", args=[part.workload_id]),
            "user": names.get(part.user_id, "") if part.user_id else "",
            "start": part.start,
            "end": part.end,
            "quantity": f"{hours_words(part.quantity)} {_UNITS.get(line.unit, '')}".strip(),
            "exact": exactly(part.exact, line.currency),
            "audit_url": f"{reverse('audit')}?{urlencode({'object': part.workload_id})}" if may_audit else "",
        }
        for part in parts
    ]


def _shown(row: DocumentRow) -> Shown:
    """A credit note is read as PDF; an invoice has a page."""
    kind = "invoices" if row.state else "credit-notes"
    pdf = f"/api/v1/{kind}/{row.id}.pdf"
    return Shown(
        number=row.number,
        url=reverse("invoice", args=[row.id]) if row.state else pdf,
        pdf_url=pdf,
        month=row.month,
        state=InvoiceState(row.state).label.lower() if row.state else "",
        tone=_TONES.get(InvoiceState(row.state), "") if row.state else "",
        total=_money(row.total, row.currency),
        open=_money(row.open, row.currency),
        issued_at=row.issued_at,
        due_at=row.due_at,
        about=row.about,
    )


def _money(amount: Decimal, currency: str) -> Money:
    return Money(amount.quantize(Decimal(1).scaleb(-minor_digits(currency))), currency)


def _actor(request: HttpRequest) -> Actor:
    found: Actor = request.actor  # type: ignore[attr-defined]
    return found

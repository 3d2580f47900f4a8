"""From a line of an issued invoice to the sessions behind it: the same cuts and sums that rated it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from django.db.models import F, QuerySet

from billing.enums import DocumentKind
from billing.invoicing import document
from billing.models import InvoiceDocument, UsageSession
from billing.rating import amount, quantity
from billing.selectors.documents import content_of, document_of
from billing.selectors.weighing import weigh
from core.errors import NotFound
from core.types import Actor, Json


@dataclass(frozen=True, slots=True)
class PartOfLine:
    """One session's part of a line: exact, so that the parts sum to the line's own exact amount."""

    session_id: UUID
    workload_id: UUID
    workload: str
    user_id: UUID | None
    start: datetime
    end: datetime | None
    quantity: Fraction
    exact: Fraction


@dataclass(frozen=True, slots=True)
class LineView:
    """A line as it was frozen, and what it is made of."""

    invoice_id: UUID
    number: str
    currency: str
    position: int
    project: str
    description: str
    unit: str
    quantity: Decimal
    unit_price: Decimal
    price_from: datetime
    late: bool
    amount: Decimal
    exact: Fraction
    parts: tuple[PartOfLine, ...]


def line_of(actor: Actor, invoice_id: UUID, position: int) -> LineView:
    """Raises NotFound or Forbidden. Three queries."""
    invoice = document_of(actor, DocumentKind.INVOICE, invoice_id)
    lines = document.lines_of(content_of(invoice))
    if not 1 <= position <= len(lines):
        raise NotFound("line", position)
    line = lines[position - 1]
    return LineView(
        invoice_id=invoice.pk,
        number=invoice.number,
        currency=invoice.currency,
        position=position,
        project=str(line["project"]),
        description=str(line["description"]),
        unit=str(line["unit"]),
        quantity=Decimal(str(line["quantity"])),
        unit_price=Decimal(str(line["unit_price"])),
        price_from=datetime.fromisoformat(str(line["price_from"])),
        late=bool(line["late"]),
        amount=Decimal(str(line["amount"])),
        exact=Fraction(str(line["exact"])),
        parts=_parts(invoice, line),
    )


def _parts(invoice: InvoiceDocument, line: dict[str, Json]) -> tuple[PartOfLine, ...]:
    period = invoice.period
    if not line["project_id"]:
        return ()
    rows = list(
        weigh(
            _behind(invoice, line),
            by=["id", "workload_id", "workload_label", "user_id", "during"],
            since=period.start,
            until=period.end,
            period_id=period.pk,
        )
    )
    mine = [row for row in rows if str(row.price_id) == line["price_id"] and row.late == line["late"]]
    parts = [
        PartOfLine(
            session_id=UUID(str(row.key[0])),
            workload_id=UUID(str(row.key[1])),
            workload=str(row.key[2]),
            user_id=UUID(str(row.key[3])) if row.key[3] else None,
            start=row.key[4].lower,  # type: ignore[attr-defined]  # a range of instants
            end=row.key[4].upper,  # type: ignore[attr-defined]
            quantity=quantity(row.weight, row.unit),
            exact=amount(row.weight, row.unit, row.unit_price),
        )
        for row in mine
    ]
    return tuple(sorted(parts, key=lambda part: (part.start, str(part.session_id))))


def _behind(invoice: InvoiceDocument, line: dict[str, Json]) -> QuerySet[UsageSession]:
    """The sessions that the month was charged for, in the line's project and SKU."""
    period = invoice.period
    rows = UsageSession.objects.filter(
        organization_id=invoice.organization_id, project_id=UUID(str(line["project_id"])), sku__code=line["sku"]
    )
    if line["late"]:
        return rows.filter(period=period)
    rows = rows.annotate(starts=F("during__startswith"))
    return rows.filter(during__overlap=(period.start, period.end), period__start__lte=period.start)

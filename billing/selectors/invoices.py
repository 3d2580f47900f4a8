"""The draft of a month's invoice: computed from facts each time, stored by none."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from billing.models import UsageSession
from billing.permissions import authorize_invoices
from billing.rating import amount, quantity
from billing.selectors.costs import weigh_window
from billing.selectors.months import months_until, window_of
from billing.selectors.weighing import Weighed
from billing.types import DraftInvoice, InvoiceLine, Line, Month
from core.money import settle, settle_parts
from core.types import Actor
from tenants.selectors import organization_of


def draft_invoice(actor: Actor, month: str, now: datetime) -> DraftInvoice:
    """What the organisation would be billed for the month if it ended now. Raises Forbidden or NotFound.

    One line per project × SKU × price version, in that order; late facts are lines of their own. The lines' amounts
    sum to the subtotal, which is the exact sum settled once.
    """
    organization = organization_of(actor)
    authorize_invoices(actor, organization)
    window = window_of(organization, month)
    rows = weigh_window(UsageSession.objects.all(), window, by=["project_id", "project__slug"], now=now)
    lines = sorted((_line(row) for row in rows), key=_place)
    exact = [line.exact for line in lines]
    amounts = settle_parts(exact, organization.currency)
    return DraftInvoice(
        organization_id=organization.pk,
        organization=organization.slug,
        month=month,
        start=window.span.start,
        end=window.span.end,
        as_of=now,
        currency=organization.currency,
        state=window.state,
        lines=tuple(InvoiceLine(line, money) for line, money in zip(lines, amounts, strict=True)),
        subtotal=settle(sum(exact, start=quantity(0, "each")), organization.currency),
    )


def invoice_months(actor: Actor, now: datetime) -> list[Month]:
    """The months that an invoice can be asked for, newest first. Raises Forbidden."""
    organization = organization_of(actor)
    authorize_invoices(actor, organization)
    return months_until(organization, now)


def _place(line: Line) -> tuple[str, str, datetime, bool]:
    return (line.project, line.sku_code, line.price_from, line.late)


def _line(row: Weighed) -> Line:
    return Line(
        project_id=UUID(str(row.key[0])),
        project=str(row.key[1]),
        sku_code=row.sku_code,
        sku_label=row.sku_label,
        unit=row.unit,
        price_id=row.price_id,
        price_from=row.price_from,
        unit_price=row.unit_price,
        quantity=quantity(row.weight, row.unit),
        exact=amount(row.weight, row.unit, row.unit_price),
        late=row.late,
    )

"""The shapes of billing in the API, and the plain dicts that fill them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from rest_framework import serializers

from billing.enums import Component, CostGroup, InvoiceState, SkuKind, Unit
from billing.models import PriceBook, Sku, UsageSession
from billing.rating import microseconds
from billing.types import MICRO, CostRow, CostTable, DraftInvoice, InvoiceLine, Month, Rate
from core.api.fields import MoneyOutput
from core.money import plain, settle

Field = serializers.Field[object, object, object, object]
_DIGITS = 6


class NamedOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment]


class MeteredWorkloadOutput(NamedOutput):
    kind = serializers.CharField()


class SpanOutput(serializers.Serializer[object]):
    """Half-open: from ≤ instant < to."""

    def get_fields(self) -> dict[str, Field]:
        """`from` cannot be written as an attribute."""
        return {**super().get_fields(), "from": serializers.DateTimeField(), "to": self.end()}

    def end(self) -> serializers.DateTimeField:
        return serializers.DateTimeField()


class UsageSessionOutput(SpanOutput):
    id = serializers.UUIDField()
    project = NamedOutput()
    user = NamedOutput(allow_null=True)
    workload = MeteredWorkloadOutput()
    sku = serializers.CharField()
    component = serializers.ChoiceField(Component.choices)
    quantity = serializers.CharField(help_text="Devices or GiB, a decimal number as text.")
    duration_seconds = serializers.CharField(help_text="To the microsecond, a decimal number as text.")
    period = serializers.CharField(help_text="The month whose invoice it was taken into.")
    cost = MoneyOutput()
    as_of = serializers.DateTimeField(help_text="Until when an open session is counted.")

    def end(self) -> serializers.DateTimeField:
        return serializers.DateTimeField(allow_null=True, help_text="Null while it is held.")


class CostRowOutput(serializers.Serializer[object]):
    key = serializers.CharField(allow_blank=True, help_text="The id of the group.")
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment]
    running_hours = serializers.CharField()
    accelerator_hours = serializers.CharField()
    cost = MoneyOutput()


class CostsOutput(SpanOutput):
    group_by = serializers.ChoiceField(CostGroup.choices)
    as_of = serializers.DateTimeField()
    results = CostRowOutput(many=True, help_text="Dearest first. Their costs sum to the total.")
    total = MoneyOutput()


class DraftOutput(SpanOutput):
    id = serializers.CharField(help_text="A draft is known by its month.")
    number = serializers.CharField(allow_null=True, help_text="Drafts have none.")
    state = serializers.ChoiceField(InvoiceState.choices)
    period = serializers.CharField()


class DraftInvoiceOutput(DraftOutput):
    organization = NamedOutput()
    as_of = serializers.DateTimeField()
    subtotal = MoneyOutput()


class InvoiceLineOutput(serializers.Serializer[object]):
    position = serializers.IntegerField()
    project = NamedOutput()
    sku = serializers.CharField()
    description = serializers.CharField()
    unit = serializers.ChoiceField(Unit.choices)
    quantity = serializers.CharField()
    unit_price = MoneyOutput()
    price_from = serializers.DateTimeField()
    late = serializers.BooleanField(help_text="Usage of a closed month that was taken into this one.")
    amount = MoneyOutput()


class SkuOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    code = serializers.CharField()
    kind = serializers.ChoiceField(SkuKind.choices)
    unit = serializers.ChoiceField(Unit.choices)
    label = serializers.CharField()  # type: ignore[assignment]
    unit_price = MoneyOutput(allow_null=True, help_text="In force now, in the organisation's currency.")


class PriceOutput(serializers.Serializer[object]):
    sku = serializers.CharField()
    unit_price = MoneyOutput()
    valid_from = serializers.DateTimeField()
    valid_to = serializers.DateTimeField(allow_null=True)


class PriceBookOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    currency = serializers.CharField()
    version = serializers.IntegerField()
    valid_from = serializers.DateTimeField()
    prices = PriceOutput(many=True)


def usage_session(row: UsageSession, *, cost: Fraction, people: Mapping[UUID, str], now: datetime) -> dict[str, object]:
    ended = row.during.upper
    held = microseconds(row.during.lower, ended or now)
    return {
        "id": row.pk,
        "project": {"id": row.project_id, "label": row.project.slug},
        "user": {"id": row.user_id, "label": people.get(row.user_id, "")} if row.user_id else None,
        "workload": {"id": row.workload_id, "label": row.workload_label, "kind": row.workload_kind},
        "sku": row.sku.code,
        "component": row.component,
        "quantity": _plain(Fraction(row.quantity_micro, MICRO)),
        "from": row.during.lower,
        "to": ended,
        "duration_seconds": _plain(Fraction(held, 1_000_000)),
        "period": row.period.name,
        "cost": settle(cost, row.period.currency),
        "as_of": ended or now,
    }


def costs(found: CostTable) -> dict[str, object]:
    return {
        "group_by": found.group_by,
        "from": found.start,
        "to": found.end,
        "as_of": found.as_of,
        "results": [_cost_row(row) for row in found.rows],
        "total": found.total,
    }


def draft_summary(month: Month) -> dict[str, object]:
    """A month among issued invoices."""
    nothing = dict.fromkeys(("number", "total", "open", "issued_at", "due_at"))
    return {**nothing, "id": month.name, "state": "draft", "period": month.name}


def draft(month: Month) -> dict[str, object]:
    return {
        "id": month.name,
        "number": None,
        "state": "draft",
        "period": month.name,
        "from": month.start,
        "to": month.end,
    }


def draft_invoice(invoice: DraftInvoice) -> dict[str, object]:
    return {
        **draft(Month(invoice.month, invoice.start, invoice.end, invoice.state)),
        "organization": {"id": invoice.organization_id, "label": invoice.organization},
        "as_of": invoice.as_of,
        "subtotal": invoice.subtotal,
    }


def invoice_line(position: int, entry: InvoiceLine) -> dict[str, object]:
    line = entry.line
    return {
        "position": position,
        "project": {"id": line.project_id, "label": line.project},
        "sku": line.sku_code,
        "description": line.sku_label,
        "unit": line.unit,
        "quantity": _plain(line.quantity),
        "unit_price": _unit_price(line.unit_price, entry.amount.currency),
        "price_from": line.price_from,
        "late": line.late,
        "amount": entry.amount,
    }


def sku(row: Sku, rate: Rate | None) -> dict[str, object]:
    return {
        "id": row.pk,
        "code": row.code,
        "kind": row.kind,
        "unit": row.unit,
        "label": row.label,
        "unit_price": _unit_price(rate.unit_price, rate.currency) if rate else None,
    }


def price_book(row: PriceBook) -> dict[str, object]:
    return {
        "id": row.pk,
        "currency": row.currency,
        "version": row.version,
        "valid_from": row.valid_from,
        "prices": [
            {
                "sku": price.sku.code,
                "unit_price": _unit_price(price.unit_price, price.currency),
                "valid_from": price.valid_from,
                "valid_to": price.valid_to,
            }
            for price in row.prices.all()
        ],
    }


def _cost_row(row: CostRow) -> dict[str, object]:
    return {
        "key": row.key,
        "label": row.label,
        "running_hours": _plain(row.running_hours),
        "accelerator_hours": _plain(row.accelerator_hours),
        "cost": row.amount,
    }


def _unit_price(unit_price: Decimal, currency: str) -> dict[str, object]:
    """A rate, all its digits. It is not settled: that happens to sums."""
    return {"amount": format(unit_price.normalize(), "f"), "currency": currency}


def _plain(exact: Fraction) -> Decimal:
    return plain(exact, digits=_DIGITS)

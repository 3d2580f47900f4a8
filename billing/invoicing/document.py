"""The content of an invoice and of a credit note, as it is frozen. Amounts are text, instants are UTC, all is said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

from billing.enums import DocumentKind
from billing.invoicing.notes import NoteAmounts
from billing.invoicing.totals import shares
from billing.invoicing.values import Heading, Totals, Use
from billing.types import DraftInvoice, InvoiceLine
from core.money import minor_digits, plain
from core.types import Json

SCHEMA = "steelyard/document/1"


def invoice(heading: Heading, draft: DraftInvoice, amounts: Totals) -> dict[str, Json]:
    """A month's lines, and from their sum to what is due."""
    return {
        **_head(heading, DocumentKind.INVOICE),
        "replaces": "",
        "period": {"name": draft.month, "start": _instant(draft.start), "end": _instant(draft.end)},
        **_reckoned(
            [_line(position, entry, heading.currency) for position, entry in enumerate(draft.lines, start=1)],
            heading,
            amounts,
        ),
    }


def replacement(heading: Heading, voided: dict[str, Json], amounts: Totals) -> dict[str, Json]:
    """The lines of a voided invoice, reckoned anew."""
    return {
        **_head(heading, DocumentKind.INVOICE),
        "replaces": voided["number"],
        "period": voided["period"],
        **_reckoned(lines_of(voided), heading, amounts),
    }


def _reckoned(lines: Sequence[dict[str, Json]], heading: Heading, amounts: Totals) -> dict[str, Json]:
    discount = sum((use.amount for use in amounts.promotions), Decimal(0))
    billed = [Decimal(str(line["amount"])) for line in lines]
    off = shares(discount, billed, heading.currency)
    return {
        "lines": [
            {**line, "net": money(amount - less, heading.currency)}
            for line, amount, less in zip(lines, billed, off, strict=True)
        ],
        "subtotal": money(amounts.subtotal, heading.currency),
        "promotions": _uses(amounts.promotions, heading.currency),
        "net": money(amounts.net, heading.currency),
        "tax": _tax(heading, amounts.tax),
        "total": money(amounts.total, heading.currency),
        "prepaid": _uses(amounts.prepaid, heading.currency),
        "due": money(amounts.due, heading.currency),
    }


def credit_note(
    heading: Heading, invoice: dict[str, Json], credits: dict[int, Decimal], amounts: NoteAmounts, *, reason: str
) -> dict[str, Json]:
    """What is given back of the lines of an invoice, by position."""
    billed = lines_of(invoice)
    return {
        **_head(heading, DocumentKind.CREDIT_NOTE),
        "corrects": invoice["number"],
        "reason": reason,
        "period": invoice["period"],
        "lines": [
            {**billed[position - 1], "net": money(amount, heading.currency)}
            for position, amount in sorted(credits.items())
        ],
        "net": money(amounts.net, heading.currency),
        "tax": _tax(heading, amounts.tax),
        "total": money(amounts.total, heading.currency),
    }


def lines_of(document: dict[str, Json]) -> list[dict[str, Json]]:
    """Its lines, typed."""
    found = document["lines"]
    assert isinstance(found, list)
    return [line for line in found if isinstance(line, dict)]


def nets_of(document: dict[str, Json]) -> list[Decimal]:
    """What each line was billed at, after its share of the promotions."""
    return [Decimal(str(line["net"])) for line in lines_of(document)]


def part(document: dict[str, Json], name: str) -> dict[str, Json]:
    """A part of a document that is an object."""
    found = document[name]
    assert isinstance(found, dict)
    return found


def money(amount: Decimal, currency: str) -> str:
    return f"{amount:.{minor_digits(currency)}f}"


def _head(heading: Heading, kind: DocumentKind) -> dict[str, Json]:
    return {
        "schema": SCHEMA,
        "kind": str(kind),
        "number": heading.number,
        "issued_at": _instant(heading.issued_at),
        "issued_on": heading.issued_on.isoformat(),
        "due_on": heading.due_on.isoformat() if heading.due_on else "",
        "time_zone": heading.time_zone,
        "language": heading.language,
        "currency": heading.currency,
        "seller": heading.seller.as_json(),
        "buyer": heading.buyer.as_json(),
        "previous_hash": heading.previous_hash,
    }


def _line(position: int, entry: InvoiceLine, currency: str) -> dict[str, Json]:
    line = entry.line
    return {
        "position": position,
        "project_id": str(line.project_id or ""),
        "project": line.project,
        "sku": line.sku_code,
        "description": line.sku_label,
        "unit": line.unit,
        "quantity": _decimal(plain(line.quantity, digits=6)),
        "quantity_exact": _fraction(line.quantity),
        "unit_price": _decimal(line.unit_price),
        "price_id": str(line.price_id or ""),
        "price_from": _instant(line.price_from),
        "late": line.late,
        "exact": _fraction(line.exact),
        "amount": money(entry.amount.amount, currency),
    }


def _uses(uses: Sequence[Use], currency: str) -> list[Json]:
    return [{"grant": str(use.grant), "label": use.label, "amount": money(use.amount, currency)} for use in uses]


def _tax(heading: Heading, amount: Decimal) -> dict[str, Json]:
    return {
        "category": str(heading.tax.category),
        "rate": _decimal(heading.tax.rate),
        "note": heading.tax.note,
        "amount": money(amount, heading.currency),
    }


def _decimal(number: Decimal) -> str:
    return format(number.normalize(), "f")


def _fraction(exact: Fraction) -> str:
    return f"{exact.numerator}/{exact.denominator}"


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")

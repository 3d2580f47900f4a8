"""A draft invoice as CSV. Cells that a spreadsheet would take for a formula are defused."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime

from billing.types import DraftInvoice, InvoiceLine
from core.money import plain
from core.types import Json

HEADER = (
    "month",
    "project",
    "sku",
    "description",
    "unit",
    "quantity",
    "unit_price",
    "price_from",
    "late",
    "amount",
    "currency",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def draft_invoice_csv(invoice: DraftInvoice) -> str:
    """RFC 4180. One row per line; the amounts sum to the last row, the subtotal."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(HEADER)
    for line in invoice.lines:
        writer.writerow(_row(invoice, line))
    subtotal = ("", "", "subtotal", "", "", "", "", "", format(invoice.subtotal.amount, "f"), invoice.currency)
    writer.writerow((invoice.month, *subtotal))
    return text.getvalue()


def _row(invoice: DraftInvoice, entry: InvoiceLine) -> tuple[str, ...]:
    line = entry.line
    return (
        invoice.month,
        _cell(line.project),
        _cell(line.sku_code),
        _cell(line.sku_label),
        line.unit,
        format(plain(line.quantity, digits=6), "f"),
        format(line.unit_price.normalize(), "f"),
        _moment(line.price_from),
        "late" if line.late else "",
        format(entry.amount.amount, "f"),
        invoice.currency,
    )


def _cell(words: str) -> str:
    return f"'{words}" if words.startswith(_FORMULA) else words


def _moment(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def issued_csv(said: dict[str, Json]) -> str:
    """The same of an issued invoice: its lines as they were frozen, then its net amount, tax and total."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("invoice", "position", *HEADER[1:-2], "amount", "net", "currency"))
    lines = said["lines"]
    assert isinstance(lines, list)
    for line in lines:
        assert isinstance(line, dict)
        late = "late" if line["late"] else ""
        words = (_cell(str(line[name])) for name in ("project", "sku", "description"))
        rest = (line["unit"], line["quantity"], line["unit_price"], line["price_from"], late)
        writer.writerow(
            (said["number"], line["position"], *words, *rest, line["amount"], line["net"], said["currency"])
        )
    tax = said["tax"]
    assert isinstance(tax, dict)
    for name, amount in (("net", said["net"]), ("tax", tax["amount"]), ("total", said["total"])):
        writer.writerow((said["number"], "", "", name, "", "", "", "", "", "", "", amount, said["currency"]))
    return text.getvalue()

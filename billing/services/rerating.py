"""Rating a closed month again: from the facts as they are, with the parties, tax and credit as they were frozen."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from billing.enums import TaxCategory
from billing.invoicing import document
from billing.invoicing.canonical import spelled
from billing.invoicing.values import Heading, Tax, Totals, Use
from billing.models import InvoiceDocument
from billing.selectors import draft_invoice
from billing.selectors.documents import content_of
from billing.selectors.parties import party_from
from core.types import Json, system_actor


def again(invoice: InvoiceDocument, *, now: datetime) -> str:
    """The body that the month would have if it were issued anew now; not for replacements, which carry lines over."""
    actor = system_actor("re-rating", invoice.organization_id)
    draft = draft_invoice(actor, invoice.period.name, now)
    content = content_of(invoice)
    return spelled(document.invoice(_heading(content), draft, _totals(content, draft.subtotal.amount)))


def _heading(content: dict[str, Json]) -> Heading:
    tax = document.part(content, "tax")
    return Heading(
        number=str(content["number"]),
        issued_at=datetime.fromisoformat(str(content["issued_at"])),
        issued_on=date.fromisoformat(str(content["issued_on"])),
        due_on=date.fromisoformat(str(content["due_on"])) if content["due_on"] else None,
        time_zone=str(content["time_zone"]),
        language=str(content["language"]),
        currency=str(content["currency"]),
        seller=party_from(document.part(content, "seller")),
        buyer=party_from(document.part(content, "buyer")),
        tax=Tax(TaxCategory(str(tax["category"])), Decimal(str(tax["rate"])), str(tax["note"])),
        previous_hash=str(content["previous_hash"]),
    )


def _totals(content: dict[str, Json], subtotal: Decimal) -> Totals:
    return Totals(
        subtotal=subtotal,
        promotions=_uses(content["promotions"]),
        net=Decimal(str(content["net"])),
        tax=Decimal(str(document.part(content, "tax")["amount"])),
        total=Decimal(str(content["total"])),
        prepaid=_uses(content["prepaid"]),
        due=Decimal(str(content["due"])),
    )


def _uses(uses: Json) -> tuple[Use, ...]:
    assert isinstance(uses, list)
    return tuple(
        Use(UUID(str(use["grant"])), str(use["label"]), Decimal(str(use["amount"])))
        for use in uses
        if isinstance(use, dict)
    )

"""A replacement carries all lines of the voided invoice, word for word, to the parties as they are now."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from billing.enums import AccountKind, DocumentKind, GrantKind
from billing.invoicing import document
from billing.invoicing.totals import totals
from billing.models import InvoiceDocument
from billing.selectors.credits import usable
from billing.selectors.documents import content_of
from billing.services import documents, grants, ledger
from billing.services.invoices import parties_for, settle_new
from tenants.selectors import organization_by_id


def give_back_promotions(invoice: InvoiceDocument, *, now: datetime) -> None:
    """The promotions of a voided invoice may be used again."""
    returned = grants.give_back_promotions(invoice, at=now)
    ledger.post(
        organization_id=invoice.organization_id,
        key=f"return/{invoice.number}",
        currency=invoice.currency,
        amounts={AccountKind.PROMOTION_COST: returned, AccountKind.PROMOTIONS: -returned},
        at=now,
    )


def replace(invoice: InvoiceDocument, *, now: datetime) -> InvoiceDocument:
    """The new invoice, which refers to the old one. Raises Refused while a field lacks."""
    content = content_of(invoice)
    period = invoice.period
    found = parties_for(invoice.organization_id, period, now)
    amounts = totals(
        Decimal(str(content["subtotal"])),
        rate=found.tax.rate,
        currency=invoice.currency,
        promotions=usable(invoice.organization_id, GrantKind.PROMOTIONAL, invoice.currency),
        prepaid=usable(invoice.organization_id, GrantKind.PREPAID, invoice.currency),
        period_end=period.end,
        now=now,
    )
    made = documents.freeze(
        documents.Draft(
            kind=DocumentKind.INVOICE,
            period=period,
            prefix=organization_by_id(invoice.organization_id).slug.upper(),
            language=found.language,
            seller=found.seller,
            buyer=found.buyer,
            tax=found.tax,
            net=amounts.net,
            tax_amount=amounts.tax,
            terms_days=found.terms_days,
            replaces=invoice,
        ),
        lambda heading: document.replacement(heading, content, amounts),
        now=now,
    )
    settle_new(made, amounts, now=now)
    return made

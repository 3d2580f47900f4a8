"""Issued documents and where they stand."""

from __future__ import annotations

import json
from decimal import Decimal
from uuid import UUID

from django.db.models import QuerySet

from billing.enums import DocumentKind
from billing.invoicing import document
from billing.models import InvoiceDocument, Payment
from billing.permissions import authorize_invoices
from core.errors import NotFound
from core.types import Actor, Json
from tenants.selectors import organization_of


def documents_of(actor: Actor, kind: DocumentKind) -> QuerySet[InvoiceDocument]:
    """The organisation's issued documents of a kind, newest first. Raises Forbidden."""
    organization = organization_of(actor)
    authorize_invoices(actor, organization)
    rows = InvoiceDocument.objects.filter(organization_id=organization.pk, kind=kind)
    return rows.select_related("period", "standing", "corrects", "replaces").order_by("-id")


def document_of(actor: Actor, kind: DocumentKind, document_id: UUID) -> InvoiceDocument:
    """Raises NotFound for a stranger's, Forbidden for one's own that one may not see."""
    if not InvoiceDocument.objects.filter(pk=document_id, kind=kind).exists():
        raise NotFound(kind, document_id)
    return documents_of(actor, kind).get(pk=document_id)


def payments_of(actor: Actor) -> QuerySet[Payment]:
    """What the organisation has paid, newest first. Raises Forbidden."""
    organization = organization_of(actor)
    authorize_invoices(actor, organization)
    return Payment.objects.filter(organization_id=organization.pk).select_related("invoice").order_by("-id")


def invoice_here(invoice_id: UUID) -> InvoiceDocument:
    """An invoice of the scope, for a service that has authorised. Raises NotFound."""
    rows = InvoiceDocument.objects.filter(pk=invoice_id, kind=DocumentKind.INVOICE)
    found = rows.select_related("period").first()
    if found is None:
        raise NotFound("invoice", invoice_id)
    return found


def content_of(found: InvoiceDocument) -> dict[str, Json]:
    """What a document says, read from its frozen words."""
    content: dict[str, Json] = json.loads(found.body)
    return content


def credited_by_line(invoice: InvoiceDocument) -> dict[int, Decimal]:
    """What its notes have given back (net), by the position of the line."""
    given: dict[int, Decimal] = {}
    for note in InvoiceDocument.objects.filter(corrects=invoice).order_by("sequence"):
        for line in document.lines_of(content_of(note)):
            position = int(str(line["position"]))
            given[position] = given.get(position, Decimal(0)) + Decimal(str(line["net"]))
    return given


def issued_invoice_of(actor: Actor, month: str) -> InvoiceDocument | None:
    """The invoice that stands for a month: the last of its replacements. Raises Forbidden."""
    return documents_of(actor, DocumentKind.INVOICE).filter(period__name=month).first()

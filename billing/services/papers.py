"""Files of documents: made afterwards from the frozen content alone, stored once, the same bytes for ever."""

from __future__ import annotations

import hashlib
from uuid import UUID

from billing.drivers import typesetting
from billing.enums import MediaType
from billing.invoicing.presented import presented
from billing.invoicing.ubl import ubl
from billing.models import InvoiceDocument, InvoiceFile
from billing.selectors.documents import content_of


def file_of(document: InvoiceDocument, media_type: MediaType) -> bytes:
    """The stored file; made and stored where it is asked for the first time. Two who ask at once get the same."""
    known = _stored(document.pk, media_type)
    if known is not None:
        return known
    made = _made(document, media_type)
    row = InvoiceFile(
        organization_id=document.organization_id,
        document=document,
        media_type=media_type,
        content=made,
        sha256=hashlib.sha256(made).hexdigest(),
        made_at=document.issued_at,
    )
    InvoiceFile.objects.bulk_create([row], ignore_conflicts=True)
    return _stored(document.pk, media_type) or made


def _stored(document_id: UUID, media_type: MediaType) -> bytes | None:
    found = InvoiceFile.objects.filter(document_id=document_id, media_type=media_type).first()
    return bytes(found.content) if found else None


def _made(document: InvoiceDocument, media_type: MediaType) -> bytes:
    content = content_of(document)
    if media_type == MediaType.XML:
        return ubl(content)
    return typesetting.pdf(presented(content), at=document.issued_at, attached=ubl(content))

"""Taking a person's address out of what people wrote: requests, reasons, saved filters, letters, kept answers."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Q

from core.masking import ADDRESS
from core.models import AuditView, IdempotencyKey
from tenants.models import ApprovalLetter, Invitation

_WRITTEN: Final = (
    ("tenants_approval", "subject_label"),
    ("tenants_approval", "justification"),
    ("tenants_approval", "payload"),
    ("tenants_approvaldecision", "comment"),
    ("tenants_impersonation", "reason"),
    ("tenants_organization", "standing_reason"),
    ("tenants_serviceaccount", "description"),
    ("core_auditview", "name"),
    ("core_auditview", "query"),
)
"""Texts of people's own that no name of a thing is made of. What is in JSON is replaced as text."""
_JSON: Final = frozenset({"payload", "query"})


def take_out(*, address: str, user_id: UUID, placeholder: str, now: datetime) -> None:
    """In the platform's scope, for an act that records itself. Open invitations to the address end."""
    Invitation.objects.filter(email__iexact=address, accepted_at=None, revoked_at=None).update(
        revoked_at=now, mail_secret="", mail_due_at=None
    )
    Invitation.objects.filter(email__iexact=address).update(email=placeholder, mail_error="")
    ApprovalLetter.objects.filter(person_id=user_id).update(due_at=None, error="")
    AuditView.objects.filter(owner_id=user_id, shared=False).delete()
    IdempotencyKey.objects.filter(
        Q(actor_id=user_id) | Q(body__icontains=address) | Q(path__icontains=address)
    ).delete()
    with connection.cursor() as cursor:
        for table, column in _WRITTEN:
            cursor.execute(_replacing(table, column), {"pattern": _pattern(address), "word": ADDRESS, "said": address})


def _replacing(table: str, column: str) -> str:
    """The shorter word never overflows the column but in the oddest case: there the text is cut."""
    as_text = f'"{column}"::text' if column in _JSON else f'"{column}"'
    new = f"regexp_replace({as_text}, %(pattern)s, %(word)s, 'gi')"
    made = f"{new}::jsonb" if column in _JSON else f"left({new}, greatest(length({as_text}), {len(ADDRESS)}))"
    where = f"position(lower(%(said)s) in lower({as_text})) > 0"
    return f'UPDATE "{table}" SET "{column}" = {made} WHERE {where}'  # noqa: S608 (names of our own)


def _pattern(address: str) -> str:
    """The address as a regular expression of PostgreSQL."""
    return re.sub(r"([^\w@])", r"\\\1", address)

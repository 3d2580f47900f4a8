"""The mail of an invitation: claimed, sent outside any transaction, noted. What could not be sent is tried again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from core import scope
from core.encryption import decrypted
from tenants.drivers.mail import Letter, NotSent
from tenants.models import Invitation, User
from tenants.selectors.places import invitations_to_mail

TRY_AGAIN = timedelta(minutes=5)
logger = logging.getLogger(__name__)
Send = Callable[[Letter], None]


@dataclass(frozen=True, slots=True)
class _Claimed:
    letter: Letter
    secret_hash: bytes


def send_one(*, organization_id: UUID, invitation_id: UUID, send: Send, now: datetime) -> None:
    """Send the mail if it is still due. However often it is asked, the mail goes out once, except after a crash."""
    claimed = _claim(organization_id, invitation_id, now)
    if claimed is None:
        return
    try:
        send(claimed.letter)
    except NotSent as error:
        _note(organization_id, invitation_id, claimed, mail_error=str(error)[:200])
    else:
        _note(organization_id, invitation_id, claimed, mail_secret="", mail_due_at=None, mailed_at=now, mail_error="")


def send_due(*, send: Send, now: datetime) -> None:
    """Every mail that is due, of every organisation. One that cannot be made is noted, and holds no other up."""
    for organization_id, invitation_id in invitations_to_mail(now):
        try:
            send_one(organization_id=organization_id, invitation_id=invitation_id, send=send, now=now)
        except Exception:
            logger.exception("the letter of invitation %s could not be sent", invitation_id)
            _put_off(organization_id, invitation_id, now)


def link_of(secret: str) -> str:
    """The address that an invitation's holder opens."""
    return f"{settings.STEELYARD['PORTAL_ORIGIN']}{reverse('join')}?code={secret}"


def _claim(organization_id: UUID, invitation_id: UUID, now: datetime) -> _Claimed | None:
    """The letter, and the claim on sending it for a while: whoever dies with it is followed by the next sweep."""
    with scope.of_organization(organization_id):
        rows = Invitation.objects.select_for_update(of=("self",), skip_locked=True)
        row = rows.select_related("organization", "team", "project").filter(pk=invitation_id).first()
        if row is None or row.mail_due_at is None or row.mail_due_at > now:
            return None
        if row.expires_at <= now or row.accepted_at or row.revoked_at or not row.mail_secret:
            Invitation.objects.filter(pk=row.pk).update(mail_secret="", mail_due_at=None)
            return None
        Invitation.objects.filter(pk=row.pk).update(mail_due_at=now + TRY_AGAIN)
        return _Claimed(_letter(row, decrypted(row.mail_secret)), bytes(row.secret_hash))


def _note(organization_id: UUID, invitation_id: UUID, claimed: _Claimed, **facts: str | datetime | None) -> None:
    """Only of the secret that was sent: an invitation that was sent again meanwhile has a mail of its own to come."""
    with scope.of_organization(organization_id):
        Invitation.objects.filter(pk=invitation_id, secret_hash=claimed.secret_hash).update(**facts)


def _put_off(organization_id: UUID, invitation_id: UUID, now: datetime) -> None:
    with scope.of_organization(organization_id):
        due = Invitation.objects.filter(pk=invitation_id, mail_due_at__isnull=False)
        due.update(mail_due_at=now + TRY_AGAIN, mail_error="The letter could not be written.")


def _letter(row: Invitation, secret: str) -> Letter:
    inviter = User.objects.filter(pk=row.invited_by).first() if row.invited_by else None
    place = row.place
    return Letter(
        to=row.email,
        subject=f"You are invited to {row.organization.name} on Steelyard",
        template="invitation",
        context={
            "organization": row.organization.name,
            "role": row.get_role_display().lower(),
            "place_kind": place.ref.kind,
            "place": place.name,
            "inviter": (inviter.full_name or inviter.email) if inviter else "",
            "email": row.email,
            "link": link_of(secret),
            "expires_at": row.expires_at,
        },
        key=f"invitation.{row.pk}.{bytes(row.secret_hash).hex()[:16]}",
    )

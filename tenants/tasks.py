"""Tasks: parse, one call. Sent by name; unknown arguments are tolerated, so that old workers survive a deploy."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from tenants.drivers import mail
from tenants.enums import TaskName
from tenants.services import approval_mail, approvals, email_domains, grants_sweep, invitation_mail, lapses


@shared_task(name=TaskName.EXPIRE_APPROVALS)
def expire_approvals(**_: object) -> None:
    approvals.expire_due(now=timezone.now())


@shared_task(name=TaskName.MAIL_INVITATION, acks_late=True)
def mail_invitation(*, organization_id: str, invitation_id: str, **_: object) -> None:
    invitation_mail.send_one(
        organization_id=UUID(organization_id), invitation_id=UUID(invitation_id), send=mail.send, now=timezone.now()
    )


@shared_task(name=TaskName.SWEEP_INVITATIONS)
def sweep_invitations(**_: object) -> None:
    """Mails whose task was lost, or that the mail server did not take."""
    invitation_mail.send_due(send=mail.send, now=timezone.now())


@shared_task(name=TaskName.MAIL_LETTER, acks_late=True)
def mail_letter(*, organization_id: str, letter_id: str, **_: object) -> None:
    approval_mail.send_one(
        organization_id=UUID(organization_id), letter_id=UUID(letter_id), send=mail.send, now=timezone.now()
    )


@shared_task(name=TaskName.SWEEP_LETTERS)
def sweep_letters(**_: object) -> None:
    """Letters about approvals whose task was lost, or that the mail server did not take."""
    approval_mail.send_due(send=mail.send, now=timezone.now())


@shared_task(name=TaskName.SWEEP_GRANTS)
def sweep_grants(**_: object) -> None:
    """Roles that nobody confirms any more, then guardian's rows against what is left."""
    lapses.end_unconfirmed(now=timezone.now())
    grants_sweep.sweep(now=timezone.now())


@shared_task(name=TaskName.CHECK_DOMAIN)
def check_domain(*, organization_id: str, domain_id: str, **_: object) -> None:
    email_domains.check_asked(organization_id=UUID(organization_id), domain_id=UUID(domain_id), now=timezone.now())


@shared_task(name=TaskName.RECHECK_DOMAINS)
def recheck_domains(**_: object) -> None:
    email_domains.recheck_due(now=timezone.now())

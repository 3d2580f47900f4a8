"""Letters about approvals: to whoever may decide when one is asked for, to the asker when it is settled or runs out.

Each is a row, written in the transaction that asks or settles; sent outside any transaction, and noted. A row is sent
once: its key is the approval, what the letter is about and whom it goes to.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from core import scope
from core.queue import enqueue_on_commit
from tenants.drivers.mail import Letter, NotSent
from tenants.enums import ApprovalState, Decider, TaskName
from tenants.models import Approval, ApprovalLetter, User
from tenants.selectors.deciders import deciders_of, letters_to_mail

TRY_AGAIN = timedelta(minutes=5)
logger = logging.getLogger(__name__)
Send = Callable[[Letter], None]
_BECAME = {
    ApprovalState.APPROVED: "is approved",
    ApprovalState.REFUSED: "is refused",
    ApprovalState.EXPIRED: "has expired: nobody decided it in time",
}


def tell_deciders(approval: Approval, *, now: datetime) -> None:
    _write(approval, ApprovalState.OPEN, (person.pk for person in deciders_of(approval)), now)


def tell_asker(approval: Approval, *, now: datetime) -> None:
    """Nobody where the platform's own parts asked. A service account has no letterbox: see `_letter`."""
    if approval.asked_by is not None:
        _write(approval, ApprovalState(approval.state), [approval.asked_by], now)


def send_one(*, organization_id: UUID, letter_id: UUID, send: Send, now: datetime) -> None:
    """Send it if it is still due. However often it is asked, the mail goes out once, except after a crash."""
    letter = _claim(organization_id, letter_id, now)
    if letter is None:
        return
    try:
        send(letter)
    except NotSent as error:
        _note(organization_id, letter_id, error=str(error)[:200])
    else:
        _note(organization_id, letter_id, due_at=None, mailed_at=now, error="")


def send_due(*, send: Send, now: datetime) -> None:
    """Every letter that is due, of every organisation. One that cannot be made is noted, and holds no other up."""
    for organization_id, letter_id in letters_to_mail(now):
        try:
            send_one(organization_id=organization_id, letter_id=letter_id, send=send, now=now)
        except Exception:
            logger.exception("the letter %s about an approval could not be sent", letter_id)
            _note(organization_id, letter_id, due_at=now + TRY_AGAIN, error="The letter could not be written.")


def _write(approval: Approval, about: ApprovalState, people: Iterable[UUID], now: datetime) -> None:
    rows = [
        ApprovalLetter(
            organization_id=approval.organization_id, approval=approval, person_id=person_id, about=about, due_at=now
        )
        for person_id in people
    ]
    for row in ApprovalLetter.objects.bulk_create(rows, ignore_conflicts=True):
        enqueue_on_commit(TaskName.MAIL_LETTER, organization_id=row.organization_id, letter_id=row.pk)


def _claim(organization_id: UUID, letter_id: UUID, now: datetime) -> Letter | None:
    """The letter, and the claim on sending it for a while: whoever dies with it is followed by the next sweep."""
    with scope.of_organization(organization_id):
        rows = ApprovalLetter.objects.select_for_update(of=("self",), skip_locked=True)
        related = rows.select_related("approval__organization", "approval__team", "approval__project")
        row = related.filter(pk=letter_id, due_at__lte=now).first()
        if row is None:
            return None
        letter = _letter(row, now)
        due_at = now + TRY_AGAIN if letter else None
        ApprovalLetter.objects.filter(pk=row.pk).update(due_at=due_at)
        return letter


def _note(organization_id: UUID, letter_id: UUID, **facts: str | datetime | None) -> None:
    with scope.of_organization(organization_id):
        ApprovalLetter.objects.filter(pk=letter_id, mailed_at=None).update(**facts)


def _letter(row: ApprovalLetter, now: datetime) -> Letter | None:
    """None where there is nothing to say any more, or nobody to say it to: who may not decide is not asked."""
    approval, asks = row.approval, row.about == ApprovalState.OPEN
    person = _reachable(row, now)
    if person is None:
        return None
    asker = User.objects.filter(pk=approval.asked_by).first() if approval.asked_by else None
    inbox = reverse("console-approvals" if asks and approval.decider == Decider.PLATFORM else "approvals")
    name = (asker.full_name or asker.email) if asker else "The platform"
    told = f"{name} asks for your approval" if asks else f"{approval.subject_label} {_BECAME[ApprovalState(row.about)]}"
    place = approval.project or approval.team or approval.organization
    return Letter(
        to=person.email,
        subject=f"{told}: {approval.subject_label}" if asks else told,
        template="approval",
        context={
            "asks": asks,
            "told": told,
            "subject": approval.subject_label,
            "kind": approval.get_kind_display().lower(),
            "organization": approval.organization.name,
            "place": place.name,
            "justification": approval.justification,
            "rule": approval.rule,
            "comments": [each.comment for each in approval.decisions.order_by("pk") if each.comment],
            "expires_at": approval.expires_at,
            "link": f"{settings.STEELYARD['PORTAL_ORIGIN']}{inbox}",
        },
        key=f"approval.{approval.pk}.{row.about}.{person.pk}",
    )


def _reachable(row: ApprovalLetter, now: datetime) -> User | None:
    """Whom it goes to, as things are now."""
    if row.about == ApprovalState.OPEN:
        may = deciders_of(row.approval) if row.approval.is_open(now) else []
        return next((person for person in may if person.pk == row.person_id), None)
    return User.objects.filter(pk=row.person_id, is_active=True, kind="person").first()

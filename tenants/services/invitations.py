"""Invitations: a role offered to an address, for seven days, once. Its secret is the proof of the address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q

from core import audit, scope
from core.encryption import encrypted
from core.errors import Conflict, FieldError, Invalid, NotFound, Refused, SteelyardError
from core.queue import enqueue_on_commit
from core.types import Actor, ActorKind, Reason
from tenants.credentials import hash_secret, new_code
from tenants.enums import PrincipalKind, Standing, TaskName
from tenants.models import Invitation, Membership, Organization, Project, Team, User
from tenants.permissions import Place
from tenants.selectors.places import invitation_by_secret, invitations_visible_to
from tenants.services import memberships, people

LIFETIME = timedelta(days=7)
MOST_A_DAY = 200
BETWEEN_MAILS = timedelta(minutes=1)


class InvitationGone(SteelyardError):
    """One answer for a secret that is wrong, spent, expired or taken back."""

    code = "invitation_gone"


@dataclass(frozen=True, slots=True)
class Offer:
    """What an open invitation says to the one who holds its secret."""

    invitation_id: UUID
    organization_id: UUID
    organization: str
    email: str
    role: str
    place_kind: str
    place: str
    invited_by: str
    expires_at: datetime
    has_account: bool


@transaction.atomic
def create(*, actor: Actor, place: Place, email: str, role: str, now: datetime) -> tuple[Invitation, str]:
    """Offer a role to an address, and give the secret, which is shown to nobody else but its mail's reader.

    Needs the rights that giving the role itself would need. Raises Conflict where the address holds an open
    invitation to the place, Invalid where it has a role there already.
    """
    memberships.may_manage(actor, place, role)
    address = _address(email)
    organization = memberships.organization_of_place(place)
    _refuse_flood(organization, now)
    on = _on(place)
    if Membership.objects.filter(user__email=address, **on).exists():
        raise Invalid([FieldError("email", "member", f"{address} has a role there already. Change it instead.")])
    earlier = Invitation.objects.select_for_update().filter(email=address, accepted_at=None, revoked_at=None, **on)
    for row in earlier:
        if row.expires_at > now:
            raise Conflict(f"{address} is invited there already. Send that invitation again.", code="invited")
        row.revoked_at, row.mail_secret, row.mail_due_at = now, "", None
        row.save(update_fields=["revoked_at", "mail_secret", "mail_due_at"])
    secret = new_code()
    invitation = Invitation(
        organization=organization, email=address, role=role, created_at=now, invited_by=actor.id, **on
    )
    _renew(invitation, secret, now)
    invitation.save(force_insert=True)
    after = {"role": role, "on": place.ref.kind, "place": place.ref.label}
    audit.record(actor, "invitation.created", invitation.ref, now=now, after=dict(after))
    _mail(invitation)
    return invitation, secret


@transaction.atomic
def resend(*, actor: Actor, invitation_id: UUID, now: datetime) -> tuple[Invitation, str]:
    """A new secret for seven more days, in a new mail; the old link is dead. Whoever resends is the inviter now.

    Raises Conflict within a minute of its last mail: nobody's letterbox is to be filled.
    """
    invitation = _open(actor, invitation_id)
    memberships.may_manage(actor, invitation.place, invitation.role)
    if invitation.mailed_at is not None and now - invitation.mailed_at < BETWEEN_MAILS:
        raise Conflict("Its mail was sent less than a minute ago. Wait a little.", code="too_soon")
    before = invitation.expires_at
    secret = new_code()
    invitation.invited_by = actor.id
    _renew(invitation, secret, now)
    invitation.save()
    audit.record(
        actor,
        "invitation.resent",
        invitation.ref,
        now=now,
        before={"expires_at": before.isoformat()},
        after={"expires_at": invitation.expires_at.isoformat()},
    )
    _mail(invitation)
    return invitation, secret


@transaction.atomic
def revoke(*, actor: Actor, invitation_id: UUID, now: datetime) -> None:
    """Take an open invitation back. Its link is dead at once."""
    invitation = _open(actor, invitation_id)
    memberships.may_manage(actor, invitation.place, invitation.role)
    invitation.revoked_at, invitation.mail_secret, invitation.mail_due_at = now, "", None
    invitation.save(update_fields=["revoked_at", "mail_secret", "mail_due_at"])
    audit.record(actor, "invitation.revoked", invitation.ref, now=now, before={"role": invitation.role})


def offered(*, secret: str, now: datetime) -> Offer:
    """What the holder of a secret is offered. Opens a scope of the inviting organisation. Raises InvitationGone."""
    organization_id, invitation_id = _found(secret)
    with scope.of_organization(organization_id):
        invitation = _good(invitation_id, secret, now)
        inviter = User.objects.filter(pk=invitation.invited_by).first() if invitation.invited_by else None
        place = invitation.place
        return Offer(
            invitation_id=invitation.pk,
            organization_id=organization_id,
            organization=invitation.organization.name,
            email=invitation.email,
            role=invitation.get_role_display(),
            place_kind=place.ref.kind,
            place=place.name,
            invited_by=(inviter.full_name or inviter.email) if inviter else "",
            expires_at=invitation.expires_at,
            has_account=User.objects.filter(email=invitation.email).exists(),
        )


def accept(*, user: User, secret: str, now: datetime) -> UUID:
    """Take up an invitation to one's own address; the organisation that one belongs to now.

    Opens the organisation's scope: before, the person belongs to it in nothing. Whoever invited must still have the
    right to give the role. Raises InvitationGone, and NotFound for somebody else's address.
    """
    organization_id, invitation_id = _found(secret)
    with scope.of_organization(organization_id, user_id=user.pk):
        invitation = _good(invitation_id, secret, now)
        if invitation.email != user.email or not user.is_active or user.kind != PrincipalKind.PERSON:
            raise NotFound("invitation", invitation.pk)
        _take_up(invitation, user, now)
    return organization_id


def register(*, secret: str, full_name: str, password: str, time_zone: str = "UTC", now: datetime) -> User:
    """An account for an address that has none, and the role that it was invited to, in one act.

    Raises InvitationGone; Conflict where the address has an account by now; Invalid for a weak password.
    """
    organization_id, invitation_id = _found(secret)
    with scope.of_organization(organization_id):
        invitation = _good(invitation_id, secret, now)
        user = people.write(email=invitation.email, full_name=full_name, password=password, time_zone=time_zone)
        _take_up(invitation, user, now)
        return user


def _take_up(invitation: Invitation, user: User, now: datetime) -> None:
    place = invitation.place
    _inviter_may_still(invitation)
    held = Membership.objects.filter(user=user, **_on(place)).first()
    if held is None:
        memberships.write(
            organization=invitation.organization,
            user=user,
            role=invitation.role,
            project=invitation.project,
            team=invitation.team,
            now=now,
        )
    invitation.accepted_at, invitation.accepted_by = now, user.pk
    invitation.mail_secret, invitation.mail_due_at = "", None
    invitation.save(update_fields=["accepted_at", "accepted_by", "mail_secret", "mail_due_at"])
    actor = Actor(ActorKind.USER, user.pk, invitation.organization_id, label=user.email)
    after = {"role": held.role if held else invitation.role, "on": place.ref.kind, "place": place.ref.label}
    audit.record(actor, "invitation.accepted", invitation.ref, now=now, after=dict(after))


def _inviter_may_still(invitation: Invitation) -> None:
    """An invitation is worth what its inviter may do at the time that it is taken up."""
    if invitation.invited_by is None:
        return
    person = User.objects.filter(pk=invitation.invited_by, is_active=True).first()
    if person is None:
        raise _gone()
    inviter = Actor(
        ActorKind.USER, person.pk, invitation.organization_id, label=person.email, platform_role=person.platform_role
    )
    try:
        memberships.may_manage(inviter, invitation.place, invitation.role)
    except SteelyardError:
        raise _gone() from None


def _found(secret: str) -> tuple[UUID, UUID]:
    found = invitation_by_secret(secret) if 20 <= len(secret) <= 100 else None
    if found is None:
        raise _gone()
    return found


def _good(invitation_id: UUID, secret: str, now: datetime) -> Invitation:
    rows = Invitation.objects.select_for_update(of=("self",)).select_related("organization", "team", "project")
    row = rows.filter(pk=invitation_id, secret_hash=hash_secret(secret), expires_at__gt=now).first()
    if row is None or row.accepted_at is not None or row.revoked_at is not None:
        raise _gone()
    closed = row.organization.standing == Standing.CLOSED or (row.project is not None and row.project.closed_at)
    if closed:
        raise _gone()
    return row


def _gone() -> InvitationGone:
    return InvitationGone("This invitation does not hold: it was used, taken back or replaced, or its time is over.")


def _open(actor: Actor, invitation_id: UUID) -> Invitation:
    rows = invitations_visible_to(actor).filter(pk=invitation_id, accepted_at=None, revoked_at=None)
    found = rows.select_for_update(of=("self",)).first()
    if found is None:
        raise NotFound("invitation", invitation_id)
    return found


def _renew(invitation: Invitation, secret: str, now: datetime) -> None:
    invitation.secret_hash = hash_secret(secret)
    invitation.expires_at = now + LIFETIME
    invitation.mail_secret = encrypted(secret)
    invitation.mail_due_at = now
    invitation.mailed_at, invitation.mail_error = None, ""


def _mail(invitation: Invitation) -> None:
    enqueue_on_commit(TaskName.MAIL_INVITATION, organization_id=invitation.organization_id, invitation_id=invitation.pk)


def _address(email: str) -> str:
    address = email.strip().lower()
    try:
        validate_email(address)
    except ValidationError:
        raise Invalid([FieldError("email", "malformed", "This is no e-mail address.")]) from None
    if len(address) > 254 or address.endswith(".invalid"):
        raise Invalid([FieldError("email", "malformed", "No mail can reach this address.")])
    return address


def _refuse_flood(organization: Organization, now: datetime) -> None:
    sent = Invitation.objects.filter(Q(created_at__gt=now - timedelta(days=1)), organization=organization).count()
    if sent >= MOST_A_DAY:
        raise Refused(
            [
                Reason(
                    code="too_many_invitations",
                    message=f"{sent} invitations were sent in the last 24 hours; {MOST_A_DAY} are the most.",
                    used=sent,
                    limit=MOST_A_DAY,
                )
            ],
            ref=organization.ref,
            code="too_many_invitations",
        )


def _on(place: Place) -> dict[str, Team | Project | None]:
    return {
        "team": place if isinstance(place, Team) else None,
        "project": place if isinstance(place, Project) else None,
    }

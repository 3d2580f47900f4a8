"""Memberships: the one grant that anyone writes, and its projection into guardian's rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from core import audit
from core.errors import Conflict, FieldError, Forbidden, Invalid, NotFound
from core.locks import lock
from core.types import Actor, Json
from tenants.enums import Origin, Permission, PlatformPermission, PrincipalKind, Role
from tenants.models import Membership, Organization, Project, Team, User
from tenants.permissions import Place, authorize, permissions_on, platform_permissions_on
from tenants.roles import ORGANIZATION_ROLES, PROJECT_ROLES
from tenants.selectors.places import belongs
from tenants.services.endings import end_tokens
from tenants.services.projection import project_grants
from tenants.services.reach import granted_by, refuse_beyond_token_makers
from tenants.services.standing import refuse_closed


@transaction.atomic
def give(*, actor: Actor, place: Place, user: User, role: str, now: datetime) -> Membership:
    """Give a principal of the organisation a role on a place, or another one than it holds there.

    Needs the right to manage members of that place and everything that the role itself grants: nobody hands out more
    than they hold. A service account never owns. Raises Conflict where the organisation would be left without an owner,
    and where a living token of a service account would come to reach further than the one who made it.
    """
    may_manage(actor, place, role)
    if not belongs(user.pk):
        raise NotFound("member", user.pk)
    if role == Role.OWNER and user.kind != PrincipalKind.PERSON:
        raise Invalid([FieldError("role", "cannot_own", "Only a person may own an organisation.")])
    found = _on(place).filter(user=user).first()
    if found is not None:
        _may_touch(actor, found)
        if role != found.role:
            _keep_an_owner(found)
    refuse_beyond_token_makers(user, role, place, now)
    return grant(
        actor=actor,
        organization=organization_of_place(place),
        user=user,
        role=role,
        project=place if isinstance(place, Project) else None,
        team=place if isinstance(place, Team) else None,
        now=now,
    )


@transaction.atomic
def grant(
    *,
    actor: Actor,
    organization: Organization,
    user: User,
    role: str,
    project: Project | None,
    now: datetime,
    team: Team | None = None,
    origin: str = Origin.GRANTED,
) -> Membership:
    """Write a role and its projection and record it; a principal holds one role per place. Asks nobody's leave."""
    before = Membership.objects.filter(user=user, project=project, team=team).values_list("role", flat=True).first()
    membership = write(
        organization=organization, user=user, role=role, project=project, team=team, now=now, origin=origin
    )
    place = project.ref if project else team.ref if team else organization.ref
    audit.record(
        actor,
        "membership.granted",
        membership.ref,
        now=now,
        before={"role": before} if before else None,
        after={"role": role, "user": str(user.pk), "on": place.id},
    )
    return membership


@transaction.atomic
def write(
    *,
    organization: Organization,
    user: User,
    role: str,
    project: Project | None,
    team: Team | None,
    now: datetime,
    origin: str = Origin.GRANTED,
) -> Membership:
    """The rows of a role, for an act that records itself (an accepted invitation, a first sign-in)."""
    membership, _ = Membership.objects.update_or_create(
        organization=organization,
        user=user,
        project=project,
        team=team,
        defaults={"role": role, "created_at": now, "origin": origin},
    )
    project_grants(membership.organization, user.pk, project=project, team=team)
    return membership


@transaction.atomic
def take_back(*, actor: Actor, membership_id: UUID, now: datetime) -> None:
    """Take a role from a principal; one's own may be laid down by anybody. The last owner stays."""
    found = Membership.objects.select_related("organization", "team", "project").filter(pk=membership_id).first()
    if found is None:
        raise NotFound("membership", membership_id)
    if found.user_id != actor.id:
        place = found.project or found.team or found.organization
        if not _sees(actor, found):
            raise NotFound("membership", membership_id)
        may_manage(actor, place, found.role)
    _keep_an_owner(found)
    revoke(actor=actor, membership=found, now=now)


@transaction.atomic
def revoke(*, actor: Actor, membership: Membership, now: datetime) -> None:
    """Take a role back. What it opened (sockets, links) ends when its next check finds nothing."""
    ref, role, user_id = membership.ref, membership.role, membership.user_id
    erase([membership])
    if not Membership.objects.filter(user_id=user_id).exists():
        end_tokens([user_id], now)
    audit.record(actor, "membership.revoked", ref, now=now, before={"role": role, "user": str(user_id)})


@transaction.atomic
def remove_person(*, actor: Actor, user_id: UUID, now: datetime) -> None:
    """Take every role of a principal in the organisation, and its tokens here: they do not come back with the person.

    The user stays. Anybody may leave; the last owner may not.
    """
    rows = list(Membership.objects.filter(user_id=user_id).select_related("organization", "team", "project"))
    if not rows:
        raise NotFound("member", user_id)
    organization = rows[0].organization
    if user_id != actor.id:
        authorize(actor, Permission.MANAGE_MEMBERS, organization)
        for row in rows:
            _may_touch(actor, row)
    for row in rows:
        _keep_an_owner(row)
    roles: list[Json] = [*sorted(row.role for row in rows)]
    erase(rows)
    end_tokens([user_id], now)
    verb = "member.left" if user_id == actor.id else "member.removed"
    audit.record(actor, verb, organization.ref, now=now, before={"user": str(user_id), "roles": roles})


def erase(rows: Iterable[Membership]) -> None:
    """Delete memberships and their projection, for an act that records itself."""
    for row in rows:
        organization, user_id, project, team = row.organization, row.user_id, row.project, row.team
        row.delete()
        project_grants(organization, user_id, project=project, team=team)


def may_manage(actor: Actor, place: Place, role: str) -> None:
    """Raise unless the actor may hand out this role here: the right on the place, and no more than its own.

    A project's admin manages its members; only an owner makes or unmakes an owner, or one who reads invoices.
    """
    fits = ORGANIZATION_ROLES if isinstance(place, Organization) else PROJECT_ROLES
    if role not in fits:
        words = ", ".join(sorted(fits))
        raise Invalid([FieldError("role", "does_not_fit", f"On a {place.ref.kind} the roles are {words}.")])
    if _gives_the_first_owner(actor, place, role):
        return
    needed = Permission.MANAGE_PROJECT if isinstance(place, Project) else Permission.MANAGE_MEMBERS
    authorize(actor, needed, place)
    refuse_closed(organization_of_place(place))
    missing = granted_by(role, place) - permissions_on(actor, place)
    if missing:
        raise Forbidden(sorted(missing)[0], place.ref)


def _gives_the_first_owner(actor: Actor, place: Place, role: str) -> bool:
    """The platform founds organisations, and gives one its owner while it has none."""
    if role != Role.OWNER or PlatformPermission.MANAGE_TENANTS not in platform_permissions_on(actor):
        return False
    return isinstance(place, Organization) and not Membership.objects.filter(role=Role.OWNER).exists()


def organization_of_place(place: Place) -> Organization:
    return place if isinstance(place, Organization) else place.organization


def _on(place: Place) -> QuerySet[Membership]:
    if isinstance(place, Organization):
        return Membership.objects.filter(organization=place, project=None, team=None)
    if isinstance(place, Team):
        return Membership.objects.filter(team=place)
    return Membership.objects.filter(project=place)


def _may_touch(actor: Actor, held: Membership) -> None:
    """Whoever changes a role must be able to hand out the one that is there."""
    may_manage(actor, held.project or held.team or held.organization, held.role)


def _sees(actor: Actor, held: Membership) -> bool:
    place = held.project or held.team or held.organization
    return Permission.VIEW_MEMBERS in permissions_on(actor, place)


def _keep_an_owner(held: Membership) -> None:
    """An organisation always has an owner who can sign in: a person. Owners are counted one change at a time."""
    if held.role != Role.OWNER or held.user.kind != PrincipalKind.PERSON:
        return
    lock("organization.owners", str(held.organization_id))
    able = Membership.objects.filter(role=Role.OWNER, user__is_active=True, user__kind=PrincipalKind.PERSON)
    others = able.exclude(pk=held.pk)
    if not others.exists():
        raise Conflict(
            "The organisation would be left without an owner. Make somebody else an owner first.", code="last_owner"
        )

"""Questions about where roles are held, who holds them, and who was invited."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Count, F, Q, QuerySet

from core.errors import NotFound
from core.types import Actor
from tenants.credentials import hash_secret
from tenants.enums import Permission, PrincipalKind
from tenants.models import Invitation, Membership, Organization, Project, QuotaHold, ServiceAccount, Team, User
from tenants.permissions import Place, holds, projects_filter, teams_filter


def teams_visible_to(actor: Actor) -> QuerySet[Team]:
    """The teams of the actor's organisation that it may see, by slug."""
    return (
        Team.objects.filter(teams_filter(actor, Permission.VIEW_TEAM)).select_related("organization").order_by("slug")
    )


def teams_counted(actor: Actor) -> QuerySet[Team]:
    """The same, each with how many projects and members it has."""
    return teams_visible_to(actor).annotate(
        project_count=Count("projects", distinct=True), member_count=Count("memberships", distinct=True)
    )


def projects_counted(actor: Actor) -> QuerySet[Project]:
    """Projects that the actor may see, closed ones last, with how many hold a role on each."""
    return (
        Project.objects.filter(projects_filter(actor, Permission.VIEW_PROJECT))
        .select_related("organization", "team")
        .annotate(member_count=Count("memberships", distinct=True))
        .order_by(F("closed_at").desc(nulls_first=True), "slug")
    )


def place_for(actor: Actor, kind: str, asked: str | UUID) -> Place:
    """A place of the actor's organisation by its id. Raises NotFound for what it cannot see."""
    found: Place | None = None
    key = _uuid(asked)
    if key is not None and kind == "organization":
        found = Organization.objects.filter(pk=key).first() if key == actor.organization_id else None
    elif key is not None and kind == "team":
        found = teams_visible_to(actor).filter(pk=key).first()
    elif key is not None and kind == "project":
        visible = Project.objects.filter(projects_filter(actor, Permission.VIEW_PROJECT))
        found = visible.select_related("organization").filter(pk=key).first()
    if found is None:
        raise NotFound(kind if kind in ("organization", "team", "project") else "place", asked)
    return found


def people_of(actor: Actor) -> QuerySet[Membership]:
    """Every role whose holder the actor may see: all of the organisation's, those of places it leads, its own."""
    rows = Membership.objects.select_related("user", "project", "team", "organization")
    if holds(actor, Permission.VIEW_MEMBERS, Organization.objects.get(pk=actor.tenant_id)):
        return rows
    return rows.filter(Q(user_id=actor.person_id) | _places_led(actor, Permission.VIEW_MEMBERS))


def principals_of(actor: Actor, words: str = "") -> QuerySet[User]:
    """Whose roles the actor may see, people first, by name; only those whose name or address has the words."""
    rows = User.objects.filter(pk__in=people_of(actor).values("user_id"))
    if words:
        rows = rows.filter(Q(full_name__icontains=words) | Q(email__icontains=words, kind=PrincipalKind.PERSON))
    return rows.order_by("kind", "full_name", "email")


def roles_of(actor: Actor, user_ids: Iterable[UUID]) -> dict[UUID, list[Membership]]:
    """The roles of these principals that the actor may see, those of the organisation first."""
    found: dict[UUID, list[Membership]] = {}
    rows = people_of(actor).filter(user_id__in=[*user_ids])
    for row in rows.order_by(F("team__slug").asc(nulls_first=True), F("project__slug").asc(nulls_first=True)):
        found.setdefault(row.user_id, []).append(row)
    return found


def members_here(place: Team | Project) -> list[Membership]:
    """Who holds a role on this very place, by name."""
    rows = (
        Membership.objects.filter(team=place) if isinstance(place, Team) else Membership.objects.filter(project=place)
    )
    return list(rows.select_related("user").order_by("user__full_name", "user__email"))


def heirs_of(actor: Actor) -> list[User]:
    """The people to whom the actor could hand the organisation over."""
    rows = User.objects.filter(pk__in=Membership.objects.values("user_id"), kind=PrincipalKind.PERSON, is_active=True)
    return list(rows.exclude(pk=actor.person_id).order_by("full_name", "email"))


def invitations_visible_to(actor: Actor) -> QuerySet[Invitation]:
    """Open and past invitations to places whose members the actor may see."""
    rows = Invitation.objects.select_related("project", "team", "organization")
    if holds(actor, Permission.VIEW_MEMBERS, Organization.objects.get(pk=actor.tenant_id)):
        return rows
    return rows.filter(_places_led(actor, Permission.VIEW_MEMBERS))


def leads_somewhere(actor: Actor, permission: Permission) -> bool:
    """Whether the actor holds the permission on any team or project of its organisation."""
    teams = Team.objects.filter(teams_filter(actor, permission))
    return teams.exists() or Project.objects.filter(projects_filter(actor, permission)).exists()


def invitation_by_secret(secret: str) -> tuple[UUID, UUID] | None:
    """(organisation id, invitation id) of a presented secret. Asked before a tenant is known."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT organization_id, invitation_id FROM steelyard_invitation_by_hash(%s)", [hash_secret(secret)]
        )
        row = cursor.fetchone()
    return (row[0], row[1]) if row else None


def invitations_to_mail(instant: datetime) -> list[tuple[UUID, UUID]]:
    """(organisation id, invitation id) of those whose mail is due. Asked before a tenant is known."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT organization_id, invitation_id FROM steelyard_invitations_to_mail(%s)", [instant])
        return [(row[0], row[1]) for row in cursor.fetchall()]


def service_accounts_visible_to(actor: Actor) -> QuerySet[ServiceAccount]:
    """All of the organisation's for one who manages them, else none."""
    if not holds(actor, Permission.MANAGE_SERVICE_ACCOUNTS, Organization.objects.get(pk=actor.tenant_id)):
        return ServiceAccount.objects.none()
    return ServiceAccount.objects.select_related("user", "organization").order_by("name")


def holders_of(projects: QuerySet[Project]) -> list[QuotaHold]:
    """What holds quota in these projects, one row for each holder."""
    rows = QuotaHold.objects.filter(project__in=projects).select_related("project")
    seen: dict[UUID, QuotaHold] = {}
    for row in rows.order_by("project__slug", "holder_label", "pk"):
        seen.setdefault(row.holder_id, row)
    return list(seen.values())


def member_by_id(user_id: UUID) -> User:
    """A principal that belongs to the scope's organisation. Raises NotFound otherwise."""
    accounts = ServiceAccount.objects.filter(user_id=user_id, disabled_at=None).select_related("user")
    held = Membership.objects.filter(user_id=user_id).select_related("user").first() or accounts.first()
    if held is None:
        raise NotFound("member", user_id)
    return held.user


def belongs(user_id: UUID) -> bool:
    """Whether a principal is the scope's organisation's: holds a role here, or is a living service account of it."""
    accounts = ServiceAccount.objects.filter(user_id=user_id, disabled_at=None)
    return Membership.objects.filter(user_id=user_id).exists() or accounts.exists()


def all_organization_ids() -> list[UUID]:
    """For the platform's scope."""
    return list(Organization.objects.order_by("pk").values_list("pk", flat=True))


def _places_led(actor: Actor, permission: Permission) -> Q:
    teams = Team.objects.filter(teams_filter(actor, permission)).values("pk")
    return Q(projects_filter(actor, permission, prefix="project_id")) | Q(team__in=teams)


def _uuid(words: str | UUID) -> UUID | None:
    try:
        return UUID(str(words))
    except ValueError:
        return None

"""Teams: people who share projects."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from core import audit
from core.errors import FieldError, Invalid, NotFound, Refused, Stale
from core.names import checked_name
from core.types import Actor, Reason
from tenants.enums import Permission
from tenants.models import Invitation, Membership, Organization, Project, Team
from tenants.permissions import authorize
from tenants.selectors.places import teams_visible_to
from tenants.services import memberships
from tenants.services.names import check_slug
from tenants.services.standing import refuse_closed


@transaction.atomic
def create(*, actor: Actor, organization: Organization, slug: str, name: str, now: datetime) -> Team:
    """Needs the right over the organisation's teams. Raises Invalid for a slug that is malformed or taken."""
    authorize(actor, Permission.MANAGE_TEAM, organization)
    refuse_closed(organization)
    check_slug(slug)
    try:
        with transaction.atomic():
            team = Team.objects.create(organization=organization, slug=slug, name=_named(name), created_at=now)
    except IntegrityError:
        raise Invalid([FieldError("slug", "taken", f"There is a team {slug} already.")]) from None
    audit.record(actor, "team.created", team.ref, now=now, after={"slug": slug, "name": team.name})
    return team


@transaction.atomic
def rename(*, actor: Actor, team_id: UUID, name: str, now: datetime, expected_version: int | None = None) -> Team:
    team = _locked(actor, team_id, expected_version)
    before, team.name = team.name, _named(name)
    team.version += 1
    team.save(update_fields=["name", "version"])
    audit.record(actor, "team.renamed", team.ref, now=now, before={"name": before}, after={"name": team.name})
    return team


@transaction.atomic
def delete(*, actor: Actor, team_id: UUID, now: datetime, expected_version: int | None = None) -> None:
    """End an empty team; the roles held on it end with it. Refused, with each, while it has projects."""
    team = _locked(actor, team_id, expected_version)
    projects = list(Project.objects.filter(team=team).order_by("slug"))
    if projects:
        reasons = [
            Reason(
                code="team_has_project",
                message=f"The project {project.name} belongs to it. Move it to another team, or to none.",
                resource=project.slug,
            )
            for project in projects
        ]
        raise Refused(reasons, ref=team.ref, code="team_not_empty")
    members = list(Membership.objects.filter(team=team).select_related("organization", "team", "project"))
    memberships.erase(members)
    Invitation.objects.filter(team=team).delete()
    ref, before = team.ref, {"slug": team.slug, "name": team.name}
    team.delete()
    audit.record(actor, "team.deleted", ref, now=now, before=dict(before) | {"members": len(members)})


def team_by_id(actor: Actor, team_id: UUID) -> Team:
    """A team that the actor may see. Raises NotFound otherwise."""
    found = teams_visible_to(actor).filter(pk=team_id).first()
    if found is None:
        raise NotFound("team", team_id)
    return found


def _locked(actor: Actor, team_id: UUID, expected_version: int | None) -> Team:
    team = team_by_id(actor, team_id)
    authorize(actor, Permission.MANAGE_TEAM, team)
    refuse_closed(team.organization)
    locked = Team.objects.select_for_update(of=("self",)).select_related("organization").get(pk=team.pk)
    if expected_version is not None and locked.version != expected_version:
        raise Stale("The team has changed since you read it. Read it again, then send your change.")
    return locked


def _named(name: str) -> str:
    return checked_name("name", name, most=120)

"""Projects: made, changed, moved between teams, and closed for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from core import audit
from core.errors import FieldError, Invalid, NotFound, Refused, Stale
from core.names import fault_in_name
from core.types import Actor, Json, ObjectRef, Reason
from tenants.enums import ApprovalKind, DataClass, Environment, Permission, Resource
from tenants.models import Invitation, Organization, Project, Quota, Team
from tenants.permissions import authorize
from tenants.selectors import projects_with
from tenants.selectors.places import holders_of, teams_visible_to
from tenants.services import approvals, names
from tenants.services.changes import deciders_of
from tenants.services.project_moves import carry_out, count_alone, needs_of_move, payload_of, raises_of
from tenants.services.standing import refuse_closed

FIRST_QUOTAS = (
    Resource.ACCELERATORS,
    Resource.MEMORY_GIB,
    Resource.STORAGE_GIB,
    Resource.VCPUS,
    Resource.WORKLOADS,
)
_SHOWN_HOLDERS = 20
_RANKS = list(DataClass.values)
"""From what everybody may know to what nearly nobody may."""


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """What a project is called and what governs it."""

    name: str
    environment: str = Environment.DEVELOPMENT
    data_class: str = DataClass.INTERNAL
    cost_centre: str = ""
    team_id: UUID | None = None


@transaction.atomic
def create(*, actor: Actor, organization: Organization, slug: str, facts: ProjectFacts, now: datetime) -> Project:
    """Needs the right to make projects. It may hold nothing yet: its quotas begin at zero.

    Raises Invalid for a slug that is malformed, reserved, taken here, or once another organisation's namespace.
    """
    authorize(actor, Permission.CREATE_PROJECT, organization)
    refuse_closed(organization)
    names.check_slug(slug)
    _check(facts)
    project = write(organization=organization, slug=slug, facts=facts, team=_team(actor, facts.team_id), now=now)
    Quota.objects.bulk_create(
        Quota(organization=organization, project=project, resource=resource, limit=0) for resource in FIRST_QUOTAS
    )
    audit.record(actor, "project.created", project.ref, now=now, after={"slug": slug, **_told(project)})
    return project


@transaction.atomic
def write(*, organization: Organization, slug: str, facts: ProjectFacts, team: Team | None, now: datetime) -> Project:
    """The row of a project and its namespace, for an act that records itself."""
    names.claim(organization_id=organization.pk, name=names.namespace_of(organization.slug, slug), now=now)
    try:
        with transaction.atomic():
            return Project.objects.create(
                organization=organization,
                team=team,
                slug=slug,
                name=facts.name.strip(),
                environment=facts.environment,
                data_class=facts.data_class,
                cost_centre=facts.cost_centre.strip(),
                created_at=now,
            )
    except IntegrityError:
        message = f"There is or was a project {slug} in {organization.name}. A slug is used once."
        raise Invalid([FieldError("slug", "taken", message)]) from None


@transaction.atomic
def change(
    *,
    actor: Actor,
    project_id: UUID,
    changes: Mapping[str, str | UUID | None],
    now: datetime,
    expected_version: int | None = None,
) -> Project:
    """Change some of a project's facts, by the names of ProjectFacts. A move to another team needs both teams' rights.

    A move that lets it hold more than a rule lets one person add waits for approval (`open_about` finds it), and the
    rest is changed. Raises Conflict while a move of it waits already.
    Whoever holds a role on the old team loses what it gave here, at once. A lower data class frees the project from
    rules of the organisation, so that needs the right over the organisation.
    """
    project = _locked(actor, project_id, Permission.MANAGE_PROJECT, expected_version)
    _refuse_closed_project(project)
    facts = _merged(project, changes)
    _check(facts)
    if _RANKS.index(facts.data_class) < _RANKS.index(project.data_class):
        authorize(actor, Permission.MANAGE_ORGANIZATION, project.organization)
    before = _told(project)
    after: dict[str, Json] = {}
    if facts.team_id != project.team_id:
        after = _move(actor, project, _moved(actor, project, facts.team_id), now)
    project.name, project.cost_centre = facts.name.strip(), facts.cost_centre.strip()
    project.environment, project.data_class = facts.environment, facts.data_class
    project.version += 1
    project.save(update_fields=["name", "environment", "data_class", "cost_centre", "version"])
    audit.record(actor, "project.changed", project.ref, now=now, before=before, after=_told(project) | after)
    return project


@transaction.atomic
def close(*, actor: Actor, project_id: UUID, now: datetime, expected_version: int | None = None) -> Project:
    """Close a project for good: it takes no launches, its slug stays its own, its usage stays readable.

    Refused, naming each, while something lives in it. Its quotas go to zero under the locks that launches take, so
    that none slips in between.
    """
    project = _locked(actor, project_id, Permission.MANAGE_PROJECT, expected_version)
    _refuse_closed_project(project)
    refuse_holders(Project.objects.filter(pk=project.pk), project.name)
    shut([project], now)
    audit.record(actor, "project.closed", project.ref, now=now, before=_told(project), after={"closed": True})
    return project


def shut(projects: list[Project], now: datetime) -> None:
    """Close these and revoke the invitations to them, for an act that records itself."""
    for project in projects:
        project.closed_at = now
        approvals.void_open(kind=ApprovalKind.MOVE, subject_id=project.pk, now=now)
        project.version += 1
        project.save(update_fields=["closed_at", "version"])
    open_ones = Invitation.objects.filter(project__in=projects, accepted_at=None, revoked_at=None)
    open_ones.update(revoked_at=now, mail_secret="", mail_due_at=None)


def refuse_holders(projects: QuerySet[Project], name: str) -> None:
    """Raise with a reason for each thing that still holds quota in these projects, and let nothing new take any."""
    quotas = list(Quota.objects.select_for_update().filter(project__in=projects).order_by("project_id", "resource"))
    living = holders_of(projects)
    if not living:
        Quota.objects.filter(pk__in=[quota.pk for quota in quotas]).update(
            limit=0, borrow_limit=0, raised_until=None, falls_to=None, version=F("version") + 1
        )
        return
    reasons = [
        Reason(
            code="still_living",
            message=f"The {hold.holder_kind} {hold.holder_label} in {hold.project.slug} still lives. Delete it.",
            resource=hold.holder_kind,
        )
        for hold in living[:_SHOWN_HOLDERS]
    ]
    more = len(living) - len(reasons)
    if more > 0:
        reasons.append(Reason(code="still_living", message=f"{more} more things still live in {name}."))
    raise Refused(reasons, code="still_living")


def stale(kind: str) -> Stale:
    return Stale(f"The {kind} has changed since you read it. Read it again, then send your change.")


def _locked(actor: Actor, project_id: UUID, permission: Permission, expected_version: int | None) -> Project:
    found = projects_with(actor, Permission.VIEW_PROJECT).filter(pk=project_id).first()
    if found is None:
        raise NotFound("project", project_id)
    authorize(actor, permission, found)
    refuse_closed(found.organization)
    locked = Project.objects.select_for_update(of=("self",)).select_related("organization", "team").get(pk=project_id)
    if expected_version is not None and locked.version != expected_version:
        raise stale("project")
    return locked


def _refuse_closed_project(project: Project) -> None:
    if project.closed_at is not None:
        message = f"{project.name} is closed. What it used can be read; nothing in it changes any more."
        raise Refused([Reason(code="project_closed", message=message)], ref=project.ref, code="project_closed")


def _team(actor: Actor, team_id: UUID | None) -> Team | None:
    if team_id is None:
        return None
    found = teams_visible_to(actor).filter(pk=team_id).first()
    if found is None:
        raise Invalid([FieldError("team", "unknown", "There is no such team.")])
    return found


def _moved(actor: Actor, project: Project, team_id: UUID | None) -> Team | None:
    """Leaving a team takes its people's rights away and joining one gives them: that needs the right over both."""
    if project.team is not None:
        authorize(actor, Permission.MANAGE_TEAM, project.team)
    team = _team(actor, team_id)
    authorize(actor, Permission.MANAGE_TEAM, team or project.organization)
    return team


def _move(actor: Actor, project: Project, team: Team | None, now: datetime) -> dict[str, Json]:
    """Move it, or ask for approval of the move. What the audit log is told of the request."""
    raises = raises_of(project, team, now)
    needs = needs_of_move(project, raises)
    if not needs:
        approvals.void_open(kind=ApprovalKind.MOVE, subject_id=project.pk, now=now)
        carry_out(project, team)
        count_alone(raises)
        return {}
    asked = approvals.write(
        actor=actor,
        request=approvals.Request(
            kind=ApprovalKind.MOVE,
            subject=ObjectRef("project", str(project.pk), project.name),
            place=project.organization,
            payload=payload_of(project, team, raises, needs),
            rule=", ".join(dict.fromkeys(need.rule.slug for need in needs)),
            needed=deciders_of(needs),
        ),
        now=now,
    )
    return {"team_asked": team.slug if team else None, "approval": str(asked.pk)}


def _merged(project: Project, changes: Mapping[str, str | UUID | None]) -> ProjectFacts:
    held: dict[str, object] = {
        "name": project.name,
        "environment": project.environment,
        "data_class": project.data_class,
        "cost_centre": project.cost_centre,
        "team_id": project.team_id,
    }
    return ProjectFacts(**{**held, **changes})  # type: ignore[arg-type]


def _check(facts: ProjectFacts) -> None:
    faults = (
        fault_in_name("name", facts.name, most=120),
        fault_in_name("cost_centre", facts.cost_centre, most=40, blank=True),
    )
    errors = [fault for fault in faults if fault is not None]
    if facts.environment not in Environment.values:
        errors.append(FieldError("environment", "unknown", f"It is one of {', '.join(Environment.values)}."))
    if facts.data_class not in DataClass.values:
        errors.append(FieldError("data_class", "unknown", f"It is one of {', '.join(DataClass.values)}."))
    if errors:
        raise Invalid(errors)


def _told(project: Project) -> dict[str, Json]:
    return {
        "name": project.name,
        "environment": project.environment,
        "data_class": project.data_class,
        "cost_centre": project.cost_centre,
        "team": project.team.slug if project.team else None,
    }

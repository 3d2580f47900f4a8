"""Projects."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.routes import route
from tenants.api import outputs
from tenants.api.outputs import MoveAskedOutput, ProjectOutput
from tenants.api.place_inputs import NewProjectInput, ProjectChangeInput
from tenants.enums import ApprovalKind, Permission
from tenants.selectors import organization_of, project_for, projects_with
from tenants.selectors.approvals import open_about
from tenants.services import projects
from tenants.services.projects import ProjectFacts


class Projects(Endpoint):
    @route(permission=Permission.VIEW_PROJECT, verb="project.listed")
    @shape(summary="List projects", output=ProjectOutput, listed=True)
    def get(self, request: Request) -> HttpResponse:
        rows = projects_with(self.actor, Permission.VIEW_PROJECT).select_related("organization", "team")
        return self.page(rows, lambda found: [outputs.project(row) for row in found])

    @route(permission=Permission.CREATE_PROJECT, verb="project.created")
    @shape(summary="Make a project", input=NewProjectInput, output=ProjectOutput, status=201, refuses=True)
    def post(self, request: Request) -> HttpResponse:
        """Its quotas begin at zero: set them before something is launched in it."""
        asked = self.read(NewProjectInput)
        facts = ProjectFacts(
            name=asked.name,
            environment=asked.environment,
            data_class=asked.data_class,
            cost_centre=asked.cost_centre,
            team_id=asked.team,
        )
        made = projects.create(
            actor=self.actor,
            organization=organization_of(self.actor),
            slug=asked.slug,
            facts=facts,
            now=self.moment,
        )
        return self.created(outputs.project(made), location=f"/api/v1/projects/{made.pk}", version=made.version)


class Project(Endpoint):
    @route(permission=Permission.VIEW_PROJECT, verb="project.viewed")
    @shape(summary="Show a project", output=ProjectOutput, versioned=True)
    def get(self, request: Request, project_id: UUID) -> HttpResponse:
        return self.show(str(project_id))

    @route(permission=Permission.MANAGE_PROJECT, verb="project.changed")
    @shape(
        summary="Change a project",
        input=ProjectChangeInput,
        output=ProjectOutput,
        versioned=True,
        refuses=True,
        answers={202: "Changed but for the team: the move waits for approval."},
        other_outputs={202: MoveAskedOutput},
    )
    def patch(self, request: Request, project_id: UUID) -> HttpResponse:
        """A move to another team needs the right over both; a lower data class `manage_organization`.

        A move that would let the project hold more than a rule on changes of quota lets one person add waits for
        somebody else's approval: 202, with why. The rest is changed.
        """
        changes = self.read(ProjectChangeInput).as_dict()
        changed = projects.change(
            actor=self.actor,
            project_id=project_id,
            changes=changes,
            expected_version=self.expected_version(),
            now=self.moment,
        )
        if changes.get("team_id", changed.team_id) != changed.team_id:
            asked = open_about(ApprovalKind.MOVE, changed.pk, now=self.moment)
            assert asked is not None
            told = outputs.project(changed) | {"approval": asked.pk, "waits": asked.payload["reasons"]}
            return self.accepted(told, location=f"/api/v1/approvals/{asked.pk}", version=changed.version)
        return self.one(changed.version, lambda: outputs.project(changed))

    @route(permission=Permission.MANAGE_PROJECT, verb="project.closed")
    @shape(summary="Close a project", output=None, status=204, versioned=True, refuses=True)
    def delete(self, request: Request, project_id: UUID) -> HttpResponse:
        """For good: it takes no launches, its usage stays readable. Refused, with each, while something lives in it."""
        projects.close(
            actor=self.actor, project_id=project_id, expected_version=self.expected_version(), now=self.moment
        )
        return self.nothing()

    def show(self, asked: str) -> HttpResponse:
        found = project_for(self.actor, asked)
        return self.one(found.version, lambda: outputs.project(found))


class ProjectBySlug(Endpoint):
    @route(permission=Permission.VIEW_PROJECT, verb="project.viewed")
    @shape(summary="Show a project by its slugs", output=ProjectOutput, versioned=True)
    def get(self, request: Request, organization_slug: str, project_slug: str) -> HttpResponse:
        found = project_for(self.actor, f"{organization_slug}/{project_slug}")
        return self.one(found.version, lambda: outputs.project(found))

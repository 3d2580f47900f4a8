"""Where the person is: the project that pages show and forms propose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest

from core.types import Actor
from portal.identity import SESSION_PROJECT
from tenants.enums import Permission
from tenants.selectors import projects_with

if TYPE_CHECKING:
    from tenants.models import Project


def project_here(request: HttpRequest) -> Project | None:
    """The session's project, else the first that the person may see; None for one who sees none."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    projects = list(projects_with(actor, Permission.VIEW_PROJECT))
    chosen = request.session.get(SESSION_PROJECT)
    return next((project for project in projects if project.slug == chosen), projects[0] if projects else None)

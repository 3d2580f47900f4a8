"""Teams, invitations and service accounts of tests, made by the services that production uses."""

from __future__ import annotations

from django.utils import timezone

from tenants.models import Invitation, Membership, ServiceAccount, Team
from tenants.services import invitations, memberships, service_accounts, teams
from tests import house
from tests.house import Tenant


def owner_of(tenant: Tenant) -> str:
    return "olivia" if "olivia" in tenant.people else "boris"


def team(tenant: Tenant, slug: str = "perception") -> Team:
    with house.an_act(), tenant.scope():
        return teams.create(
            actor=tenant.actor(owner_of(tenant)),
            organization=tenant.organization,
            slug=slug,
            name=slug.title(),
            now=timezone.now(),
        )


def team_with(tenant: Tenant, name: str, role: str = "developer") -> Team:
    """A team on which somebody holds a role."""
    made = team(tenant)
    with house.an_act(), tenant.scope():
        memberships.give(
            actor=tenant.actor(owner_of(tenant)), place=made, user=tenant.people[name], role=role, now=timezone.now()
        )
    return made


def invited(
    tenant: Tenant, email: str = "nora@new.example", *, role: str = "developer", place=None
) -> tuple[Invitation, str]:
    """An open invitation to the tenant's first project, and its secret."""
    with house.an_act(), tenant.scope():
        return invitations.create(
            actor=tenant.actor(owner_of(tenant)),
            place=place or next(iter(tenant.projects.values())),
            email=email,
            role=role,
            now=timezone.now(),
        )


def account(tenant: Tenant, name: str = "nightly") -> ServiceAccount:
    with house.an_act(), tenant.scope():
        return service_accounts.create(
            actor=tenant.actor(owner_of(tenant)), organization=tenant.organization, name=name, now=timezone.now()
        )


def membership_of(tenant: Tenant, name: str) -> Membership:
    """One of this person's roles."""
    with tenant.scope():
        return Membership.objects.filter(user=tenant.people[name]).earliest("pk")

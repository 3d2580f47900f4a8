"""The people and organisations of tests, made by the services that production uses.

Alice launches things in aurora's project `vision`; Bob is her team mate there; Olivia owns aurora; Victor may only
look; Billie does aurora's finance. Charlie works in borealis and knows nothing of them; Boris owns borealis.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client
from django.utils import timezone

from core import acts, scope
from core.acts import Source, SourceKind
from core.types import Actor, ActorKind, system_actor
from tenants.models import Organization, Project, User
from tenants.services import memberships, organizations, people, quotas, tokens

PASSWORD = "correct horse battery staple"
LIMITS = {
    "workloads": 10,
    "accelerators": 16,
    "accelerators/H100": 10,
    "vcpus": 512,
    "memory_gib": 4096,
    "storage_gib": 2000,
}
SYSTEM = system_actor("test", None)


@dataclass(frozen=True)
class Tenant:
    organization: Organization
    projects: dict[str, Project]
    people: dict[str, User] = field(default_factory=dict)

    def actor(self, name: str) -> Actor:
        return actor_for(self.people[name], self.organization)

    @property
    def system(self) -> Actor:
        """The platform's own part, at work for this organisation."""
        return system_actor("test", self.organization.pk)

    def scope(self):
        return scope.of_organization(self.organization.pk)


def an_act():
    """Each thing a test does is an act of its own, as each request is."""
    return acts.begin(Source(SourceKind.COMMAND))


def aurora() -> Tenant:
    tenant = found("aurora", projects=("vision", "language"))
    join(tenant, "olivia", "owner")
    join(tenant, "billie", "billing")
    join(tenant, "alice", "developer", projects=("vision", "language"))
    join(tenant, "bob", "developer", projects=("vision",))
    join(tenant, "victor", "viewer", projects=("vision", "language"))
    return tenant


def borealis() -> Tenant:
    tenant = found("borealis", projects=("drugs",), time_zone="America/Los_Angeles")
    join(tenant, "boris", "owner")
    join(tenant, "charlie", "developer", projects=("drugs",))
    return tenant


def found(slug: str, *, projects: tuple[str, ...], currency: str = "USD", time_zone: str = "Europe/Berlin") -> Tenant:
    now = timezone.now()
    with an_act():
        organization = organizations.found_organization(
            actor=SYSTEM, slug=slug, name=slug.title(), currency=currency, time_zone=time_zone, now=now
        )
    made = {name: _project(organization, name, now) for name in projects}
    return Tenant(organization, made)


def join(tenant: Tenant, name: str, role: str, *, projects: tuple[str, ...] = ()) -> User:
    """A person with a role in the organisation, or in the named projects of it."""
    now = timezone.now()
    user = User.objects.filter(email=f"{name}@{tenant.organization.slug}.example").first() or User.objects.create_user(
        f"{name}@{tenant.organization.slug}.example", PASSWORD, full_name=name.title()
    )
    places: list[Project | None] = [tenant.projects[project] for project in projects] or [None]
    for place in places:
        with an_act(), tenant.scope():
            memberships.grant(
                actor=SYSTEM, organization=tenant.organization, user=user, role=role, project=place, now=now
            )
    tenant.people[name] = user
    return user


def actor_for(user: User, organization: Organization) -> Actor:
    return Actor(
        kind=ActorKind.USER,
        id=user.pk,
        organization_id=organization.pk,
        label=user.email,
        platform_role=user.platform_role,
    )


def token_for(tenant: Tenant, name: str, *, scopes: tuple[str, ...] = ()) -> str:
    with an_act(), tenant.scope():
        _, secret = tokens.create(
            actor=tenant.actor(name),
            organization=tenant.organization,
            name="test",
            scopes=scopes,
            expires_at=None,
            now=timezone.now(),
        )
    return secret


def client_for(tenant: Tenant, name: str) -> Client:
    """A signed-in browser without a page."""
    client = Client(raise_request_exception=False)
    client.force_login(tenant.people[name], backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def visitor() -> Client:
    return Client(raise_request_exception=False)


def platform_person(tenant: Tenant, name: str, platform_role: str, *, role: str = "auditor") -> User:
    """One of the platform's own people, who is also a member of the organisation."""
    now = timezone.now()
    with an_act(), scope.of_platform():
        people.create_person(
            actor=SYSTEM,
            email=f"{name}@{tenant.organization.slug}.example",
            password=PASSWORD,
            full_name=name.title(),
            time_zone="UTC",
            platform_role=platform_role,
            now=now,
        )
    return join(tenant, name, role)


def scoped_actor(tenant: Tenant, name: str, *, scopes: tuple[str, ...]) -> Actor:
    return replace(tenant.actor(name), scopes=frozenset(scopes))


def api_for(tenant: Tenant, name: str) -> Client:
    """An API client with a token of its own."""
    return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token_for(tenant, name)}"})


def give_factor(tenant: Tenant, name: str) -> None:
    """The person has an authenticator app."""
    TOTP.activate(tenant.people[name], generate_totp_secret())


def _project(organization: Organization, slug: str, now: datetime) -> Project:
    with an_act(), scope.of_organization(organization.pk):
        project = organizations.create_project(
            actor=SYSTEM,
            organization=organization,
            slug=slug,
            name=slug.title(),
            environment="dev",
            data_class="internal",
            cost_centre="CC-1",
            now=now,
        )
    with an_act(), scope.of_organization(organization.pk):
        quotas.define(actor=SYSTEM, project=project, limits=LIMITS, now=now)
    return project

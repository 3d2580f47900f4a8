"""The demo, made by the services that people use. Each step is skipped where its result is there already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from billing.selectors.prices import known_sku_codes
from billing.services import catalogue as sku_catalogue
from billing.services import prices
from core import acts, scope
from core.acts import Source, SourceKind
from core.types import Actor, ActorKind, system_actor
from portal.demo import catalogue
from portal.demo.people import HOUSES, LIMITS, TOPS, Credential, House, Person
from provisioning.services.catalogue import publish_offer
from tenants.selectors import (
    organization_by_slug,
    person_by_email,
    project_ids_held_by,
    projects_by_slug,
    token_by_secret,
)
from tenants.selectors.quotas import organization_quota
from tenants.services import memberships, organizations, people, quotas, tokens

if TYPE_CHECKING:
    from tenants.models import Organization, Project, User

SEEDER = system_actor("demo", None)
_PRICES_FROM = datetime(2026, 1, 1, tzinfo=UTC)


def seed(credentials: Sequence[Credential], *, now: datetime) -> None:
    """Catalogue, prices, organisations, projects, quotas, people and tokens of the demo."""
    _seed_catalogue(now)
    by_email = {entry["email"]: entry for entry in credentials}
    for house in HOUSES:
        organization = _seed_organization(house, now)
        _seed_top(organization, now)
        projects = _seed_projects(house, organization, now)
        for person in house.people:
            credential = by_email[person.email]
            user = _seed_person(house, person, credential["password"], organization, projects, now=now)
            _seed_token(user, organization, credential["token"], now)


@contextmanager
def _act(organization: Organization | None = None) -> Iterator[None]:
    """One act in one scope: the organisation's, or the platform's."""
    opened = scope.of_organization(organization.pk) if organization else scope.of_platform()
    with acts.begin(Source(SourceKind.COMMAND)), opened:
        yield


def _seed_catalogue(now: datetime) -> None:
    with scope.of_platform():
        known = known_sku_codes()
    fresh = [sku for sku in catalogue.skus() if sku.code not in known]
    for sku in fresh:
        with _act():
            sku_catalogue.define_sku(
                actor=SEEDER, code=sku.code, kind="session", unit=sku.unit, label=sku.label, now=now
            )
    if fresh:
        with _act():
            prices.publish(
                actor=SEEDER,
                currency=catalogue.CURRENCY,
                unit_prices={sku.code: sku.unit_price for sku in fresh},
                valid_from=_PRICES_FROM,
                now=now,
            )
    with _act():
        publish_offer(actor=SEEDER, offer=catalogue.offer(), now=now)


def _seed_organization(house: House, now: datetime) -> Organization:
    with scope.of_platform():
        found = organization_by_slug(house.slug)
    if found is not None:
        return found
    with acts.begin(Source(SourceKind.COMMAND)):
        return organizations.found_organization(
            actor=SEEDER,
            slug=house.slug,
            name=house.name,
            currency=house.currency,
            time_zone=house.time_zone,
            now=now,
        )


def _seed_top(organization: Organization, now: datetime) -> None:
    """The organisation's own quotas, which the platform sets."""
    for resource, limit in TOPS.items():
        with _act(organization):
            if organization_quota(resource) is None:
                terms = quotas.Terms(limit)
                quotas.define_one(actor=SEEDER, place=organization, resource=resource, terms=terms, now=now)


def _seed_projects(house: House, organization: Organization, now: datetime) -> Mapping[str, Project]:
    with scope.of_organization(organization.pk):
        found = projects_by_slug()
    for slug, name, environment, cost_centre in house.projects:
        if slug in found:
            continue
        with _act(organization):
            found[slug] = organizations.create_project(
                actor=SEEDER,
                organization=organization,
                slug=slug,
                name=name,
                environment=environment,
                data_class="internal",
                cost_centre=cost_centre,
                now=now,
            )
        with _act(organization):
            quotas.define(actor=SEEDER, project=found[slug], limits=LIMITS, now=now)
    return found


def _seed_person(
    house: House,
    person: Person,
    password: str,
    organization: Organization,
    projects: Mapping[str, Project],
    *,
    now: datetime,
) -> User:
    user = person_by_email(person.email)
    if user is None:
        with _act():
            user = people.create_person(
                actor=SEEDER,
                email=person.email,
                password=password,
                full_name=person.name,
                time_zone=house.time_zone,
                platform_role=person.platform_role,
                now=now,
            )
    places: list[Project | None] = [projects[slug] for slug in person.projects] or [None]
    with scope.of_organization(organization.pk):
        held = project_ids_held_by(user.pk)
    for place in places:
        if (place.pk if place else None) not in held:
            with _act(organization):
                memberships.grant(
                    actor=SEEDER, organization=organization, user=user, role=person.held, project=place, now=now
                )
    return user


def _seed_token(user: User, organization: Organization, secret: str, now: datetime) -> None:
    if token_by_secret(secret) is None:
        with _act(organization):
            tokens.create(
                actor=_as(user, organization),
                organization=organization,
                name="installation",
                scopes=(),
                expires_at=None,
                now=now,
                secret=secret,
            )


def _as(user: User, organization: Organization) -> Actor:
    return Actor(kind=ActorKind.USER, id=user.pk, organization_id=organization.pk, label=user.email)

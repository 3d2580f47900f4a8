"""Who lives in the demo: two organisations that know nothing of each other."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from tenants.enums import PlatformRole, Role
from tenants.services.tokens import generate_secret

LIMITS = {
    "workloads": 10,
    "accelerators": 16,
    "accelerators/A100-80GB": 4,
    "accelerators/H100": 8,
    "accelerators/H200": 4,
    "accelerators/L40S": 8,
    "vcpus": 512,
    "memory_gib": 4096,
    "storage_gib": 2000,
}

TOPS = {"accelerators": 64, "accelerators/H100": 32}
"""The most that an organisation holds in all its projects together."""


class Credential(TypedDict):
    """One person as the installation file lists them."""

    email: str
    password: str
    token: str
    organization: str
    role: str


@dataclass(frozen=True, slots=True)
class Person:
    """`role`: the installation file's word; `held`: the role of the membership, on projects where they are named."""

    email: str
    name: str
    role: str
    held: Role
    projects: tuple[str, ...] = ()
    platform_role: str = ""


@dataclass(frozen=True, slots=True)
class House:
    slug: str
    name: str
    currency: str
    time_zone: str
    projects: tuple[tuple[str, str, str, str], ...]
    """slug, name, environment, cost centre"""
    people: tuple[Person, ...]


AURORA = House(
    slug="aurora",
    name="Aurora",
    currency="USD",
    time_zone="Europe/Berlin",
    projects=(("vision", "Vision", "prod", "CC-4410"), ("language", "Language", "dev", "CC-4420")),
    people=(
        Person("petra@aurora.example", "Petra Lang", "platform_admin", Role.ADMIN, platform_role=PlatformRole.ADMIN),
        Person("olivia@aurora.example", "Olivia Brandt", "owner", Role.OWNER),
        Person("alice@aurora.example", "Alice Moreau", "developer", Role.DEVELOPER, ("vision", "language")),
        Person("victor@aurora.example", "Victor Nowak", "viewer", Role.VIEWER, ("vision", "language")),
        Person("billie@aurora.example", "Billie Santos", "billing", Role.BILLING),
    ),
)
BOREALIS = House(
    slug="borealis",
    name="Borealis",
    currency="USD",
    time_zone="America/Los_Angeles",
    projects=(("drugs", "Drugs", "prod", "BX-7"),),
    people=(
        Person("boris@borealis.example", "Boris Klein", "owner", Role.OWNER),
        Person("charlie@borealis.example", "Charlie Adeyemi", "developer", Role.DEVELOPER, ("drugs",)),
    ),
)
HOUSES = (AURORA, BOREALIS)


def credentials(known: Sequence[Credential]) -> list[Credential]:
    """Everybody's, in order: those that are known already, else generated for this installation."""
    kept = {person["email"]: person for person in known}
    return [kept.get(person.email) or _generate(person, house.slug) for house in HOUSES for person in house.people]


def _generate(person: Person, organization: str) -> Credential:
    return Credential(
        email=person.email,
        password=secrets.token_urlsafe(12),
        token=generate_secret(),
        organization=organization,
        role=person.role,
    )

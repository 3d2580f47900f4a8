"""Values that tenants hands to the apps above."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias
from uuid import UUID

from core.types import ObjectRef, Reason
from tenants.enums import QuotaLevel

_UNITS = {
    "workloads": ("workload", "workloads"),
    "vcpus": ("vCPU", "vCPUs"),
    "memory_gib": ("GiB of memory", "GiB of memory"),
    "storage_gib": ("GiB of storage", "GiB of storage"),
    "accelerators": ("GPU", "GPUs"),
    "tokens_per_minute": ("token a minute", "tokens a minute"),
}


@dataclass(frozen=True, slots=True)
class Claim:
    """Amounts of resources, by quota resource name, that a holder takes. Whole units."""

    amounts: tuple[tuple[str, int], ...]

    @staticmethod
    def of(**amounts: int) -> Claim:
        return Claim(tuple(sorted((name, amount) for name, amount in amounts.items() if amount)))

    def as_dict(self) -> dict[str, int]:
        return dict(self.amounts)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds quota: a workload or a volume, with the label it shows."""

    kind: str
    id: UUID
    label: str
    owner_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """What a quota shares with its siblings, the other quotas under the same parent.

    `left`: what nobody of them uses of what they may use together; below zero where a limit was lowered. `kept`: what
    of it lenders keep for themselves. `borrowers`: siblings above their own limit, and by how much. `around`: every
    sibling's level and place.
    """

    left: int
    kept: int = 0
    borrowers: tuple[tuple[str, int], ...] = ()
    around: frozenset[tuple[str, str]] = frozenset()

    @property
    def lent(self) -> int:
        return sum(amount for _, amount in self.borrowers)


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """One quota as it stands: limit and used, in whole units, of one place.

    `place`: the slug of the organisation, team or project, or the person's address. `lend_limit` None: it lends all
    that it leaves unused. `pool` None: nobody around it may borrow.
    """

    id: UUID
    level: QuotaLevel
    place: str
    resource: str
    limit: int
    used: int
    borrow_limit: int = 0
    lend_limit: int | None = None
    pool: Pool | None = None

    @property
    def left(self) -> int:
        """What is left of its own limit."""
        return max(self.limit - self.used, 0)

    @property
    def borrowed(self) -> int:
        return max(self.used - self.limit, 0)


Ladder: TypeAlias = tuple[QuotaLine, ...]
"""The quotas on one resource that a claim meets, in the order of their locks: organisation, team, project, person."""


class QuotaBook(Protocol):
    """Every quota that one place's claims meet, as they stand: what `tenants.quota_rules` decides on."""

    @property
    def ladders(self) -> Mapping[str, Ladder]: ...

    def shortfalls(self, asked: Mapping[str, int]) -> tuple[Reason, ...]:
        """Every reason why these amounts would be refused; a resource without a quota is not limited."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A person that a credential names, and the organisation in which it acts."""

    user_id: UUID
    organization_id: UUID | None


@dataclass(frozen=True, slots=True)
class Credential:
    """A token that may be used, and the person that it stands for. `scopes` empty: all that the person may.

    `awaits_second_factor`: the organisation asks for one, and its owner has none.
    """

    token_id: UUID
    organization_id: UUID
    user_id: UUID
    scopes: tuple[str, ...]
    last_used_at: datetime | None
    email: str
    platform_role: str
    awaits_second_factor: bool = False
    is_service_account: bool = False


@dataclass(frozen=True, slots=True)
class SessionStanding:
    """How a session stands in an organisation: a second factor is missing, or its provider is no longer in use."""

    awaits_second_factor: bool
    provider_gone: bool


def organization_ref(organization_id: UUID, slug: str = "") -> ObjectRef:
    return ObjectRef(kind="organization", id=str(organization_id), label=slug)


def project_ref(project_id: UUID, slug: str = "") -> ObjectRef:
    return ObjectRef(kind="project", id=str(project_id), label=slug)


def unit_of(resource: str, amount: int) -> str:
    """The word for an amount of a resource: "GPUs", "H100 GPU", "GiB of storage"."""
    base, _, model = resource.partition("/")
    singular, plural = _UNITS.get(base, (base, base))
    word = singular if amount == 1 else plural
    return f"{model} {word}" if model else word

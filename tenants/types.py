"""Values that tenants hands to the apps above."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from core.types import ObjectRef, Reason

_UNITS = {
    "workloads": ("workload", "workloads"),
    "vcpus": ("vCPU", "vCPUs"),
    "memory_gib": ("GiB of memory", "GiB of memory"),
    "storage_gib": ("GiB of storage", "GiB of storage"),
    "accelerators": ("GPU", "GPUs"),
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
class QuotaLine:
    """One quota as it stands: limit and used, in whole units, for one project."""

    id: UUID
    project_id: UUID
    resource: str
    limit: int
    used: int

    @property
    def left(self) -> int:
        return max(self.limit - self.used, 0)

    def shortfall(self, asked: int, *, project: str) -> Reason | None:
        """Why this much more would be refused, with the numbers and whom to ask; None where it fits."""
        over = self.used + asked - self.limit
        if asked <= 0 or over <= 0:
            return None
        return Reason(
            code="over_quota",
            message=f"{over} {unit_of(self.resource, over)} over ({self.used} used + {asked} asked > {self.limit}).",
            resource=self.resource,
            asked=asked,
            used=self.used,
            limit=self.limit,
            ask=f"an owner of the organisation, who sets the quotas of {project}",
        )


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

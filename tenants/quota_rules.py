"""The arithmetic of quotas."""

from __future__ import annotations

from collections.abc import Mapping

from core.types import Reason
from tenants.types import QuotaLine

_UNITS = {
    "workloads": ("workload", "workloads"),
    "vcpus": ("vCPU", "vCPUs"),
    "memory_gib": ("GiB of memory", "GiB of memory"),
    "storage_gib": ("GiB of storage", "GiB of storage"),
    "accelerators": ("GPU", "GPUs"),
}


def shortfalls(lines: Mapping[str, QuotaLine], asked: Mapping[str, int], *, project: str) -> tuple[Reason, ...]:
    """One reason per resource where used + asked passes the limit; a resource without a line is not limited."""
    return tuple(
        _reason(lines[resource], amount, project)
        for resource, amount in sorted(asked.items())
        if amount > 0 and resource in lines and lines[resource].used + amount > lines[resource].limit
    )


def unit_of(resource: str, amount: int) -> str:
    """The word for an amount of a resource: "GPUs", "H100 GPU", "GiB of storage"."""
    base, _, model = resource.partition("/")
    singular, plural = _UNITS.get(base, (base, base))
    word = singular if amount == 1 else plural
    return f"{model} {word}" if model else word


def _reason(line: QuotaLine, asked: int, project: str) -> Reason:
    over = line.used + asked - line.limit
    unit = unit_of(line.resource, over)
    return Reason(
        code="over_quota",
        message=f"{over} {unit} over ({line.used} used + {asked} asked > {line.limit}).",
        resource=line.resource,
        asked=asked,
        used=line.used,
        limit=line.limit,
        ask=f"an owner of the organisation, who sets the quotas of {project}",
    )

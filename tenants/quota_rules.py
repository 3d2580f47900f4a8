"""The arithmetic of quotas."""

from __future__ import annotations

from collections.abc import Mapping

from core.types import Reason
from tenants.types import QuotaLine


def shortfalls(lines: Mapping[str, QuotaLine], asked: Mapping[str, int], *, project: str) -> tuple[Reason, ...]:
    """One reason per resource where used + asked passes the limit; a resource without a line is not limited."""
    found = (lines[name].shortfall(amount, project=project) for name, amount in sorted(asked.items()) if name in lines)
    return tuple(reason for reason in found if reason is not None)

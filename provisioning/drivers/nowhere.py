"""The driver of a cluster that was removed: what was there is gone for us, and what should start there fails."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from provisioning.drivers.base import (
    ActivityReading,
    Endpoint,
    Observation,
    Phase,
    ProbeFailed,
    Reason,
    RunSpec,
)

_REMOVED: Final = Reason("cluster_removed", "Its cluster was removed from the fleet.")


class Nowhere:
    """Answers at once and calls nobody, so that what is left in the books can be ended and deleted."""

    def observe(self, _: RunSpec) -> Observation:
        return Observation(Phase.FAILED, reason=_REMOVED)

    def ensure_present(self, spec: RunSpec) -> Observation:
        return self.observe(spec)

    def ensure_stopped(self, _: RunSpec) -> Observation:
        return Observation(Phase.ABSENT)

    def ensure_absent(self, _: RunSpec) -> Observation:
        return Observation(Phase.ABSENT)

    def endpoint_of(self, _: RunSpec) -> Endpoint | None:
        return None

    def logs(self, _: RunSpec, *, tail: int) -> tuple[str, ...]:
        return ()

    def activity(self, _: RunSpec, *, now: datetime) -> ActivityReading:
        raise ProbeFailed(_REMOVED.message)

    def ensure_volume_absent(self, *, project_id: UUID, volume_id: UUID) -> None:
        """It went with the cluster."""

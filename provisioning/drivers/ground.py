"""What a driver tells of the ground on which a cluster's projects stand. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable
from uuid import UUID

from core.types import Json
from provisioning.enums import Drifted


@dataclass(frozen=True, slots=True)
class Drift:
    """A thing of the ground that somebody has changed or removed, or added beside it.

    What was changed or missing was put right; what is foreign is left alone, and opens what is closed. `by`: who wrote
    to it last beside us, as the cluster knows them; empty where it does not.
    """

    project_id: UUID
    thing: str
    how: Drifted
    by: str = ""

    def as_json(self) -> Json:
        return {"project": str(self.project_id), "thing": self.thing, "how": self.how.value, "by": self.by}


@dataclass(frozen=True, slots=True)
class GroundProof:
    """All namespaces of projects were looked at, `namespaces` many. What was wanting is there again; what is foreign is
    as it was. `renewed`: how many were brought to what is wanted now."""

    namespaces: int
    drifts: tuple[Drift, ...] = ()
    renewed: int = 0


@runtime_checkable
class KeepsGround(Protocol):
    def keep_ground(self) -> GroundProof:
        """Compare every project's namespace with what is wanted, field by field, and put it right. Half a look is none:
        DriverUnavailable."""
        ...

"""What drivers say of jobs alone: the tasks of an array, what a job is told, what it leaves. Pure."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from provisioning.drivers.base import RunSpec


@dataclass(frozen=True, slots=True)
class ArrayRun:
    """One run of an array's tasks. `tasks`: those that it runs, by index, in order; of `count` that there are.

    `retries`: how often each is tried again, unless it ends with one of `fatal_codes`. `taken`: those whose end, and
    what they said, somebody has on record: a run is over when that is so of every task that has ended.
    """

    tasks: tuple[int, ...]
    count: int
    sweep: tuple[tuple[str, tuple[str, ...]], ...] = ()
    retries: int = 0
    fatal_codes: tuple[int, ...] = ()
    stops_at_failure: bool = False
    taken: frozenset[int] = frozenset()


ARTIFACTS: Final = "artifacts"
CHECKPOINTS: Final = "checkpoints"
"""Folders below a job's home: what it leaves for people, and what it goes on from."""


def folders_of(home: str) -> dict[str, str]:
    """How a job is told of them. It makes what it needs."""
    return {"STEELYARD_ARTIFACTS": f"{home}/{ARTIFACTS}", "STEELYARD_CHECKPOINT_DIR": f"{home}/{CHECKPOINTS}"}


def lives_of(spec: RunSpec) -> dict[str, str]:
    """How a job is told how often it has begun, and how often it was interrupted."""
    return {"STEELYARD_ATTEMPT": str(spec.attempt), "STEELYARD_INTERRUPTIONS": str(spec.interruptions)}


ALONE: Final = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
    "PET_NNODES": "1",
    "PET_NODE_RANK": "0",
    "PET_MASTER_ADDR": "127.0.0.1",
    "PET_MASTER_PORT": "29500",
}
"""What torch.distributed and torchrun read, of a task that is its own only worker."""


class ArtifactMissing(Exception):
    """There is no such file, or it is none that may be read."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file below the folder for artefacts. `path`: with slashes, relative to it."""

    path: str
    size: int
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class Artifacts:
    files: tuple[Artifact, ...]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class ArtifactRead:
    """An open file; whoever has it takes its pieces to the end, or closes them."""

    size: int
    pieces: Generator[bytes]

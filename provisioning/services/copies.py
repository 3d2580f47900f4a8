"""What backup and restore must know of runs on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from provisioning.drivers.local import copies
from provisioning.drivers.local.config import LocalConfig

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def runs_as_of(at: datetime, *, state: Path) -> dict[str, dict[str, object]]:
    """By workload: what a copy taken at that instant says of its last run. It has ended, with the platform."""
    return copies.runs_as_of((at - _EPOCH) // timedelta(microseconds=1), LocalConfig(state_dir=state, images={}))


def lay_runs(runs: Mapping[str, Mapping[str, object]], *, state: Path) -> None:
    """Raises ValueError, TypeError, KeyError or OSError for what no backup has written."""
    copies.lay(runs, LocalConfig(state_dir=state, images={}))

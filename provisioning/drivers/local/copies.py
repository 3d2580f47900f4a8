"""What a copy of an installation says of its runs: that each ended when the copy was taken.

The original lives on. Its processes are never the copy's, even on the same machine: nothing here names one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from uuid import UUID

from provisioning.drivers.local import places, record
from provisioning.drivers.local.config import LocalConfig
from provisioning.drivers.local.record import Record

CODE, MESSAGE = "platform_stopped", "It ended with the platform whose copy this is."


def runs_as_of(at_us: int, config: LocalConfig) -> dict[str, dict[str, object]]:
    """By workload: the record of its last run as a copy of that instant must have it."""
    if not places.are_ours(config):
        return {}
    found = {entry.name: record.read(str(entry)) for entry in config.run_dir.iterdir()}
    return {name: asdict(_copied(known, at_us)) for name, known in sorted(found.items()) if known is not None}


def lay(runs: Mapping[str, Mapping[str, object]], config: LocalConfig) -> None:
    """Into a new installation, before anything of it runs."""
    if not runs:
        return
    config.run_dir.mkdir(mode=0o700, exist_ok=True)
    for name, content in runs.items():
        folder = config.run_dir / UUID(hex=name).hex
        folder.mkdir(mode=0o700)
        (folder / record.RECORD).write_text(json.dumps(content))
        if record.read(str(folder)) is None:
            raise ValueError(name)


def _copied(known: Record, at_us: int) -> Record:
    bare = replace(known, keeper_pid=None, keeper_ticks=None, child_pid=None, cgroups=(), boot="")
    if known.ended and (known.ended_at is None or known.ended_at <= at_us):
        return bare
    return record.ended(replace(bare, acknowledged=False), phase=record.STOPPED, at=at_us, code=CODE, message=MESSAGE)

"""Processes that outlived their keeper: found by environment and control group, and ended."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from uuid import UUID

from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.local import limits, places, procfs, record
from provisioning.drivers.local.launch import INSTALLATION_MARKER, MARKER
from provisioning.drivers.local.places import Places
from provisioning.drivers.local.procfs import Process
from provisioning.drivers.local.record import Record

END_S = 3.0


def marked(installation: str) -> dict[UUID, list[Process]]:
    """The living processes of this installation's workloads."""
    found: dict[UUID, list[Process]] = defaultdict(list)
    for each in procfs.marked_with(f"{INSTALLATION_MARKER}={installation}"):
        name = procfs.value_in_environment(each.pid, MARKER)
        try:
            found[UUID(name or "")].append(each)
        except ValueError:
            continue  # a workload's own process has changed its environment
    return dict(found)


def end(workload_id: UUID, cgroups: tuple[str, ...], installation: str) -> bool:
    """End every process of the workload; True where there was one.

    Raises `DriverUnavailable` while one resists (uninterruptible sleep): it still holds capacity.
    """
    ended_some = False
    while found := _left(workload_id, cgroups, installation):
        ended_some = True
        if procfs.kill_and_wait(found, seconds=END_S):
            raise DriverUnavailable("a process of the workload does not end")
    return ended_some


def settle(workload_id: UUID, known: Record, placed: Places, installation: str) -> Record:
    """The end of a run whose keeper did not record it.

    Where processes were found alive, the end is the instant at which the last one went; else it is
    the keeper's last heartbeat, the last certain observation. Where whoever started it was killed
    before a keeper lived, nothing has begun: there is nothing to answer for, and it may start.
    """
    last_certain = record.last_beat(str(placed.run)) or record.now_us()
    rebooted = known.boot != procfs.boot_id()
    if not rebooted and end(workload_id, known.cgroups, installation):
        last_certain = record.now_us()
    if not rebooted:
        limits.remove(known.cgroups)
    places.clear_scratch(placed)
    code, message = _verdict(known, rebooted=rebooted)
    settled = record.ended(known, phase=record.STOPPED, at=last_certain, code=code, message=message)
    return replace(settled, acknowledged=known.started_at is None)


def _verdict(known: Record, *, rebooted: bool) -> tuple[str, str]:
    if rebooted:
        return "machine_restarted", "The machine was restarted."
    if known.started_at is None:
        return "start_interrupted", "Its start was interrupted."
    return "interrupted", "The process that kept the server was killed."


def _left(workload_id: UUID, cgroups: tuple[str, ...], installation: str) -> list[Process]:
    markers = (f"{MARKER}={workload_id}", f"{INSTALLATION_MARKER}={installation}")
    found = {each.pid: each for each in procfs.marked_with(*markers)}
    for pid in limits.members(cgroups):
        if (living := procfs.process(pid)) is not None:
            found[pid] = living
    return list(found.values())

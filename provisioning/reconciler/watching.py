"""Listens to every cluster of the fleet, and wakes what should look before its time. It changes no state.

Two threads a cluster hold watches open and put hints into a queue; the one who called turns hints into looks, many of a
moment into one. A watch that breaks is opened again, later each time; what it missed is found by the periodic sweeps.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import structlog
from django.db import close_old_connections

from core import scope
from core.encryption import Undecipherable
from provisioning.drivers.base import DriverUnavailable, Hint, TellsChanges, Watch
from provisioning.drivers.places import Place
from provisioning.reconciler.loop import Clock, Drivers
from provisioning.selectors.clusters import fleet
from provisioning.selectors.specs import place_of
from provisioning.services import hints

log = structlog.get_logger(__name__)

FLEET_EVERY_S: Final = 5.0
MOMENT_S: Final = 0.25
NODES_EVERY_S: Final = 1.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
Heard = tuple[UUID, Hint]


@dataclass(slots=True)
class Listening:
    """To one cluster, as it is reached now."""

    place: Place
    stopped: threading.Event = field(default_factory=threading.Event)


@dataclass
class Watchman:
    """`look_at_nodes` and `look_at_runs` are called in the caller's thread."""

    drivers: Drivers
    clock: Clock
    look_at_nodes: Callable[[UUID], object] = hints.look_at_nodes
    look_at_runs: Callable[[Collection[Hint], Clock], object] = hints.look_at_runs
    heard: queue.SimpleQueue[Heard] = field(default_factory=queue.SimpleQueue)
    listening: dict[UUID, Listening] = field(default_factory=dict)
    nodes_due: dict[UUID, float] = field(default_factory=dict)
    nodes_at: dict[UUID, float] = field(default_factory=dict)

    def run(self, stopped: threading.Event) -> None:
        """Until told to stop. Whatever fails is tried again: hints are worth no crash."""
        due = 0.0
        while not stopped.is_set():
            try:
                if time.monotonic() >= due:
                    close_old_connections()
                    self.attend()
                    due = time.monotonic() + FLEET_EVERY_S
                self.turn()
            except Exception:
                log.exception("watching_failed")
                stopped.wait(1.0)
        self.leave(list(self.listening))

    def attend(self) -> None:
        """Listen to each cluster of the fleet, anew where it is reached otherwise; to no other."""
        places = dict(_places())
        self.leave([key for key, one in self.listening.items() if places.get(key) != one.place])
        for cluster_id, place in places.items():
            if cluster_id not in self.listening:
                self.listening[cluster_id] = self._listen(cluster_id, place)

    def leave(self, cluster_ids: Iterable[UUID]) -> None:
        for cluster_id in cluster_ids:
            self.listening.pop(cluster_id).stopped.set()

    def turn(self) -> None:
        """Take what is heard within a moment and look, at each thing once."""
        heard = self._of_a_moment()
        runs = {hint for _, hint in heard if hint.workload_id is not None}
        now = time.monotonic()
        for cluster_id in {cluster_id for cluster_id, hint in heard if hint.workload_id is None}:
            self.nodes_due.setdefault(cluster_id, max(now, self.nodes_at.get(cluster_id, 0.0) + NODES_EVERY_S))
        for cluster_id in [key for key, due in self.nodes_due.items() if due <= now]:
            self.nodes_at[cluster_id] = now
            del self.nodes_due[cluster_id]
            self.look_at_nodes(cluster_id)
        if runs:
            self.look_at_runs(runs, self.clock)

    def _of_a_moment(self) -> set[Heard]:
        end, found = time.monotonic() + MOMENT_S, set[Heard]()
        while (left := end - time.monotonic()) > 0:
            try:
                found.add(self.heard.get(timeout=left))
            except queue.Empty:
                break
        return found

    def _listen(self, cluster_id: UUID, place: Place) -> Listening:
        made = Listening(place)
        try:
            driver = self.drivers(place)
        except DriverUnavailable as error:
            log.warning("no_watch", cluster=str(cluster_id), error=str(error))
            return made
        for watch in driver.watches() if isinstance(driver, TellsChanges) else ():
            words = (watch, cluster_id, self.heard, made.stopped)
            threading.Thread(target=follow, args=words, name=f"watch-{watch.name}", daemon=True).start()
        return made


def follow(watch: Watch, cluster_id: UUID, heard: queue.SimpleQueue[Heard], stopped: threading.Event) -> None:
    """One watch, session after session; a pause between them that grows while they break."""
    pause = FIRST_PAUSE_S
    while not stopped.is_set():
        try:
            for hint in watch.hints():
                pause = FIRST_PAUSE_S
                if stopped.is_set():
                    return
                heard.put((cluster_id, hint))
            pause = FIRST_PAUSE_S
        except DriverUnavailable as error:
            log.warning("watch_broken", cluster=str(cluster_id), watch=watch.name, error=str(error), again_in=pause)
        except Exception:
            log.exception("watch_failed", cluster=str(cluster_id), watch=watch.name)
        stopped.wait(pause)
        pause = min(pause * 2, LONGEST_PAUSE_S)


def _places() -> Iterable[tuple[UUID, Place]]:
    with scope.of_platform():
        for cluster in fleet():
            try:
                yield cluster.pk, place_of(cluster)
            except Undecipherable:
                log.warning("no_watch", cluster=cluster.slug, error="its credentials cannot be decrypted")

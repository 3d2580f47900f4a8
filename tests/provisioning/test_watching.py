"""Hints wake who would look later, once, and nobody else; a watch that breaks is opened again, later each time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest

from provisioning.drivers.base import DriverUnavailable, Hint
from provisioning.reconciler import watching
from provisioning.reconciler.watching import Watchman, follow
from provisioning.services import hints
from tests.fleet import SERVER, registered
from tests.provisioning import stage

LAB, OTHER = uuid4(), uuid4()
RUN = Hint(uuid4(), uuid4())


@dataclass
class Told:
    """A watch, session by session; the last one tells its listener to stop."""

    sessions: list[list[Hint] | Exception]
    stopped: threading.Event
    name: str = "nodes"

    def hints(self) -> Iterator[Hint]:
        session = self.sessions.pop(0)
        if not self.sessions:
            self.stopped.set()
        if isinstance(session, Exception):
            raise session
        yield from session


@dataclass
class Pauses(threading.Event):
    waited: list[float] = field(default_factory=list)

    def __post_init__(self):
        super().__init__()

    def wait(self, timeout=None):
        self.waited.append(timeout)
        return self.is_set()


class TestFollow:
    def test_a_watch_that_breaks_is_opened_again_later_each_time(self):
        stopped = Pauses()
        heard: queue.SimpleQueue[tuple[UUID, Hint]] = queue.SimpleQueue()
        away = DriverUnavailable("away")
        sessions: list[list[Hint] | Exception] = [away, away, [Hint()], ValueError("odd"), *[away] * 7, [Hint()]]

        follow(Told(sessions, stopped), LAB, heard, stopped)

        assert stopped.waited == [0.5, 1.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
        assert heard.get_nowait() == (LAB, Hint())


@dataclass
class Seen:
    nodes: list[object] = field(default_factory=list)
    runs: list[object] = field(default_factory=list)


class TestTurn:
    def watchman(self, seen):
        return Watchman(
            drivers=lambda _: stage.Machine(stage.Clock()),
            clock=stage.Clock(),
            look_at_nodes=seen.nodes.append,
            look_at_runs=lambda told, _: seen.runs.append(set(told)),
        )

    def test_many_hints_of_a_moment_are_one_look_at_each(self, monkeypatch):
        monkeypatch.setattr(watching, "MOMENT_S", 0.02)
        seen = Seen()
        watchman = self.watchman(seen)
        for heard in [(LAB, Hint()), (LAB, RUN), (LAB, Hint()), (OTHER, Hint()), (LAB, RUN)]:
            watchman.heard.put(heard)

        watchman.turn()

        assert (set(seen.nodes), len(seen.nodes), seen.runs) == ({LAB, OTHER}, 2, [{RUN}])

    def test_nodes_are_listed_once_a_second_at_most_and_none_is_forgotten(self, monkeypatch):
        monkeypatch.setattr(watching, "MOMENT_S", 0.02)
        monkeypatch.setattr(watching, "NODES_EVERY_S", 0.05)
        seen = Seen()
        watchman = self.watchman(seen)
        for _ in range(2):
            watchman.heard.put((LAB, Hint()))
            watchman.turn()
        assert seen.nodes == [LAB]

        for _ in range(4):
            watchman.turn()

        assert seen.nodes == [LAB, LAB]

    @pytest.mark.django_db
    def test_it_listens_to_the_fleet_and_anew_where_a_cluster_is_reached_otherwise(self):
        cluster = registered()
        watchman = self.watchman(Seen())
        watchman.attend()
        first = watchman.listening[cluster.pk]
        watchman.attend()
        assert watchman.listening[cluster.pk] is first

        cluster.access.storage_classes = {"standard": "other"}
        cluster.access.connection = SERVER
        cluster.access.save()
        watchman.attend()

        assert first.stopped.is_set()
        assert not watchman.listening[cluster.pk].stopped.is_set()


@pytest.mark.django_db
class TestLookSoon:
    def test_what_would_be_looked_at_later_is_due_now_and_what_rests_rests(
        self, aurora, borealis, shop, clock, machine
    ):
        running = stage.settle(aurora, stage.launch(aurora, shape="cpu-4"), machine, clock)
        stage.turn(aurora, running, machine, clock)
        running = stage.fresh(aurora, running)
        strange = Hint(borealis.organization.pk, running.pk)

        hints.look_at_runs({strange, Hint(aurora.organization.pk, uuid4())}, clock)
        assert stage.fresh(aurora, running).due_at > clock.now

        hints.look_at_runs({Hint(aurora.organization.pk, running.pk)}, clock)

        woken = stage.fresh(aurora, running)
        assert (woken.due_at, woken.version) == (clock.now, running.version)

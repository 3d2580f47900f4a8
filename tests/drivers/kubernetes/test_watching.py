"""What follows from what a watch says, as a table; and how a session goes on where the last one ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

import pytest

from provisioning.drivers.base import DriverUnavailable, Hint
from provisioning.drivers.kubernetes.client import Api, Refused
from provisioning.drivers.kubernetes.names import ORGANIZATION, WORKLOAD
from provisioning.drivers.kubernetes.reading import Json
from provisioning.drivers.kubernetes.watching import (
    ApiWatch,
    Ear,
    Expired,
    hint_of_node,
    hint_of_pod,
    look_of_node,
    look_of_pod,
)

WHO, WHAT = UUID(int=1), UUID(int=2)
RUN = Hint(WHO, WHAT)


def node(version: str = "1", *, ready: str = "True", beat: str = "12:00", **spec: object) -> Json:
    conditions = [{"type": "Ready", "status": ready, "lastHeartbeatTime": beat}]
    status = {"allocatable": {"nvidia.com/gpu": "8"}, "conditions": conditions}
    return {"metadata": {"uid": "n", "resourceVersion": version}, "spec": spec, "status": status}


def pod(version: str = "1", *, phase: str = "Running", labels: dict[str, str] | None = None) -> Json:
    ours = {ORGANIZATION: str(WHO), WORKLOAD: str(WHAT)} if labels is None else labels
    return {
        "metadata": {"uid": "p", "resourceVersion": version, "labels": ours},
        "status": {"phase": phase, "message": version},
    }


def told(kind: str, thing: Json) -> Json:
    return {"type": kind, "object": thing}


def ear_of(kind: str) -> Ear:
    return Ear(look_of_node, hint_of_node) if kind == "node" else Ear(look_of_pod, hint_of_pod)


N, P = Hint(), RUN


@pytest.mark.parametrize(
    ("kind", "events", "hints"),
    [
        ("node", [("ADDED", node())], [N]),
        ("node", [("ADDED", node()), ("ADDED", node())], [N, None]),
        ("node", [("ADDED", node()), ("MODIFIED", node("2", beat="12:05"))], [N, None]),
        ("node", [("ADDED", node()), ("MODIFIED", node("2", unschedulable=True))], [N, N]),
        ("node", [("MODIFIED", node("2", ready="False")), ("MODIFIED", node("1"))], [N, N]),
        ("node", [("MODIFIED", node("2"))], [N]),
        ("node", [("ADDED", node()), ("DELETED", node("2")), ("DELETED", node("2"))], [N, N, N]),
        ("node", [("DELETED", node()), ("ADDED", node("2"))], [N, N]),
        ("node", [("BOOKMARK", {"metadata": {"resourceVersion": "9"}}), ("WHATEVER", node())], [None, None]),
        ("pod", [("ADDED", pod()), ("MODIFIED", pod("2"))], [P, None]),
        ("pod", [("ADDED", pod()), ("MODIFIED", pod("2", phase="Failed"))], [P, P]),
        ("pod", [("ADDED", pod(labels={})), ("ADDED", pod(labels={WORKLOAD: "x"}))], [None, None]),
        ("pod", [("DELETED", pod())], [P]),
    ],
    ids=[
        "first",
        "twice",
        "heartbeat",
        "cordoned",
        "out of order",
        "its beginning was missed",
        "gone, and told twice",
        "gone before it came",
        "no change of a thing",
        "a pod's message",
        "a pod that died",
        "not ours",
        "a pod that is gone",
    ],
)
def test_what_is_news(kind: str, events: list[tuple[str, Json]], hints: list[Hint | None]) -> None:
    ear = ear_of(kind)

    assert [ear.hear(told(*event)) for event in events] == hints


def test_an_error_is_no_news() -> None:
    with pytest.raises(Expired):
        ear_of("node").hear(told("ERROR", {"code": 410}))
    with pytest.raises(DriverUnavailable, match="too many requests"):
        ear_of("node").hear(told("ERROR", {"code": 429, "message": "too many requests"}))


@dataclass
class Server:
    """Says of each session what it is told to; an exception in it breaks the session."""

    sessions: list[list[Json | Exception]]
    asked: list[str] = field(default_factory=list)

    def get(self, _: str, **__: str) -> Json:
        return {"metadata": {"resourceVersion": "7"}}

    def events(self, _: str, *, silent_s: float, **query: str) -> Iterator[Json]:
        self.asked.append(query["resourceVersion"])
        for each in self.sessions.pop(0):
            if isinstance(each, Exception):
                raise each
            yield each


def watch(server: Server) -> ApiWatch:
    return ApiWatch("nodes", cast(Api, server), "/api/v1/nodes", {}, ear_of("node"), first=(N,))


class TestSessions:
    def test_the_next_goes_on_where_the_last_one_ended(self) -> None:
        server = Server([[told("ADDED", node("8"))], [told("MODIFIED", node("9", ready="False"))], []])
        one = watch(server)

        assert [list(one.hints()) for _ in range(3)] == [[N, N], [N], []]
        assert server.asked == ["7", "8", "9"]

    @pytest.mark.parametrize("end", [told("ERROR", {"code": 410}), Refused(410, "Expired", "too old")], ids=str)
    def test_one_that_is_too_old_begins_anew_and_looks_at_all(self, end: Json | Exception) -> None:
        server = Server([[told("ADDED", node("8"))], [end], []])
        one = watch(server)

        assert [list(one.hints()) for _ in range(3)] == [[N, N], [], [N]]
        assert server.asked == ["7", "8", "7"]

    def test_one_that_breaks_is_told_and_goes_on_from_there(self) -> None:
        server = Server([[told("ADDED", node("8")), DriverUnavailable("away")], []])
        one = watch(server)

        with pytest.raises(DriverUnavailable):
            list(one.hints())

        assert list(one.hints()) == []
        assert server.asked == ["7", "8"]

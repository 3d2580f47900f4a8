"""Logs in pieces, as nodes keep them."""

from __future__ import annotations

from typing import cast

from provisioning.drivers.kubernetes import logs
from provisioning.drivers.kubernetes.client import Api, Refused
from provisioning.drivers.kubernetes.reading import Json

POD: Json = {"metadata": {"name": "pod-0", "namespace": "ns", "uid": "uid-1"}}
OTHER: Json = {"metadata": {"name": "pod-0", "namespace": "ns", "uid": "uid-2"}}


class Node:
    """Keeps lines with their instants, and gives those since a second, as a kubelet does."""

    def __init__(self, *said: str) -> None:
        self.said = list(said)
        self.silent = False

    def text(self, path: str, query: dict[str, str], **_: object) -> str:
        if self.silent:
            raise Refused(400, "BadRequest", "container is waiting to start")
        since = query.get("sinceTime", "")[:19]
        return "".join(line for line in self.said if line[:19] >= since)


def at(nanoseconds: int, content: str) -> str:
    return f"2026-12-01T12:00:00.{nanoseconds:09}Z {content}\n"


def piece(node: Node, mark: str, pod: Json = POD, *, whole: bool = True) -> tuple[tuple[str, ...], str]:
    found = logs.after(cast("Api", node), pod, mark, whole=whole)
    return found.lines, found.mark


class TestPieces:
    def test_each_line_comes_once_though_the_node_knows_seconds_alone(self) -> None:
        node = Node(at(1, "one"), at(1, "two"), at(2, "three"))
        first, mark = piece(node, "")
        node.said += [at(2, "four"), at(3, "five")]

        then, mark = piece(node, mark)

        assert (first, then) == (("one", "two", "three"), ("four", "five"))
        assert piece(node, mark)[0] == ()

    def test_a_line_under_way_waits(self) -> None:
        node = Node(at(1, "one"), at(2, "tw").rstrip("\n"))
        first, mark = piece(node, "")
        node.said[-1] = at(2, "two")

        assert first == ("one",)
        assert piece(node, mark)[0] == ("two",)
        assert piece(Node(at(1, "on").rstrip("\n")), "", whole=False)[0] == ("on",)

    def test_another_pod_begins_anew(self) -> None:
        node = Node(at(1, "one"))
        _, mark = piece(node, "")

        assert piece(node, mark, OTHER)[0] == ("one",)

    def test_a_container_that_waits_says_nothing(self) -> None:
        node = Node(at(1, "one"))
        node.silent = True

        assert piece(node, "")[0] == ()

    def test_no_control_characters_pass(self) -> None:
        assert piece(Node(at(1, "a\x1b[31mb\tc")), "")[0] == ("a[31mb\tc",)

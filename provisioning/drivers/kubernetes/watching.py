"""Watches on a cluster's nodes and on our pods there. What is heard is a hint and no more: lists say how it is.

Each remembers how things looked when it last heard of them, so that a heartbeat or a repeated event is no news. What is
missed, doubled or out of order leads to one look more or less, never to another state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from provisioning.drivers.base import DriverUnavailable, Hint, Watch
from provisioning.drivers.kubernetes.client import Api, Refused
from provisioning.drivers.kubernetes.names import CLUSTER, MANAGED_BY, ORGANIZATION, WORKLOAD
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.reading import Json, at, labels_of, number, part, rows, text

SESSION_S: Final = 300
SILENT_S: Final = 330.0
"""A session ends by itself; bookmarks come about once a minute. What says nothing for longer is dead."""
NODES: Final = "/api/v1/nodes"
_CHANGES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})


class Expired(Exception):
    """The server no longer knows what came after the version that we had."""


@dataclass(slots=True)
class Ear:
    """What was heard last: up to which version, and how each thing looked, by uid."""

    look: Callable[[Json], object]
    hint: Callable[[Json], Hint | None]
    version: str = ""
    looks: dict[str, bytes] = field(default_factory=dict)

    def hear(self, event: Json) -> Hint | None:
        """What follows from one event. Raises Expired, and DriverUnavailable for another error of the server."""
        kind, thing = text(event, "type"), part(event, "object")
        if kind == "ERROR":
            if number(thing, "code") == 410:
                raise Expired
            raise DriverUnavailable(f"The watch broke off: {text(thing, 'message') or 'no reason given'}")
        self.version = text(thing, "metadata", "resourceVersion") or self.version
        if kind not in _CHANGES:
            return None
        uid = text(thing, "metadata", "uid")
        if kind == "DELETED":
            self.looks.pop(uid, None)
            return self.hint(thing)
        looks = _digest(self.look(thing))
        if self.looks.get(uid) == looks:
            return None
        self.looks[uid] = looks
        return self.hint(thing)

    def forget(self) -> None:
        self.version, self.looks = "", {}


@dataclass(slots=True)
class ApiWatch:
    """`first`: what a session says that does not know what it missed."""

    name: str
    api: Api
    path: str
    query: dict[str, str]
    ear: Ear
    first: tuple[Hint, ...] = ()

    def hints(self) -> Iterator[Hint]:
        if not self.ear.version:
            self.ear.version = self._version()
            yield from self.first
        asked = {"resourceVersion": self.ear.version, "allowWatchBookmarks": "true", "timeoutSeconds": str(SESSION_S)}
        try:
            for event in self.api.events(self.path, silent_s=SILENT_S, **self.query, **asked):
                if (hint := self.ear.hear(event)) is not None:
                    yield hint
        except Expired:
            self.ear.forget()
        except Refused as refused:
            if refused.status != 410:
                raise DriverUnavailable(f"The watch is refused: {refused.message}") from refused
            self.ear.forget()

    def _version(self) -> str:
        """Of a list as it is now, of which one item is enough."""
        try:
            listed = self.api.get(self.path, limit="1", **self.query)
        except Refused as refused:
            raise DriverUnavailable(f"The list is refused: {refused.message}") from refused
        if not (version := text(listed, "metadata", "resourceVersion")):
            raise DriverUnavailable("The API server does not say how new its list is.")
        return version


def watches_of(api: Api, cluster_id: UUID | None) -> tuple[Watch, ...]:
    ours = {"labelSelector": f"{MANAGED_BY}=steelyard,{CLUSTER}={cluster_id or ''},{WORKLOAD}"}
    return (
        ApiWatch("nodes", api, NODES, {}, Ear(look_of_node, hint_of_node), first=(Hint(),)),
        ApiWatch("pods", api, path("Pod"), ours, Ear(look_of_pod, hint_of_pod)),
    )


def look_of_node(node: Json) -> object:
    """What the inventory reads of it. Heartbeats are left out."""
    status = part(node, "status")
    conditions = [(text(row, "type"), text(row, "status")) for row in rows(status, "conditions")]
    spec = [at(node, "spec", "unschedulable"), at(node, "spec", "taints")]
    return [spec, labels_of(node), at(status, "capacity"), at(status, "allocatable"), sorted(conditions)]


def look_of_pod(pod: Json) -> object:
    """What the driver reads of it."""
    status = part(pod, "status")
    containers = [
        (text(row, "name"), row.get("ready"), number(row, "restartCount"), sorted(part(row, "state")))
        for row in rows(status, "containerStatuses")
    ]
    conditions = [(text(row, "type"), text(row, "status")) for row in rows(status, "conditions")]
    ending = bool(text(pod, "metadata", "deletionTimestamp"))
    return [ending, text(pod, "spec", "nodeName"), text(status, "phase"), sorted(conditions), containers]


def hint_of_node(_: Json) -> Hint:
    return Hint()


def hint_of_pod(pod: Json) -> Hint | None:
    """None where the labels are not ours."""
    labels = labels_of(pod)
    try:
        return Hint(UUID(text(labels, ORGANIZATION)), UUID(text(labels, WORKLOAD)))
    except ValueError:
        return None


def _digest(look: object) -> bytes:
    return hashlib.blake2b(json.dumps(look, sort_keys=True, default=str).encode(), digest_size=16).digest()

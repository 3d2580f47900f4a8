"""What the driver asks of a keeper, as it travels between them. Standard library only.

It goes through an anonymous file, never through arguments or a named file: it holds the
workload's environment.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from provisioning.drivers.local.limits import Limits
from provisioning.drivers.local.record import Record
from provisioning.drivers.local.view import View

NAMESPACE, UID, BUBBLEWRAP, NONE = "namespace", "uid", "bubblewrap", "none"


@dataclass(frozen=True, slots=True)
class Order:
    """`socket` is where the server will listen, `uid` None where we cannot change it."""

    directory: str
    group: str
    record: Record
    kind: str
    command: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    socket: str
    uid: int | None
    view: View
    limits: Limits
    grace_s: float
    farewell_s: float
    heartbeat_s: float
    log_bytes: int
    lock: int


def dump(order: Order) -> bytes:
    return json.dumps(asdict(order)).encode()


def load(text: bytes) -> Order:
    content = json.loads(text)
    record, view = content.pop("record"), content.pop("view")
    record["cgroups"] = tuple(record["cgroups"])
    for name in ("readable", "hidden"):
        view[name] = tuple(view[name])
    for name in ("writable", "files"):
        view[name] = tuple((outside, inside) for outside, inside in view[name])
    content["command"] = tuple(content["command"])
    limits = Limits(**content.pop("limits"))
    return Order(record=Record(**record), view=View(**view), limits=limits, **content)

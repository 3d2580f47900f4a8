"""An act on the API, as a scenario says it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.house import Tenant


@dataclass(frozen=True)
class Act:
    """`platform`: its event stands in the platform's chain."""

    person: str
    body: object = None
    ids: dict[str, object] = field(default_factory=dict)
    platform: bool = False


Scenario = Callable[[Tenant], Act]

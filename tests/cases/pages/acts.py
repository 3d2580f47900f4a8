"""An act on a page, and the house in which it happens."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from provisioning.services import wishes
from tests.house import Tenant
from tests.provisioning import stage


@dataclass(frozen=True)
class Act:
    """What a person sends to a page, and the object that the event must name."""

    person: str
    ids: dict[str, object] = field(default_factory=dict)
    form: dict[str, object] = field(default_factory=dict)
    changes: bool = False
    session: dict[str, object] = field(default_factory=dict)
    behalf: UUID | None = None
    founds: bool = False


@dataclass
class Stage:
    tenant: Tenant
    clock: stage.Clock
    machine: stage.Machine
    records: dict[str, str] = field(default_factory=dict)

    def running(self):
        workload = stage.launch(self.tenant, shape="cpu-4", now=self.clock.now)
        return stage.settle(self.tenant, workload, self.machine, self.clock, seconds=3)

    def hanging(self):
        workload = self.running()
        stage.wish(self.tenant, "alice", wishes.delete, workload, self.clock.now)
        return workload

    def stopped(self):
        workload = self.running()
        stage.wish(self.tenant, "alice", wishes.stop, workload, self.clock.now)
        return stage.settle(self.tenant, workload, self.machine, self.clock, seconds=3)


def rule_form(**more: object) -> dict[str, object]:
    return {"kind": "accelerators", "title": "No accelerators", "models": [], **more}

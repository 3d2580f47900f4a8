"""Whole lives on a cluster: state, quota and bill follow what the cluster did, to the second."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from billing.models import UsageSession
from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes.objects import path_of
from provisioning.drivers.kubernetes.reading import name_of
from provisioning.enums import State
from provisioning.models import Workload
from provisioning.reconciler import reconcile
from provisioning.selectors.specs import spec_of
from provisioning.services import wishes
from tenants.models import QuotaHold
from tests.drivers.rig import until
from tests.house import Tenant
from tests.kube.rig import KubeRig
from tests.provisioning import stage
from tests.provisioning.stage import launch, why, wish

pytestmark = [pytest.mark.django_db]


@dataclass
class Life:
    """One workload of Aurora's, reconciled as the platform does, by this machine's clock and a leap."""

    tenant: Tenant
    rig: KubeRig
    workload: Workload
    leap: timedelta = timedelta(0)

    def now(self) -> datetime:
        return timezone.now() + self.leap

    @property
    def spec(self) -> RunSpec:
        return spec_of(self.row())

    def row(self) -> Workload:
        with self.tenant.scope():
            rows = Workload.objects.select_related("image", "volume", "cluster", "shape__accelerator", "shape__region")
            return rows.get(pk=self.workload.pk)

    def turned(self) -> Workload:
        reconcile(
            organization_id=self.tenant.organization.pk,
            workload_id=self.workload.pk,
            drivers=lambda _: self.rig.driver,
            clock=self.now,
        )
        return self.row()

    def moment_later(self) -> Workload:
        """The clock leaps over pauses: a start takes the cluster's own time, and must not come too late by it."""
        if self.row().state != State.PROVISIONING:
            self.leap += timedelta(seconds=2)
        return self.turned()

    def until(self, state: State, *, reason: str = "") -> Workload:
        return until(self.turned, lambda row: row.state == state and (not reason or why(row) == reason), seconds=90)

    def compute(self) -> list[tuple[datetime, datetime | None]]:
        """When it was weighed, disks aside."""
        with self.tenant.scope():
            rows = UsageSession.objects.filter(workload_id=self.workload.pk).exclude(component="disk")
            return [(row.during.lower, row.during.upper) for row in rows.order_by("during")]

    def holds(self) -> list[str]:
        with self.tenant.scope():
            return sorted(QuotaHold.objects.values_list("resource", flat=True))


def born(aurora: Tenant, rig: KubeRig, **changes: object) -> Life:
    stage.open_shop()
    life = Life(aurora, rig, launch(aurora, now=timezone.now(), **changes))
    rig.give_disk(life.spec)
    return life


def test_it_is_weighed_from_its_binding_to_its_containers_end(aurora: Tenant, rig: KubeRig) -> None:
    life = born(aurora, rig, shape="cpu-4")
    life.until(State.RUNNING)
    ((began, end),) = life.compute()
    assert (_is_when(began, rig.driver.observe(life.spec).started_at), end) == (True, None)

    wish(aurora, "alice", wishes.stop, life.workload, life.now())
    life.until(State.STOPPED)

    assert life.compute() == [(began, rig.driver.observe(life.spec).ended_at)]
    assert life.holds() == ["storage_gib"]
    assert rig.held(life.spec) == []


def test_c107_capacity_that_waits_for_an_image_is_held_and_billed(aurora: Tenant, rig: KubeRig) -> None:
    life = born(aurora, rig, shape="h100-1")
    rig.note(life.spec, image="missing")

    life.until(State.PROVISIONING, reason="image_pull_failed")
    ((began, ended),) = life.compute()
    assert (_is_when(began, rig.driver.observe(life.spec).started_at), ended) == (True, None)
    wish(aurora, "alice", wishes.delete, life.workload, life.now())
    life.until(State.DELETED)

    ((_, ended),) = life.compute()
    assert ended is not None
    assert life.holds() == []
    assert until(lambda: rig.everything_of(life.spec), lambda found: not found) == []


def test_c34_no_room_until_the_start_is_too_late(aurora: Tenant, rig: KubeRig) -> None:
    life = born(aurora, rig, shape="h100-8")  # no node has 128 vCPU
    life.until(State.PROVISIONING, reason="unschedulable")

    life.leap = timedelta(minutes=6)
    failed = life.until(State.FAILED)

    assert why(failed) == "unschedulable"
    assert "Insufficient cpu" in str(failed.reason)
    assert life.compute() == []
    assert rig.held(life.spec) == []
    wish(aurora, "alice", wishes.start, life.workload, life.now())
    life.until(State.PROVISIONING)


def test_what_the_cluster_took_away_comes_back(aurora: Tenant, rig: KubeRig) -> None:
    life = born(aurora, rig, shape="cpu-4")
    life.until(State.RUNNING)
    pod = rig.pod(life.spec)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name_of(pod)}}
    rig.api.create(f"{path_of({'kind': 'Pod'} | pod)}/eviction", eviction)  # as `kubectl drain` does
    life.leap = timedelta(minutes=5)

    until(life.moment_later, lambda row: len(life.compute()) == 2 and row.state == State.RUNNING)

    first, second = life.compute()
    assert first[1] is not None
    assert first[1] <= second[0]
    assert second[1] is None


def _is_when(instant: datetime, bound: datetime | None) -> bool:
    """The cluster tells whole seconds; nothing is billed before it was placed."""
    return bound is not None and bound <= instant < bound + timedelta(seconds=1)

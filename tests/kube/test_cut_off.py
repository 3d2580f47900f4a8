"""An API server that is away for a minute: nothing is concluded, nothing ends, and all goes on, weighed to the second.

The minute is the platform's; the server itself stands still for as long as the calls take that nobody answers.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest
from django.core.management import call_command
from django.utils import timezone

from core import scope
from provisioning.drivers.base import Hint
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.enums import ClusterHealth, State
from provisioning.models import Cluster, Condition, Node, Region, Workload
from provisioning.reconciler import sweeping
from provisioning.services import hints, wishes
from provisioning.services.cluster_health import check_cluster
from provisioning.types import ClusterSpec, JobSpec
from tests import house
from tests.drivers.rig import until
from tests.fleet import registered
from tests.house import Tenant
from tests.kube.rig import KubeRig, api_server_of
from tests.kube.test_lives import Life
from tests.provisioning import stage
from tests.provisioning.stage import launch, why, wish

pytestmark = [pytest.mark.django_db]
ANSWER_S = 1.0
Launch: TypeAlias = Callable[[Tenant], Workload]


@dataclass
class CutLife(Life):
    """The same, by a driver that waits a moment only."""

    def told(self) -> Workload:
        """A watch tells of something, and somebody looks."""
        hints.look_at_runs([Hint(self.tenant.organization.pk, self.workload.pk)], self.now)
        return self.turned()

    def away(self, *, seconds: int) -> Workload:
        """Time passes, and somebody looks."""
        self.leap += timedelta(seconds=seconds)
        whole, place = self.rig.driver, self.rig.driver.place
        self.rig.driver = KubernetesDriver(replace(place, connection=replace(self.rig.connection, answer_s=ANSWER_S)))
        try:
            return self.turned()
        finally:
            self.rig.driver = whole

    def reachable(self) -> tuple[str, str]:
        with self.tenant.scope():
            said = Condition.objects.get(workload=self.workload.pk, type="reachable")
        return said.status, said.code


def a_workspace(aurora: Tenant) -> Workload:
    return launch(aurora, shape="cpu-4", now=timezone.now())


def a_job(aurora: Tenant) -> Workload:
    return launch(aurora, shape="cpu-4", kind="job", job=JobSpec(("python", "train.py"), workers=2), now=timezone.now())


def a_ray_cluster(aurora: Tenant) -> Workload:
    call_command("offer_image", "ray", "registry.example/ray:2", "--label", "Ray", "--kind", "ray")
    with house.an_act(), scope.of_platform():
        room = {"accelerators": {"H100": 8}, "vcpus": 640, "memory_gib": 2048}
        where, offers = Region.objects.get(slug="here"), {"installed": ["kuberay"]}
        Cluster.objects.create(
            slug="beside", label="Beside", driver="kubernetes", region=where, capacity=room, offers=offers
        )
    return launch(aurora, shape="cpu-4", kind="cluster", image="ray", cluster=ClusterSpec(2), now=timezone.now())


KINDS = [
    pytest.param(a_workspace, (), id="workspace"),
    pytest.param(a_job, (), id="job"),
    pytest.param(a_ray_cluster, ("kuberay",), id="ray"),
]
"""How each kind is launched, and what must be installed for it."""


@pytest.mark.parametrize(("kind", "needs"), KINDS)
def test_a_minute_without_the_api_server_changes_nothing(
    aurora: Tenant, rig: KubeRig, cluster: Path, request: pytest.FixtureRequest, kind: Launch, needs: tuple[str, ...]
) -> None:
    for operator in needs:
        request.getfixturevalue(operator)
    stage.open_shop()
    life = CutLife(aurora, rig, kind(aurora))
    rig.give_disk(life.spec)

    with stopped(cluster):
        life.away(seconds=0)  # admitted by this machine's clock, which its weighing is compared with
        waiting = life.away(seconds=60)
        assert (waiting.state, why(waiting)) == (State.PROVISIONING, "cluster_unreachable")
        assert life.reachable() == ("unknown", "cluster_unreachable")

    until(life.told, lambda row: row.state == State.RUNNING and life.compute() and row.mark)
    running, weighed, pods = life.row(), life.compute(), rig.held(life.spec)
    with stopped(cluster):
        life.leap += timedelta(seconds=1000)  # whatever a list has put off is due
        for _ in range(3):
            away = life.away(seconds=20)
            assert (away.state, away.incarnation, away.mark) == (State.RUNNING, running.incarnation, "")
        assert life.reachable() == ("unknown", "cluster_unreachable")
        assert life.compute() == weighed

    until(life.told, lambda row: bool(row.mark))
    assert life.reachable() == ("true", "")
    assert (life.compute(), rig.held(life.spec)) == (weighed, pods)
    wish(aurora, "alice", wishes.stop, life.workload, life.now())
    with stopped(cluster):
        assert life.away(seconds=60).state == State.STOPPING
        assert life.compute() == weighed

    until(life.told, lambda row: row.state == State.STOPPED)
    assert life.compute() == [(weighed[0][0], rig.driver.observe(life.spec).ended_at)]
    assert rig.held(life.spec) == []


def test_c44_a_cluster_that_was_cut_off_is_healthy_again_and_has_lost_nothing(rig: KubeRig, cluster: Path) -> None:
    row = registered("lab", replace(rig.connection, answer_s=ANSWER_S))
    whole, brief = rig.driver, KubernetesDriver(rig.driver.place)

    def looked() -> str:
        found = check_cluster(cluster_id=row.pk, drivers=lambda _: brief, now=timezone.now())
        assert found is not None
        return found.health

    def listed() -> bool:
        return sweeping.list_nodes(cluster_id=row.pk, drivers=lambda _: brief, clock=timezone.now)

    until(looked, lambda health: health == ClusterHealth.HEALTHY)
    assert listed()
    before = nodes(row)
    with stopped(cluster):
        brief = KubernetesDriver(replace(whole.place, connection=replace(rig.connection, answer_s=ANSWER_S)))
        assert looked() == ClusterHealth.UNREACHABLE
        assert not listed()
        assert nodes(row) == before

    brief = whole
    assert until(looked, lambda health: health == ClusterHealth.HEALTHY)
    assert until(listed, bool)
    assert nodes(row) == before


def nodes(cluster: Cluster) -> list[tuple[str, str]]:
    rows = Node.objects.filter(cluster=cluster, gone_at=None).order_by("name")
    return list(rows.values_list("name", "standing"))


@contextmanager
def stopped(cluster: Path) -> Iterator[None]:
    """The API server takes connections and answers none."""
    process = api_server_of(cluster)
    if process is None:
        pytest.skip("Only a lab's API server can be stopped.")
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)

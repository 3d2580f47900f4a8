"""The Kubernetes driver against a real control plane."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from provisioning.drivers.base import DriverUnavailable, Phase
from provisioning.drivers.jobs import ArrayRun
from provisioning.drivers.kubernetes import exporting, jobs, namespaces, rights, starting, volumes, workspaces
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.drivers.kubernetes.names import SEEN, name_of_run, namespace_of
from provisioning.drivers.kubernetes.namespaces import INTERNET, Ground
from provisioning.drivers.kubernetes.objects import path, path_of
from provisioning.drivers.kubernetes.reading import Json, instant, name_of, rows, text, words
from provisioning.drivers.kubernetes.record import Record
from provisioning.drivers.kubernetes.view import number_of
from provisioning.drivers.places import Connection
from tests.drivers.contract import JobContract, WorkloadContract
from tests.drivers.rig import SETTLED, a_spec, until
from tests.kube.rig import PATIENCE_S, KubeRig, api_server_of


class TestKubernetesDriver(WorkloadContract):
    """The contract, as far as it needs no process that truly runs."""


class TestKubernetesJobs(JobContract):
    """The same for commands."""

    def test_workers_are_pods_of_one_job_that_know_their_ranks(self, rig: KubeRig) -> None:
        spec = rig.job(workers=3)

        seen = rig.started(spec)

        pods = sorted(rig.pods(spec), key=number_of)
        assert seen.started_at is not None
        assert [number_of(pod) for pod in pods] == [0, 1, 2]
        assert {text(pod, "spec", "subdomain") for pod in pods} == {name_of_run("job", spec.workload_id)}
        (service,) = rig.api.list(path("Service", namespace_of(spec.project_id)))
        assert text(service, "spec", "clusterIP") == "None"
        rig.absent(spec)
        assert rig.everything_of(spec) == []

    def test_its_pods_and_what_the_cluster_says_of_them_are_told(self, rig: KubeRig) -> None:
        spec = rig.job(workers=2)
        rig.started(spec)

        found, told = rig.driver.pods(spec), until(lambda: rig.driver.happenings(spec), len, seconds=60)

        assert [(pod.part, pod.state, bool(pod.node)) for pod in found.pods] == [
            ("worker 0", "running", True),
            ("worker 1", "running", True),
        ]
        assert "no metrics server" in found.unmeasured
        assert {"Scheduled", "SuccessfulCreate"} & {each.reason for each in told}
        rig.absent(spec)
        assert rig.driver.pods(spec).pods == ()
        assert rig.driver.happenings(spec) != ()  # they outlive what they are about

    def test_one_worker_that_fails_ends_them_all(self, rig: KubeRig) -> None:
        spec = rig.job(workers=3)
        rig.started(spec)
        victim = name_of(rig.pods(spec)[1])

        rig.end_pod(spec, victim, exit_code=7)
        failed = until(lambda: rig.driver.observe(spec), lambda o: o.phase in SETTLED)

        assert (failed.phase, failed.exit_code) == (Phase.FAILED, 7)
        assert rig.held(spec) == []

    def test_an_eviction_of_one_interrupts_all_and_is_no_failure(self, rig: KubeRig) -> None:
        spec = rig.job(workers=2)
        rig.started(spec)

        rig.end_pod(spec, name_of(rig.pods(spec)[0]), exit_code=137, evicted=True)
        ended = until(lambda: rig.driver.observe(spec), lambda o: o.phase in SETTLED)

        assert (ended.phase, ended.exit_code) == (Phase.STOPPED, None)
        assert ended.reason is not None
        assert ended.reason.code == "evicted"

    def test_c44_a_short_silence_of_a_node_fails_no_job(self, rig: KubeRig) -> None:
        spec = rig.job(workers=2)
        rig.started(spec)

        with rig.silent_node(spec, rig.pods(spec)[0], seconds=60):
            unsure = until(lambda: rig.driver.observe(spec), lambda o: o.reason, seconds=60)
        again = until(lambda: rig.driver.observe(spec), lambda o: o.ready, seconds=60)

        assert unsure.reason is not None
        assert (unsure.phase, unsure.reason.code) == (Phase.RUNNING, "node_lost")
        assert (again.phase, again.incarnation) == (Phase.RUNNING, unsure.incarnation)

    def test_c54_a_gang_whose_node_is_silent_for_five_minutes_is_over_as_a_whole_and_interrupted(
        self, rig: KubeRig
    ) -> None:
        spec = rig.job(workers=2)
        rig.started(spec)

        with rig.silent_node(spec, rig.pods(spec)[0], seconds=301) as heard:
            over = until(lambda: rig.driver.observe(spec), lambda o: o.phase in SETTLED, seconds=90)

        assert over.reason is not None
        assert (over.phase, over.reason.code, over.exit_code) == (Phase.STOPPED, "node_lost", None)
        assert rig.held(spec) == []
        assert over.ended_at == heard


class TestManifests:
    def test_the_api_server_takes_every_field(self, rig: KubeRig) -> None:
        spec, place = a_spec(accelerator="H100", accelerator_count=2), rig.driver.place
        ground = namespaces.manifests(
            cluster_id=place.cluster_id,
            organization_id=spec.organization_id,
            project_id=spec.project_id,
            ground=Ground(egress=(INTERNET,), pull_secrets=("registry",)),
        )
        rig.namespaces.add(namespace_of(spec.project_id))
        job = replace(spec, kind="job", command=("true",), workers=2)

        things = (volumes.claim(spec, place), workspaces.workspace(spec, place, "run"))
        for thing in (*ground, *things, jobs.meeting(job, place), jobs.job(job, place, "run")):
            taken = rig.api.apply(path_of(thing), thing)

            assert name_of(taken) == name_of(thing)

    @pytest.mark.parametrize("kind", ["workspace", "job", "gang", "array"])
    def test_an_export_applies_on_a_bare_cluster(self, rig: KubeRig, kind: str) -> None:
        spec = a_spec(accelerator="H100", accelerator_count=1)
        if kind != "workspace":
            spec = replace(spec, kind="job", command=("python", "train.py"), workers=3 if kind == "gang" else 1)
        if kind == "array":
            spec = replace(spec, workers=2, array=ArrayRun((0, 1, 2), 3, sweep=(("LR", ("1", "2", "3")),), retries=1))
        rig.namespaces.add(namespace_of(spec.project_id))

        for thing in yaml.safe_load_all(exporting.exported(spec, rig.driver.place, Ground())):
            assert name_of(rig.api.apply(path_of(thing), thing)) == name_of(thing)

        pods = until(lambda: rig.pods(spec), len, seconds=60)
        assert not any(map(_ours, pods))

    def test_pods_are_admitted_as_restricted_without_a_warning(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.started(spec)

        pod = rig.pod(spec)

        assert text(pod, "spec", "serviceAccountName") == "steelyard-workload"
        assert not [volume for volume in words(pod, "spec", "volumes") if "token" in volume]


class TestNothingIsLeft:
    def test_after_a_removal_no_object_of_any_kind_has_the_label(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.started(spec)
        assert len(rig.everything_of(spec)) >= 3

        rig.absent(spec)

        assert until(lambda: rig.everything_of(spec), lambda found: not found) == []

    def test_c35_a_wrong_image_leaves_nothing_when_it_is_cleared(self, rig: KubeRig) -> None:
        spec = a_spec(image="registry.example/no-such-image:1")
        rig.note(spec, image="missing")
        rig.present(spec)
        seen = until(lambda: rig.driver.observe(spec), lambda o: o.reason)
        assert seen.reason is not None
        assert (seen.phase, seen.reason.code) == (Phase.STARTING, "image_pull_failed")
        assert "no-such-image" in seen.reason.message
        assert seen.started_at is not None  # C107: the capacity is held meanwhile

        gone = rig.absent(spec)

        assert gone.started_at == seen.started_at
        assert gone.ended_at is not None
        assert until(lambda: rig.everything_of(spec), lambda found: not found) == []

    def test_c38_what_somebody_else_removed_is_gone(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.started(spec)
        rig.api.delete(path("Namespace", name=namespace_of(spec.project_id)))

        assert rig.absent(spec).phase is Phase.ABSENT


class TestReasons:
    def test_c37_no_room_is_told_in_the_schedulers_words(self, rig: KubeRig) -> None:
        spec = a_spec(accelerator="H100", accelerator_count=64)
        rig.present(spec)

        seen = until(lambda: rig.driver.observe(spec), lambda o: o.reason)

        assert seen.reason is not None
        assert (seen.phase, seen.reason.code) == (Phase.STARTING, "unschedulable")
        assert "Insufficient nvidia.com/gpu" in seen.reason.message
        assert seen.started_at is None
        assert rig.absent(spec).ended_at is None

    def test_a_volume_that_is_waited_for_is_named(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.namespaces.add(namespace_of(spec.project_id))
        rig.driver.ensure_present(spec)

        seen = until(lambda: rig.driver.observe(spec), lambda o: o.reason)

        assert seen.reason is not None
        assert seen.reason.code == "volume_unbound"

    def test_a_pod_that_is_not_admitted_is_told_in_the_servers_words(self, rig: KubeRig) -> None:
        spec = a_spec()
        tight = KubernetesDriver(rig.driver.place, Ground(limits=(("pods", "0"),)))
        rig.give_disk(spec)
        tight.ensure_present(spec)

        seen = until(lambda: tight.observe(spec), lambda o: o.reason)

        assert seen.reason is not None
        assert seen.reason.code == "pod_refused"
        assert "exceeded quota" in seen.reason.message

    def test_what_the_server_refuses_is_a_failed_start(self, rig: KubeRig) -> None:
        spec = a_spec(env={"NOT A=NAME": "1"})

        seen = rig.present(spec)

        assert (seen.phase, seen.started_at) == (Phase.FAILED, None)
        assert seen.reason is not None
        assert "NOT A=NAME" in seen.reason.message
        assert rig.driver.ensure_present(spec) == seen
        assert rig.absent(spec).phase is Phase.ABSENT

    def test_an_eviction_ends_the_run_and_none_begins_unasked(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.note(spec, evict_after="0.3")
        rig.present(spec)

        seen = until(lambda: rig.driver.observe(spec), lambda o: o.phase is Phase.STOPPED)

        assert seen.reason is not None
        assert seen.reason.code == "evicted"
        assert "low on resource: memory" in seen.reason.message
        assert seen.started_at is not None
        assert seen.ended_at is not None
        assert seen.ended_at >= seen.started_at
        assert rig.driver.ensure_present(spec) == seen
        assert rig.held(spec) == []

    def test_running_out_of_memory_is_named(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.note(spec, fail_after="0.3", reason="OOMKilled")
        rig.started(spec)

        seen = until(lambda: rig.driver.observe(spec), lambda o: o.phase is Phase.FAILED)

        assert seen.reason is not None
        assert seen.reason.code == "oom_killed"

    def test_a_pod_that_somebody_deletes_is_no_new_start(self, rig: KubeRig) -> None:
        spec = a_spec()
        first = rig.started(spec)
        rig.api.delete(path("Pod", namespace_of(spec.project_id), name_of(rig.pod(spec))))

        seen = until(lambda: rig.driver.observe(spec), lambda o: o.phase is Phase.STOPPED)

        assert seen.reason is not None
        assert seen.reason.code == "removed_on_cluster"
        assert seen.incarnation == first.incarnation
        assert rig.held(spec) == []

    def test_a_node_that_does_not_report_is_unknown_and_never_gone(self, rig: KubeRig) -> None:
        spec = a_spec()
        ready = rig.started(spec)
        node = f"/api/v1/nodes/{text(rig.pod(spec), 'spec', 'nodeName')}"
        was = rig.api.get(node)
        assert was is not None
        unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "stopped posting"}
        pod = path("Pod", namespace_of(spec.project_id), name_of(rig.pod(spec)))
        not_ready = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        rig.api.merge(node, {"metadata": {"annotations": {"fake-kubelet/silent": "true"}}})
        try:
            time.sleep(0.2)
            rig.patch_status(node, unknown)
            rig.patch_status(pod, not_ready)

            seen = rig.driver.observe(spec)
        finally:
            rig.api.merge(node, {"metadata": {"annotations": {"fake-kubelet/silent": None}}})
            rig.patch_status(node, {"type": "Ready", "status": "True"})

        assert (seen.phase, seen.ready, seen.incarnation) == (Phase.RUNNING, False, ready.incarnation)
        assert seen.reason is not None
        assert seen.reason.code == "node_lost"


class TestManyAsk:
    def test_two_who_start_it_at_once_start_one(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.give_disk(spec)
        drivers = [KubernetesDriver(rig.driver.place) for _ in range(6)]

        with ThreadPoolExecutor(6) as threads:
            seen = list(threads.map(lambda driver: driver.ensure_present(spec), drivers))
        ready = until(lambda: rig.driver.observe(spec), lambda o: o.ready)

        assert {each.incarnation for each in seen} == {ready.incarnation}
        assert len(rig.held(spec)) == 1

    def test_one_starts_while_another_stops(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.started(spec)

        with ThreadPoolExecutor(4) as threads:
            asks = [rig.driver.ensure_stopped, rig.driver.ensure_present] * 4
            list(threads.map(lambda ask: ask(spec), asks))
        rig.stopped(spec)

        assert rig.held(spec) == []

    def test_a_start_that_comes_too_late_is_cleared_away(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.started(spec)
        rig.stopped(spec)
        assert starting.set_up(rig.api, spec, rig.driver.place, Record("of-long-ago")) is None
        until(lambda: rig.held(spec), len)

        rig.driver.ensure_present(spec)
        ready = until(lambda: rig.driver.ensure_present(spec), lambda o: o.ready)

        assert ready.incarnation != "of-long-ago"
        assert len(rig.held(spec)) == 1

    def test_another_installation_on_the_cluster_is_left_alone(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.started(spec)
        theirs = KubernetesDriver(replace(rig.driver.place, cluster_id=spec.workload_id))

        assert theirs.strays([]) == ()


class TestRights:
    def test_the_rights_that_are_written_down_are_enough(self, rig: KubeRig) -> None:
        spec, least = a_spec(), rig.with_rights(rights.WORKSPACES)
        rig.give_disk(spec)

        least.ensure_present(spec)
        until(lambda: least.observe(spec), lambda o: o.ready)

        assert least.endpoint_of(spec) is not None
        assert least.logs(spec, tail=5)
        assert [stray.workload_id for stray in least.strays([])] == [spec.workload_id]
        until(lambda: least.ensure_absent(spec), lambda o: o.phase is Phase.ABSENT)
        least.ensure_volume_absent(project_id=spec.project_id, volume_id=spec.volume_id)
        assert not rig.keeps_volume(spec)

    def test_a_right_that_is_missing_is_named(self, rig: KubeRig) -> None:
        spec = a_spec()
        less = [rule for rule in rights.WORKSPACES if "networkpolicies" not in words(rule, "resources")]
        rig.give_disk(spec)

        seen = rig.with_rights(less).ensure_present(spec)

        assert seen.reason is not None
        assert (seen.phase, seen.reason.code) == (Phase.STARTING, "forbidden")
        assert 'cannot patch resource "networkpolicies"' in seen.reason.message


class TestTheServerIsStopped:
    def test_nothing_is_concluded_and_nothing_changes(self, rig: KubeRig, cluster: Path) -> None:
        process = api_server_of(cluster)
        if process is None:
            pytest.skip("Only a lab's API server can be stopped.")
        spec = a_spec()
        ready = rig.started(spec)
        pods = rig.held(spec)
        place = rig.driver.place
        brief = KubernetesDriver(replace(place, connection=replace(rig.connection, answer_s=Connection("").answer_s)))

        os.kill(process, signal.SIGSTOP)
        try:
            for ask in (brief.observe, brief.ensure_stopped):
                began = time.monotonic()
                with pytest.raises(DriverUnavailable, match="no answer in time"):
                    ask(spec)
                assert time.monotonic() - began < PATIENCE_S / 2
        finally:
            os.kill(process, signal.SIGCONT)

        seen = until(lambda: rig.driver.observe(spec), lambda o: o.ready)
        assert (seen.incarnation, seen.started_at) == (ready.incarnation, ready.started_at)
        assert rig.held(spec) == pods


class TestEnds:
    def test_the_end_is_the_containers_own(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.note(spec, evict_after="0.3")
        rig.present(spec)
        pod = until(lambda: rig.pod(spec), lambda pod: text(pod, "status", "phase") == "Failed")
        time.sleep(1.1)  # the API server writes whole seconds

        seen = until(lambda: rig.driver.observe(spec), lambda o: o.phase is Phase.STOPPED)

        (container,) = rows(pod, "status", "containerStatuses")
        assert seen.ended_at == instant(container, "state", "terminated", "finishedAt")

    def test_a_slow_end_holds_until_it_is_over(self, rig: KubeRig) -> None:
        spec = a_spec()
        rig.note(spec, stop_after="1.5")
        rig.started(spec)

        asked = rig.driver.ensure_stopped(spec)
        stopped = rig.stopped(spec)

        assert (asked.phase, asked.ended_at) == (Phase.STOPPING, None)
        assert stopped.phase is Phase.STOPPED
        assert rig.held(spec) == []


def _ours(pod: Json) -> bool:
    return SEEN in words(pod, "metadata", "finalizers")

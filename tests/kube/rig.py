"""The Kubernetes driver on simulated nodes: pods seem to run there, and do what annotations of the test say."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from unittest.mock import patch
from uuid import UUID, uuid4

import yaml

from provisioning.drivers.base import Observation, Phase, RunSpec, Stray
from provisioning.drivers.kubernetes import runs
from provisioning.drivers.kubernetes.client import Api
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.drivers.kubernetes.names import WORKLOAD, claim_of, namespace_of
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.reading import Json, name_of, part, rows, text, words
from provisioning.drivers.places import Connection, Place
from tests.drivers.rig import SETTLED, a_spec, until

CLASS: Final = "steelyard-tests"
PATIENCE_S: Final = 90.0  # what an operator made goes with the garbage collector, which may be busy
DOOMED: Final = {
    "fake-kubelet/ready-after": "60",
    "fake-kubelet/fail-after": "0.1",
    "fake-kubelet/exit-code": "3",
    "fake-kubelet/log": "the engine is cold\nthe last word",
}


def connection_in(kubeconfig: Path) -> Connection:
    """Of an administrator's kubeconfig with everything in it."""
    found = yaml.safe_load(kubeconfig.read_text())
    cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]

    def pem(where: Mapping[str, str], name: str) -> str:
        return base64.b64decode(where.get(name, "")).decode()

    return Connection(
        server=cluster["server"],
        answer_s=PATIENCE_S,
        ca_pem=pem(cluster, "certificate-authority-data"),
        token=user.get("token", ""),
        client_certificate_pem=pem(user, "client-certificate-data"),
        client_key_pem=pem(user, "client-key-data"),
    )


@dataclass
class KubeRig:
    """One of several on a cluster: each has a cluster id of its own, so that none sees another's.

    `nodes`: the labels of those on which its pods run. `storage`: the class of its disks; of our own, they are made by
    hand and hold nothing.
    """

    connection: Connection
    nodes: Mapping[str, str] = field(default_factory=lambda: {"type": "fake"})
    storage: str = CLASS
    notes: dict[UUID, dict[str, str]] = field(default_factory=dict)
    namespaces: set[str] = field(default_factory=set)
    left: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.api = Api(self.connection)
        self.driver = KubernetesDriver(Place("kubernetes", uuid4(), self.connection, (("standard", self.storage),)))
        storage: Json = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": CLASS}}
        late: Json = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
        self.api.apply(f"/apis/storage.k8s.io/v1/storageclasses/{CLASS}", storage | late)

    def now(self) -> datetime:
        """The API server writes whole seconds."""
        return datetime.now(UTC).replace(microsecond=0)

    def present(self, spec: RunSpec) -> Observation:
        self.give_disk(spec)
        return self.driver.ensure_present(spec)

    def bound(self, spec: RunSpec) -> Observation:
        self.present(spec)
        return until(lambda: self.driver.observe(spec), lambda o: o.started_at)

    def started(self, spec: RunSpec) -> Observation:
        self.present(spec)
        seen = until(lambda: self.driver.observe(spec), lambda o: o.ready or o.phase in SETTLED, seconds=PATIENCE_S)
        assert seen.ready, seen
        return seen

    def stopped(self, spec: RunSpec) -> Observation:
        return until(lambda: self.driver.ensure_stopped(spec), lambda o: o.phase in SETTLED, seconds=PATIENCE_S)

    def failed(self, spec: RunSpec) -> Observation:
        self.present(spec)
        return until(lambda: self.driver.observe(spec), lambda o: o.phase is Phase.FAILED)

    def absent(self, spec: RunSpec) -> Observation:
        return until(lambda: self.driver.ensure_absent(spec), lambda o: o.phase is Phase.ABSENT, seconds=PATIENCE_S)

    def until_ended(self, stray: Stray) -> Observation:
        return until(lambda: self.driver.end_stray(stray), lambda o: o.phase in SETTLED)

    def held(self, spec: RunSpec) -> list[str]:
        return [text(pod, "metadata", "uid") for pod in self.pods(spec)]

    def pods(self, spec: RunSpec) -> list[Json]:
        return self.api.list(path("Pod", namespace_of(spec.project_id)), labelSelector=_of(spec))

    def pod(self, spec: RunSpec) -> Json:
        (pod,) = until(lambda: self.pods(spec), len)
        return pod

    def patch_status(self, where: str, condition: Mapping[str, str]) -> None:
        """Set one condition, as its owner would."""
        whole = [row for row in rows(self.api.get(where), "status", "conditions") if row["type"] != condition["type"]]
        self.api.merge(f"{where}/status", {"status": {"conditions": [*whole, dict(condition)]}})

    @contextmanager
    def silent_node(self, spec: RunSpec, pod: Json, *, seconds: int) -> Iterator[datetime]:
        """The pod's node has not reported for so long, as the control plane says it; then it does again."""
        node = f"/api/v1/nodes/{text(pod, 'spec', 'nodeName')}"
        where = path("Pod", namespace_of(spec.project_id), name_of(pod))
        heard = self.now()
        since, told = ((heard - timedelta(seconds=each)).strftime("%Y-%m-%dT%H:%M:%SZ") for each in (seconds, 0))
        self.api.merge(node, {"metadata": {"annotations": {"fake-kubelet/silent": "true"}}})
        try:
            time.sleep(0.2)
            unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
            self.patch_status(node, unknown | {"lastTransitionTime": since, "lastHeartbeatTime": told})
            self.patch_status(where, {"type": "Ready", "status": "False", "lastTransitionTime": since})
            yield heard
        finally:
            self.api.merge(node, {"metadata": {"annotations": {"fake-kubelet/silent": None}}})
            self.patch_status(node, {"type": "Ready", "status": "True"})
            if self.api.get(where) is not None:
                self.patch_status(where, {"type": "Ready", "status": "True"})

    def keeps_volume(self, spec: RunSpec) -> bool:
        where = path("PersistentVolumeClaim", namespace_of(spec.project_id), claim_of(spec.volume_id))
        return until(lambda: self.api.get(where), lambda claim: claim is None) is not None

    def note(self, spec: RunSpec, **notes: str) -> None:
        """How its next pod behaves: `start_after="2"` is fake-kubelet/start-after."""
        self.notes[spec.workload_id] = {f"fake-kubelet/{k.replace('_', '-')}": value for k, value in notes.items()}

    def end_pod(self, spec: RunSpec, pod: str, *, exit_code: int, evicted: bool = False) -> None:
        """Its node says that it has ended."""
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        where = path("Pod", namespace_of(spec.project_id), pod)
        pod_now = self.api.get(where)
        known = rows(pod_now, "status", "containerStatuses")[0]
        end = {"terminated": {"exitCode": exit_code, "reason": "Error", "startedAt": at, "finishedAt": at}}
        status: Json = {"phase": "Failed" if exit_code else "Succeeded"}
        status |= {"containerStatuses": [known | {"state": end, "ready": False}]}
        if evicted:
            target = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
            status |= {"conditions": [*rows(pod_now, "status", "conditions"), target]}
            status |= {"reason": "Evicted", "message": "The node was low on resource: memory."}
        self.api.merge(f"{where}/status", {"status": status})

    def doom(self, spec: RunSpec) -> None:
        self.notes[spec.workload_id] = DOOMED

    def spare(self, spec: RunSpec) -> None:
        self.notes.pop(spec.workload_id)

    def job(self, *, exit_code: int | None = None, workers: int = 1) -> RunSpec:
        spec = a_spec(kind="job", command=("python", "train.py"), workers=workers)
        if exit_code == 0:
            self.note(spec, succeed_after="0.1", log="the engine is cold\nthe last word")
        elif exit_code is not None:
            self.note(spec, fail_after="0.1", exit_code=str(exit_code), log="the engine is cold\nthe last word")
        return spec

    def over(self, spec: RunSpec) -> Observation:
        self.present(spec)
        return until(lambda: self.driver.observe(spec), lambda o: o.phase in SETTLED)

    def give_disk(self, spec: RunSpec) -> None:
        """Our own class has no provisioner: a disk is laid ready for the claim."""
        name, namespace = claim_of(spec.volume_id), namespace_of(spec.project_id)
        self.namespaces.add(namespace)
        if self.storage != CLASS:
            return
        disk = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": f"{spec.disk_gib}Gi"},
                "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
                "storageClassName": CLASS,
                "hostPath": {"path": f"/var/lib/{name}"},
                "claimRef": {"name": name, "namespace": namespace},
            },
        }
        where = f"/api/v1/persistentvolumes/{name}"
        if self.api.get(where) is None:
            self.api.apply(where, disk)

    def with_rights(self, rules: Sequence[Json]) -> KubernetesDriver:
        """The driver at the same place, with an account of its own that may do this alone."""
        name = f"steelyard-{uuid4().hex[:12]}"
        account = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
        rbac = "rbac.authorization.k8s.io"
        role: Json = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}}
        bound: Json = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}}
        role_ref = {"apiGroup": rbac, "kind": "ClusterRole", "name": name}
        self.api.create(path("ServiceAccount", "default"), {"metadata": {"name": name}})
        self._put(f"/apis/{rbac}/v1/clusterroles/{name}", role | {"rules": list(rules)})
        self._put(f"/apis/{rbac}/v1/clusterrolebindings/{name}", bound | {"subjects": [account], "roleRef": role_ref})
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
        where = path("ServiceAccount", "default", name)
        self.left += [where]
        token = text(self.api.create(f"{where}/token", asked), "status", "token")
        connection = replace(self.connection, token=token, client_certificate_pem="", client_key_pem="")
        return KubernetesDriver(replace(self.driver.place, connection=connection))

    def _put(self, where: str, thing: Json) -> None:
        self.api.apply(where, thing)
        self.left.append(where)

    def home(self, spec: RunSpec) -> Path:
        """Where the lab keeps the files of a disk of its class."""
        where = path("PersistentVolumeClaim", namespace_of(spec.project_id), claim_of(spec.volume_id))
        disk = self.api.get(f"/api/v1/persistentvolumes/{text(self.api.get(where), 'spec', 'volumeName')}")
        return Path(text(disk, "spec", "hostPath", "path"))

    def everything_of(self, spec: RunSpec) -> list[str]:
        """All objects of all kinds that the API server has, with the workload's label."""
        found = []
        for kind in self.kinds():
            found += [f"{kind} {name_of(thing)}" for thing in self.api.list(kind, labelSelector=_of(spec))]
        return found

    def kinds(self) -> list[str]:
        """Where each listable kind of the cluster is listed."""
        groups = rows(self.api.get("/apis"), "groups")
        versions = [f"/apis/{text(group, 'preferredVersion', 'groupVersion')}" for group in groups]
        return [
            f"{version}/{text(kind, 'name')}"
            for version in ("/api/v1", *versions)
            for kind in rows(self.api.get(version), "resources")
            if "list" in words(kind, "verbs")
        ]

    @contextmanager
    def playing(self) -> Iterator[None]:
        """The tests' notes are on every pod, and every pod goes to the rig's nodes."""
        written = runs.manifest

        def noted(spec: RunSpec, place: Place, incarnation: str) -> Json:
            manifest = written(spec, place, incarnation)
            for template in _templates(manifest):
                metadata = part(template, "metadata")
                metadata["annotations"] = part(metadata, "annotations") | self.notes.get(spec.workload_id, {})
                part(template, "spec")["nodeSelector"] = dict(self.nodes)
            return manifest

        with patch.object(runs, "manifest", noted):
            yield

    def clear(self) -> None:
        for where in self.left:
            self.api.delete(where)
        for stray in self.driver.strays([]):
            self.until_ended(stray)
        for namespace in self.namespaces:
            self.api.delete(path("Namespace", name=namespace))
            for claim in self.api.list(path("PersistentVolumeClaim", namespace)):
                self.api.delete(f"/api/v1/persistentvolumes/{name_of(claim)}")


def api_server_of(kubeconfig: Path) -> int | None:
    """The process of a lab's API server; None on any other cluster."""
    record = kubeconfig.parent / "run" / "kube-apiserver.json"
    return int(json.loads(record.read_text())["pid"]) if record.exists() else None


def _of(spec: RunSpec) -> str:
    return f"{WORKLOAD}={spec.workload_id}"


def _templates(manifest: Json) -> list[Json]:
    """Of the pods that it makes."""
    head = part(manifest, "spec", "headGroupSpec", "template")
    workers = [part(group, "template") for group in rows(manifest, "spec", "workerGroupSpecs")]
    return [head, *workers] if head else [part(manifest, "spec", "template")]

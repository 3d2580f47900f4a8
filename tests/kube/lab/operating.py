"""Kueue, KubeRay and JobSet: processes of this machine. The API server reaches their webhooks through services of type
ExternalName."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.kube.lab.binaries import build, go
from tests.kube.lab.certificates import encoded
from tests.kube.lab.control_plane import kubectl
from tests.kube.lab.places import OPERATORS as FIRST_PORT
from tests.kube.lab.places import PKI, STATE
from tests.kube.lab.processes import Flag, answers, running, start, wait_for

Json = dict[str, Any]


class Operator(NamedTuple):
    folder: str  # of the Go module that builds it
    program: str
    module: str
    manifests: str  # folder in the module
    port: int  # the first of four: health, metrics, webhook, visibility


OPERATORS = {
    "kuberay": Operator(
        "operators", "ray-operator", "github.com/ray-project/kuberay/ray-operator", "config/crd", FIRST_PORT
    ),
    "jobset": Operator("operators", "jobset", "sigs.k8s.io/jobset", "config/default", FIRST_PORT + 4),
    "kueue": Operator("kueue", "kueue", "sigs.k8s.io/kueue", "config/default", FIRST_PORT + 8),
}
QUEUED = ["batch/job", "pod", "deployment", "statefulset"]  # what Kueue manages
QUEUED += ["jobset.x-k8s.io/jobset", "ray.io/raycluster", "ray.io/rayjob"]


def manifests(operator: Operator) -> Iterator[Json]:
    """The operator's own, out of the Go module cache."""
    where = go(operator.folder, "list", "-m", "-f", "{{.Dir}}", operator.module)
    text = kubectl("kustomize", f"{where}/{operator.manifests}")
    rest = kubectl("create --dry-run=client -o json -f -", stdin=text)
    while rest := rest.strip():
        thing, end = json.JSONDecoder().raw_decode(rest)
        yield thing
        rest = rest[end:]


def on_loopback(thing: Json, operator: Operator) -> Json:
    spec, clients = thing.get("spec", {}), [hook["clientConfig"] for hook in thing.get("webhooks", [])]
    if thing["kind"] == "Service":
        thing["spec"] = {"type": "ExternalName", "externalName": "127.0.0.1"}
    elif thing["kind"] == "APIService":
        spec["service"]["port"] = operator.port + 3
    elif thing["kind"] == "CustomResourceDefinition" and "webhook" in spec.get("conversion", {}):
        clients.append(spec["conversion"]["webhook"]["clientConfig"])
    for one in clients:
        one["service"]["port"] = operator.port + 2
        one["caBundle"] = encoded("ca.crt")
    return thing


def apply_manifests(operator: Operator) -> None:
    things = [on_loopback(thing, operator) for thing in manifests(operator) if thing["kind"] != "Deployment"]
    things.sort(key=lambda thing: thing["kind"] != "Namespace")
    bundle = json.dumps({"apiVersion": "v1", "kind": "List", "items": things})
    kubectl("apply --server-side --force-conflicts -f -", stdin=bundle)
    kinds = [thing["metadata"]["name"] for thing in things if thing["kind"] == "CustomResourceDefinition"]
    kubectl("wait --for=condition=Established crd", *kinds)


def configured(name: str, certs: Path) -> Path:
    """The configuration file of Kueue or JobSet."""
    health, metrics, webhook, visibility = (OPERATORS[name].port + offset for offset in range(4))
    settings: Json = {"kind": "Configuration", "leaderElection": {"leaderElect": False}}
    settings["health"] = {"healthProbeBindAddress": f"127.0.0.1:{health}"}
    settings["metrics"] = {"bindAddress": f"127.0.0.1:{metrics}"}
    settings["webhook"] = {"host": "127.0.0.1", "port": webhook, "certDir": str(certs)}
    if name == "kueue":
        settings |= {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "integrations": {"frameworks": QUEUED}}
        settings["visibilityServer"] = {"bindAddress": "127.0.0.1", "bindPort": visibility}
    else:
        settings |= {"apiVersion": "config.jobset.x-k8s.io/v1alpha1", "internalCertManagement": {"enable": False}}
    path = STATE / f"{name}.json"
    path.write_text(json.dumps(settings))
    return path


def mount_certificate(certs: Path) -> None:
    """Kueue makes its certificate, stores it as a secret, and waits for a kubelet to mount that."""
    read = "get secret -n kueue-system kueue-webhook-server-cert -o json"
    data = wait_for("Kueue's certificate", lambda: json.loads(kubectl(read)).get("data"))
    for file, content in data.items():
        (certs / file).write_bytes(base64.b64decode(content))


def start_operator(name: str) -> None:
    operator, certs = OPERATORS[name], STATE / f"{name}-certs"
    program = build(operator.folder) / operator.program
    if running(name):
        return
    health, metrics = f"127.0.0.1:{operator.port}", f"127.0.0.1:{operator.port + 1}"
    apply_manifests(operator)
    shutil.rmtree(certs, ignore_errors=True)
    certs.mkdir()
    flags: dict[str, Flag] = {"kubeconfig": PKI / f"{name}.kubeconfig"}
    if name == "kuberay":
        flags |= {"metrics_addr": metrics, "health_probe_bind_address": health}
        start(name, program, enable_leader_election=False, use_kubernetes_proxy=True, **flags)
    else:
        for suffix in ("crt", "key") if name == "jobset" else ():
            shutil.copy(PKI / f"jobset-webhook.{suffix}", certs / f"tls.{suffix}")
        start(name, program, config=configured(name, certs), **flags)
    if name == "kueue":
        mount_certificate(certs)
    wait_for(name, lambda: answers(f"http://{health}/readyz"))

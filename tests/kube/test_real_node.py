"""A pod that truly runs: JupyterLab on its loopback, as a stranger's uid, reached by the API server's port-forward."""

from __future__ import annotations

from typing import Any

from kubernetes.client import ApiClient, CoreV1Api
from kubernetes.stream import portforward

from tests.kube.conftest import Kinds
from tests.kube.waiting import until

PORT = 8888
LOADED = "import http.client as h, sys; c = h.HTTPConnection('127.0.0.1', 8888); c.request('GET', '/api/status')"


def jupyterlab(product: str) -> dict[str, object]:
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    container = {
        "name": "server",
        "image": "localhost/python:1",
        "command": ["jupyter", "lab", "--no-browser", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={PORT}"],
        "env": [{"name": "HOME", "value": "/home/work"}],
        "workingDir": "/home/work",
        "startupProbe": {"exec": {"command": ["python3", "-c", LOADED]}, "periodSeconds": 1, "failureThreshold": 60},
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "home", "mountPath": "/home/work"}, {"name": "scratch", "mountPath": "/tmp"}],
    }
    person = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    home = {"name": "home", "persistentVolumeClaim": {"claimName": "home"}}
    spec = {
        "nodeSelector": {"nvidia.com/gpu.product": product},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "securityContext": person,
        "containers": [container],
        "volumes": [home, {"name": "scratch", "emptyDir": {}}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lab"}, "spec": spec}


def ready(pod: Any) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions or ())


def test_jupyterlab_runs_and_is_reached_by_port_forward(
    real_node: str, api: ApiClient, kinds: Kinds, namespace: str
) -> None:
    restricted = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    kinds("v1", "Namespace").patch(name=namespace, body=restricted)
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "home"}, "spec": size}
    kinds("v1", "PersistentVolumeClaim").create(body=claim, namespace=namespace)
    pods = kinds("v1", "Pod")
    pods.create(body=jupyterlab(real_node), namespace=namespace)
    until(lambda: ready(pods.get(name="lab", namespace=namespace)), seconds=60)

    forward = portforward(CoreV1Api(api).connect_get_namespaced_pod_portforward, "lab", namespace, ports=str(PORT))
    tunnel = forward.socket(PORT)
    tunnel.setblocking(True)
    tunnel.sendall(b"GET /api HTTP/1.0\r\nHost: localhost\r\n\r\n")

    assert b"200 OK" in tunnel.recv(4096)
    tunnel.close()

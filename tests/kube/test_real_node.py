"""A real JupyterLab in a real pod, reached through the API server alone."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

import httpx
import pytest
from websockets.sync.client import unix_connect

from provisioning.drivers.base import Phase
from provisioning.drivers.kubernetes import rights
from provisioning.drivers.kubernetes.reading import text
from tests.drivers.rig import a_spec, until
from tests.kube.clusters import Lab
from tests.kube.rig import KubeRig, connection_in

IMAGE: Final = "localhost/python:1"


@pytest.fixture
def rig(lab: Lab, real_node: str) -> Iterator[KubeRig]:
    """Its pods find the real node as customers' do: by the accelerator that no other node has."""
    assert real_node == "NVIDIA-L4"
    rig = KubeRig(connection_in(lab.kubeconfig), nodes={}, storage="lab")
    yield rig
    rig.clear()


class TestARealServer:
    def test_it_works_in_a_restricted_pod_and_is_reached_through_the_tunnel(self, rig: KubeRig) -> None:
        spec = a_spec(image=IMAGE, accelerator="L4", accelerator_count=1)
        rig.present(spec)
        ready = until(lambda: rig.driver.observe(spec), lambda o: o.ready or o.phase is Phase.FAILED, seconds=120)
        assert ready.ready, ready
        least = rig.with_rights(rights.WORKSPACES)
        endpoint = least.endpoint_of(spec)
        assert endpoint is not None
        assert endpoint.unix_socket is not None

        said = _run(endpoint.unix_socket, "open('notes.txt', 'w').write('kept'); print(6 * 7)")

        assert said == "42\n"
        assert (rig.home(spec) / "notes.txt").read_text() == "kept"
        assert [kernel.name for kernel in least.activity(spec, now=datetime.now(UTC)).kernels] == ["python3"]
        assert "Jupyter Server" in "\n".join(least.logs(spec, tail=50))
        assert _refuses(text(rig.pod(spec), "status", "podIP"))
        before = rig.now()

        stopped = rig.stopped(spec)

        assert stopped.phase is Phase.STOPPED
        assert stopped.ended_at is not None
        assert before <= stopped.ended_at <= datetime.now(UTC)
        assert (rig.home(spec) / "notes.txt").read_text() == "kept"


def _run(way: str, code: str) -> str:
    """What a new kernel prints for this, by HTTP and a WebSocket through the tunnel."""
    with httpx.Client(transport=httpx.HTTPTransport(uds=way), base_url="http://localhost") as client:
        client.get("/lab").raise_for_status()
        token = {"X-XSRFToken": client.cookies["_xsrf"]}
        kernel = client.post("/api/kernels", json={"name": "python3"}, headers=token).raise_for_status().json()["id"]
    header = {"msg_id": uuid4().hex, "msg_type": "execute_request", "session": uuid4().hex, "username": ""}
    asked = {
        "channel": "shell",
        "header": header | {"version": "5.3", "date": datetime.now(UTC).isoformat()},
        "parent_header": {},
        "metadata": {},
        "content": {"code": code, "silent": False, "store_history": False, "allow_stdin": False},
    }
    with unix_connect(way, uri=f"ws://localhost/api/kernels/{kernel}/channels", open_timeout=20) as channels:
        channels.send(json.dumps(asked))
        while True:
            said = json.loads(channels.recv(timeout=30))
            if said["msg_type"] == "stream":
                return str(said["content"]["text"])


def _refuses(address: str) -> bool:
    """Nobody listens on the pod's own address."""
    with socket.socket() as outside:
        outside.settimeout(2)
        return outside.connect_ex((address, 8888)) != 0

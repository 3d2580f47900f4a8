"""A workspace that truly runs: the manifest of the driver, a real kubelet, a real JupyterLab, by port-forward."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from provisioning.drivers.base import Phase, WorkspaceSpec
from provisioning.drivers.kubernetes.driver import KubernetesDriver
from provisioning.drivers.kubernetes.names import namespace_of
from provisioning.drivers.places import Place
from tests.drivers.rig import SETTLED, a_spec, until
from tests.kube.conftest import Kinds
from tests.kube.rig import connection_in

IMAGE = "localhost/python:1"


@pytest.fixture
def driver(real_node: str, cluster: Path) -> KubernetesDriver:
    """Its claims go to the class of the lab; nothing of its manifests is altered."""
    return KubernetesDriver(Place("kubernetes", uuid4(), connection_in(cluster), (("standard", "lab"),)))


@pytest.fixture
def spec(real_node: str, kinds: Kinds) -> Iterator[WorkspaceSpec]:
    found = a_spec(image=IMAGE, accelerator=real_node, accelerator_count=1)
    yield found
    kinds("v1", "Namespace").delete(name=namespace_of(found.project_id))


def test_jupyterlab_starts_answers_tells_its_activity_and_ends(driver: KubernetesDriver, spec: WorkspaceSpec) -> None:
    driver.ensure_present(spec)
    started = until(lambda: driver.observe(spec), lambda seen: seen.ready or seen.phase in SETTLED, seconds=90)
    assert started.ready, started
    endpoint = driver.endpoint_of(spec)
    assert endpoint is not None

    with httpx.Client(transport=httpx.HTTPTransport(uds=endpoint.unix_socket), base_url="http://workspace") as browser:
        page = browser.get("/lab")
        assert "JupyterLab" in page.text
        kernel = browser.post("/api/kernels", headers={"X-XSRFToken": browser.cookies.get("_xsrf", "")}).json()
        assert kernel["name"] == "python3"
    assert len(driver.activity(spec, now=datetime.now(UTC)).kernels) == 1
    assert any("Jupyter Server" in line for line in driver.logs(spec, tail=50))

    ended = until(lambda: driver.ensure_stopped(spec), lambda seen: seen.phase in SETTLED, seconds=60)
    assert ended.phase is Phase.STOPPED

"""The main job on a cluster, in a real browser: a real pod runs JupyterLab, reached through the API server alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import sync_playwright

from provisioning.drivers.kubernetes.reading import name_of
from tests.browser.visitor import Visitor, notebook_in, run_cell
from tests.kube.access import kubeconfig_of, shipped_account
from tests.kube.clusters import Lab
from tests.kube.conftest import Kinds
from tests.look.browser import chromium
from tests.platform import Platform, running, wait_until

IMAGE = "localhost/python:1"
SIZE = """
from django.utils import timezone
from core import acts, scope
from core.acts import Source, SourceKind
from core.types import system_actor
from provisioning.services.catalogue import AcceleratorOffer, Offer, ShapeOffer, publish_offer
from billing.models import Sku
with scope.of_platform():
    sku = Sku.objects.filter(code__startswith="gpu-hour/").order_by("code").first().code
offer = Offer(
    region="lab", region_label="The lab", clusters=(), accelerators=(AcceleratorOffer("L4", "NVIDIA", 24),),
    shapes=(ShapeOffer("l4-1", "One small L4", "L4", 1, 1, 1, sku, 1),), images=(),
)
with acts.begin(Source(SourceKind.COMMAND)), scope.of_platform():
    publish_offer(actor=system_actor("tests", None), offer=offer, now=timezone.now())
"""


@dataclass
class Cloud:
    """A platform with the lab in its fleet, reached with the rights that it ships and no more."""

    platform: Platform
    lab: Lab
    kinds: Kinds

    def pods(self) -> list[dict[str, object]]:
        found = self.kinds("v1", "Pod").get(label_selector="app.kubernetes.io/managed-by=steelyard").to_dict()
        items: list[dict[str, object]] = found["items"]
        return items


@pytest.fixture(scope="module")
def cloud(lab: Lab, real_node: str, kinds: Kinds) -> Iterator[Cloud]:
    assert real_node == "NVIDIA-L4"
    with running({"STEELYARD_OUTGOING_NETWORKS": "127.0.0.0/8"}) as platform:
        platform.manage("shell", "-c", SIZE)
        platform.manage("offer_image", "jupyterlab", IMAGE, "--label", "JupyterLab")
        kubeconfig = platform.folder / "kubeconfig"
        kubeconfig.write_text(kubeconfig_of(shipped_account(lab.kubeconfig, kinds)))
        platform.manage(
            "register_cluster", "lab", "--region", "lab", "--storage-class", "lab", "--kubeconfig", str(kubeconfig)
        )
        wait_until(lambda: free_now(platform), seconds=60)
        yield Cloud(platform, lab, kinds)


def free_now(platform: Platform) -> int:
    """How many of the size would start: none until the nodes of the new cluster are listed."""
    with platform.api("alice") as api:
        shapes = api.get("shapes", params={"limit": "200"}).json()["results"]
    return int(next(each["free_now"] for each in shapes if each["slug"] == "l4-1"))


def test_a_notebook_opens_runs_and_ends_with_its_bill(cloud: Cloud) -> None:
    platform = cloud.platform
    with sync_playwright() as playwright, chromium(playwright) as browser:
        alice = Visitor.enter(browser, platform, "alice", kept={})
        alice.launch("on-the-cluster", shape="One small L4")
        alice.sees_state("Running", seconds=180)
        (pod,) = cloud.pods()
        lab = alice.open_workspace()
        notebook_in(lab, "where.ipynb", "import os; print(os.uname().nodename)")

        assert run_cell(lab) == name_of(pod)

        lab.close()
        alice.press_in_dialog("Stop", "Stop on-the-cluster?", "Stop")
        alice.sees_state("Stopped", seconds=60)
        assert cloud.pods() == []
        with platform.api("alice") as api:
            (found,) = api.get("workloads").json()["results"]
            usage = api.get(f"workloads/{found['id']}/usage").json()["results"]
        (hardware,) = [each for each in usage if each["component"] == "accelerator"]
        assert hardware["to"] is not None
        assert float(hardware["duration_seconds"]) > 0
        alice.leave()

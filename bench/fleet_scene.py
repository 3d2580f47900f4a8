"""One organisation with ten projects and a cluster of fake nodes. Imported when Django is set up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from django.db import connection
from django.utils import timezone

from core import scope
from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes import namespaces, runs, volumes
from provisioning.drivers.kubernetes.client import Api
from provisioning.drivers.kubernetes.kubeconfig import parse_kubeconfig
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.reading import Json, condition
from provisioning.drivers.places import Place
from provisioning.drivers.registry import driver_at
from provisioning.models import Cluster, Workload
from provisioning.reconciler.sweeping import list_nodes
from provisioning.services.catalogue import ImageOffer, Offer, ShapeOffer, publish_offer
from provisioning.services.cluster_health import look_again
from provisioning.services.clusters import Registration, register
from provisioning.services.launching import launch
from provisioning.types import WorkloadSpec
from tenants.models import Quota
from tenants.services.quotas import set_limit
from tests import house
from tests.billing.shop import DISK, sell
from tests.house import Tenant
from tests.provisioning.stage import CPU, LONG_AGO

PROJECTS: Final = 10
SLUG: Final = "fleet"
IMAGE: Final = "registry.example/jupyterlab:4"
VCPUS, MEMORY_GIB, DISK_GIB = 1, 4, 10


def open_fleet(kubeconfig: Path) -> Tenant:
    """A catalogue with prices, the cluster with its inventory, and people with limits that are never met."""
    for code, price, unit in ((CPU, "0.0248", "hour"), (DISK, "0.0001", "gib_hour")):
        sell(code, (price, LONG_AGO), unit=unit)
    shapes = (ShapeOffer("cpu-1", "1 vCPU", None, 0, VCPUS, MEMORY_GIB, CPU, 1),)
    images = (ImageOffer("jupyterlab", "JupyterLab", oci_reference=IMAGE),)
    offer = Offer("here", "Here", clusters=(), accelerators=(), shapes=shapes, images=images)
    reached = replace(parse_kubeconfig(kubeconfig.read_text()), answer_s=10.0)
    with house.an_act(), scope.of_platform():
        publish_offer(actor=house.SYSTEM, offer=offer, now=LONG_AGO)
    with house.an_act(), scope.of_platform():
        cluster = register(actor=house.SYSTEM, registration=Registration(SLUG, "Fleet", "here", reached), now=LONG_AGO)
    look_again(cluster_id=cluster.pk, now=timezone.now())
    list_nodes(cluster_id=cluster.pk, drivers=driver_at, clock=timezone.now)
    tenant = house.found("bench", projects=tuple(f"p{number}" for number in range(PROJECTS)))
    house.join(tenant, "olivia", "owner")
    with tenant.scope():
        quotas = list(Quota.objects.values_list("pk", flat=True))
    for quota_id in quotas:
        with house.an_act(), tenant.scope():
            set_limit(actor=tenant.actor("olivia"), quota_id=quota_id, limit=10**9, now=timezone.now())
    return tenant


def launch_all(tenant: Tenant, count: int) -> None:
    """Wishes through the service that the API and the form call."""
    olivia, projects = tenant.actor("olivia"), list(tenant.projects.values())
    spec = WorkloadSpec(kind="workspace", shape="cpu-1", image="jupyterlab", disk_gib=DISK_GIB)
    for number in range(count):
        with house.an_act(), tenant.scope():
            launch(actor=olivia, project=projects[number % PROJECTS], spec=spec, now=timezone.now())
    connection.cursor().execute("ANALYZE")  # as autovacuum does within the minute


def states(tenant: Tenant) -> Counter[str]:
    with tenant.scope():
        return Counter(Workload.objects.values_list("state", flat=True))


def ready_pods(kubeconfig: Path) -> int:
    """Of all, as the API server knows them."""
    api = Api(replace(parse_kubeconfig(kubeconfig.read_text()), answer_s=30.0))
    return sum(condition(pod, "Ready").get("status") == "True" for pod in api.list(path("Pod")))


def cluster_id() -> UUID:
    return Cluster.objects.get(slug=SLUG).pk


def manifests(count: int) -> Iterator[Json]:
    """What so many workloads need on a cluster, as the driver writes it, in the order in which it is applied."""
    place, ground = Place("kubernetes", uuid4()), namespaces.Ground()
    organization_id, projects = uuid4(), [uuid4() for _ in range(PROJECTS)]
    for project_id in projects:
        yield from namespaces.manifests(
            cluster_id=place.cluster_id, organization_id=organization_id, project_id=project_id, ground=ground
        )
    for number in range(count):
        spec = RunSpec(
            workload_id=uuid4(),
            organization_id=organization_id,
            project_id=projects[number % PROJECTS],
            volume_id=uuid4(),
            kind="workspace",
            image=IMAGE,
            vcpus=VCPUS,
            memory_gib=MEMORY_GIB,
            disk_gib=DISK_GIB,
        )
        yield volumes.claim(spec, place)
        yield runs.manifest(spec, place, uuid4().hex)

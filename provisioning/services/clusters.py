"""Clusters behind an API server: looked at, then taken into the fleet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.db import IntegrityError, transaction

from core import audit
from core.errors import Conflict, FieldError, Invalid, NotFound, Stale
from core.outgoing import check_host
from core.queue import enqueue_on_commit
from core.types import Actor, Json, ObjectRef
from provisioning.drivers.base import Capabilities, TellsCapabilities
from provisioning.drivers.places import LOCAL, Connection, Place
from provisioning.drivers.registry import driver_at
from provisioning.enums import ClusterStanding, TaskName
from provisioning.models import Cluster, ClusterAccess, Region
from tenants.enums import PlatformPermission
from tenants.permissions import authorize_platform

KUBERNETES: Final = "kubernetes"
RESERVED: Final = frozenset({"new"})
"""Words that addresses of pages have where a slug stands."""
TIERS: Final = ("standard",)
"""Tiers of disk, each with a storage class of the cluster."""

_SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_NOTHING_YET: Final[dict[str, object]] = {"accelerators": {}, "vcpus": 0, "memory_gib": 0}


@dataclass(frozen=True, slots=True)
class Change:
    """What of a cluster is to be otherwise; None: as it is."""

    label: str | None = None
    storage_classes: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Registration:
    """`region`: its slug. `storage_classes`: of the cluster, by our disk tier ("standard")."""

    slug: str
    label: str
    region: str
    connection: Connection
    storage_classes: Mapping[str, str] = field(default_factory=dict)


def look_at(*, actor: Actor, connection: Connection) -> Capabilities:
    """What the cluster is and which rights are missing. Asks over the network: call it outside any transaction.

    Raises NotFound, Forbidden; core.outgoing.NotReached where the address is none that the platform calls;
    DriverUnavailable where it does not answer, or does not know the credentials.
    """
    authorize_platform(actor, PlatformPermission.OPERATE_FLEET)
    check_host(connection.server)
    driver = driver_at(Place(KUBERNETES, connection=connection))
    assert isinstance(driver, TellsCapabilities)
    return driver.capabilities()


@transaction.atomic
def register(*, actor: Actor, registration: Registration, now: datetime) -> Cluster:
    """Take a cluster into the fleet, in the platform's scope. It offers nothing until its inventory was taken.

    Its credentials are kept encrypted and never shown again. Raises NotFound, Forbidden, Invalid and Conflict.
    """
    authorize_platform(actor, PlatformPermission.OPERATE_FLEET)
    if problems := problems_of(registration):
        raise Invalid(problems)
    region = Region.objects.get(slug=registration.region)
    try:
        with transaction.atomic():
            cluster = Cluster.objects.create(
                slug=registration.slug,
                label=registration.label.strip(),
                driver=KUBERNETES,
                region=region,
                capacity=_NOTHING_YET,
            )
    except IntegrityError:
        raise Conflict(f"There is a cluster {registration.slug} already.", code="slug_taken") from None
    access = ClusterAccess(cluster=cluster, storage_classes=dict(registration.storage_classes), changed_at=now)
    access.connection = registration.connection
    access.save()
    audit.record(
        actor,
        "cluster.registered",
        ref_of(cluster),
        now=now,
        after={"region": region.slug, "server": access.server, "driver": KUBERNETES},
    )
    enqueue_on_commit(TaskName.CHECK_CLUSTER, cluster_id=cluster.pk)
    return cluster


@transaction.atomic
def change(*, actor: Actor, slug: str, change: Change, now: datetime, expected_revision: int | None = None) -> Cluster:
    """Another label, other storage classes. Disks that are there stay where they are. In the platform's scope.

    Raises NotFound, Forbidden, Invalid and Conflict; Stale where it is no longer at the revision that was read.
    """
    cluster = locked_cluster(actor, slug)
    if expected_revision is not None and cluster.revision != expected_revision:
        raise Stale("The cluster has changed since you read it. Read it again, then send your change.")
    access = ClusterAccess.objects.select_for_update().get(cluster=cluster)
    before: dict[str, Json] = {"label": cluster.label, "storage_classes": dict(access.storage_classes)}
    if change.label is not None:
        if problems := _problems_of_label(change.label):
            raise Invalid(problems)
        cluster.label = change.label.strip()
    if change.storage_classes is not None:
        if problems := _problems_of_classes(change.storage_classes):
            raise Invalid(problems)
        access.storage_classes = dict(change.storage_classes)
        access.save(update_fields=["storage_classes"])
        enqueue_on_commit(TaskName.CHECK_CLUSTER, cluster_id=cluster.pk)
    cluster.revision += 1
    cluster.save(update_fields=["label", "revision"])
    after: dict[str, Json] = {"label": cluster.label, "storage_classes": dict(access.storage_classes)}
    audit.record(actor, "cluster.changed", ref_of(cluster), now=now, before=before, after=after)
    return cluster


def locked_cluster(actor: Actor, slug: str) -> Cluster:
    """The row under its whole lock, which waits for launches that have named it and are not yet committed.

    Raises NotFound, Forbidden; Conflict for this machine, and for a cluster that was removed.
    """
    authorize_platform(actor, PlatformPermission.OPERATE_FLEET)
    cluster = Cluster.objects.select_for_update().filter(slug=slug).first()
    if cluster is None:
        raise NotFound("cluster", slug)
    if cluster.driver == LOCAL.driver:
        raise Conflict("This machine is no cluster that is taken in and out of the fleet.", code="local_cluster")
    if cluster.standing == ClusterStanding.REMOVED:
        raise Conflict(f"{slug} was removed from the fleet.", code="cluster_removed")
    return cluster


def ref_of(cluster: Cluster) -> ObjectRef:
    return ObjectRef("cluster", str(cluster.pk), cluster.slug)


def problems_of(registration: Registration) -> list[FieldError]:
    """What of it cannot be, beside the cluster's own answer. In the platform's scope."""
    found = []
    if not _SLUG.fullmatch(registration.slug):
        message = "A slug has 1 to 40 small letters, digits and hyphens, and none of these at an end."
        found.append(FieldError("slug", "malformed", message))
    if registration.slug in RESERVED:
        found.append(FieldError("slug", "reserved", f"No cluster is called {registration.slug}: choose another slug."))
    found += _problems_of_label(registration.label) + _problems_of_classes(registration.storage_classes)
    if not Region.objects.filter(slug=registration.region).exists():
        known = ", ".join(Region.objects.order_by("slug").values_list("slug", flat=True)) or "none"
        message = f"There is no region {registration.region!r}; there are: {known}."
        found.append(FieldError("region", "unknown", message))
    return found


def _problems_of_label(label: str) -> list[FieldError]:
    if 0 < len(label.strip()) <= 80 and label.isprintable():
        return []
    return [FieldError("label", "malformed", "A label has 1 to 80 signs, in one line.")]


def _problems_of_classes(classes: Mapping[str, str]) -> list[FieldError]:
    if set(classes) <= set(TIERS):
        return []
    return [FieldError("storage_classes", "unknown_tier", f"Disks have these tiers: {', '.join(TIERS)}.")]

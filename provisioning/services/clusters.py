"""Clusters behind an API server: looked at, then taken into the fleet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from django.db import IntegrityError, transaction

from core import audit
from core.errors import Conflict, FieldError, Invalid
from core.outgoing import check_host
from core.queue import enqueue_on_commit
from core.types import Actor, ObjectRef
from provisioning.drivers.base import Capabilities, TellsCapabilities
from provisioning.drivers.places import Connection, Place
from provisioning.drivers.registry import driver_at
from provisioning.enums import TaskName
from provisioning.models import Cluster, ClusterAccess, Region
from tenants.enums import PlatformPermission
from tenants.permissions import authorize_platform

KUBERNETES: Final = "kubernetes"

_SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_NOTHING_YET: Final[dict[str, object]] = {"accelerators": {}, "vcpus": 0, "memory_gib": 0}


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
    region = Region.objects.filter(slug=registration.region).first()
    if problems := list(_problems(registration, region)):
        raise Invalid(problems)
    assert region is not None
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
        ObjectRef("cluster", str(cluster.pk), cluster.slug),
        now=now,
        after={"region": region.slug, "server": access.server, "driver": KUBERNETES},
    )
    enqueue_on_commit(TaskName.CHECK_CLUSTER, cluster_id=cluster.pk)
    return cluster


def _problems(registration: Registration, region: Region | None) -> list[FieldError]:
    found = []
    if not _SLUG.fullmatch(registration.slug):
        message = "A slug has 1 to 40 small letters, digits and hyphens, and none of these at an end."
        found.append(FieldError("slug", "malformed", message))
    if not 0 < len(registration.label.strip()) <= 80 or not registration.label.isprintable():
        found.append(FieldError("label", "malformed", "A label has 1 to 80 signs, in one line."))
    if region is None:
        known = ", ".join(Region.objects.order_by("slug").values_list("slug", flat=True)) or "none"
        message = f"There is no region {registration.region!r}; there are: {known}."
        found.append(FieldError("region", "unknown", message))
    return found

"""How clusters are: asked outside any transaction, written down in a short one. A look changes health, never work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.encryption import Undecipherable
from core.outgoing import NotReached, check_host
from core.types import Actor, Json, Reason, system_actor
from provisioning.drivers.base import (
    Capabilities,
    DriverUnavailable,
    TellsCapabilities,
    Unauthorized,
    WorkloadDriver,
)
from provisioning.drivers.places import LOCAL, Place
from provisioning.drivers.registry import driver_at
from provisioning.enums import ClusterHealth, ClusterStanding
from provisioning.models import Cluster
from provisioning.selectors.specs import place_of
from provisioning.services.clusters import locked_cluster, ref_of

EVERY: Final = timedelta(minutes=5)
NO_STORAGE_CLASS: Final = "no_storage_class"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a look found: everything that is wanting, the gravest first. `seen` is None where it could not be asked."""

    health: ClusterHealth
    reasons: tuple[Reason, ...] = ()
    seen: Capabilities | None = field(default=None, repr=False)

    @property
    def reason(self) -> Reason | None:
        """All of them under the code of the first."""
        if not self.reasons:
            return None
        return replace(self.reasons[0], message=" ".join(reason.message for reason in self.reasons))


def due_for_a_look(now: datetime) -> list[UUID]:
    """In the platform's scope."""
    old = Q(checked_at=None) | Q(checked_at__lte=now - EVERY)
    clusters = Cluster.objects.exclude(driver=LOCAL.driver).exclude(standing=ClusterStanding.REMOVED)
    return list(clusters.filter(old).order_by("checked_at").values_list("pk", flat=True))


def check_cluster(*, cluster_id: UUID, drivers: Callable[[Place], WorkloadDriver], now: datetime) -> Finding | None:
    """Look at a cluster and write down what it is; None where there is nothing to look at."""
    try:
        with scope.of_platform():
            cluster = Cluster.objects.filter(pk=cluster_id).first()
            place = place_of(cluster) if cluster is not None else LOCAL
    except Undecipherable:
        message = "The key that encrypted its credentials is gone. Give them again."
        finding = Finding(ClusterHealth.UNAUTHORIZED, (Reason("credentials_lost", message),))
        return _write(cluster_id, finding, now)
    if place.connection is None:
        return None
    return _write(cluster_id, look(place, drivers), now)


def look_again(*, cluster_id: UUID, now: datetime) -> Finding | None:
    """Look at it now, with the driver that works there."""
    return check_cluster(cluster_id=cluster_id, drivers=driver_at, now=now)


@transaction.atomic
def note_check(*, actor: Actor, slug: str, now: datetime) -> Cluster:
    """Write down that somebody had a cluster looked at, and what was found. In the platform's scope."""
    cluster = locked_cluster(actor, slug)
    audit.record(actor, "cluster.checked", ref_of(cluster), now=now, after=_shown(cluster))
    return cluster


def look(place: Place, drivers: Callable[[Place], WorkloadDriver]) -> Finding:
    """Ask the cluster what it is. Outside any transaction; whatever it answers is a finding."""
    assert place.connection is not None
    try:
        check_host(place.connection.server)
        driver = drivers(place)
        if not isinstance(driver, TellsCapabilities):
            return Finding(ClusterHealth.UNKNOWN)
        return judge(driver.capabilities(), place)
    except Unauthorized as error:
        return Finding(ClusterHealth.UNAUTHORIZED, (Reason("credentials_refused", str(error)),))
    except NotReached as error:
        return Finding(ClusterHealth.UNREACHABLE, (Reason("address_not_called", str(error)),))
    except DriverUnavailable as error:
        return Finding(ClusterHealth.UNREACHABLE, (Reason("no_answer", str(error)),))


def judge(seen: Capabilities, place: Place) -> Finding:
    """Whether what is there suffices. Pure."""
    reasons = tuple(_wanting(seen, place))
    return Finding(ClusterHealth.DEGRADED if reasons else ClusterHealth.HEALTHY, reasons, seen)


def _wanting(seen: Capabilities, place: Place) -> Iterator[Reason]:
    if seen.missing_rights:
        message = f"These rights are missing: {'; '.join(seen.missing_rights)}."
        yield Reason("rights_missing", message, ask="the cluster's administrator")
    gone = sorted({name for _, name in place.storage_classes} - set(seen.storage_classes))
    if gone:
        yield Reason("storage_class_missing", f"It has no storage class {', '.join(gone)} (any more).")
    if not place.storage_classes and not seen.default_storage_class:
        message = "It has no default storage class, and none was named: disks would wait for ever."
        yield Reason(NO_STORAGE_CLASS, message)


def _write(cluster_id: UUID, finding: Finding, now: datetime) -> Finding | None:
    """What was asked earlier and answered later is old and changes nothing."""
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_platform():
        cluster = Cluster.objects.select_for_update(no_key=True).filter(pk=cluster_id).first()
        if cluster is None or (cluster.checked_at is not None and now < cluster.checked_at):
            return None
        before = _shown(cluster)
        cluster.health, cluster.checked_at = finding.health, now
        cluster.health_reason = finding.reason.as_json() if finding.reason else None
        if finding.seen is not None:
            cluster.version, cluster.offers = finding.seen.version, _offers(finding.seen)
        cluster.save(update_fields=["health", "health_reason", "version", "offers", "checked_at"])
        after = _shown(cluster)
        if before != after:
            actor, ref = system_actor("cluster check", None), ref_of(cluster)
            audit.record(actor, "cluster.health_changed", ref, now=now, before=before, after=after)
    return finding


def _shown(cluster: Cluster) -> dict[str, Json]:
    code = cluster.health_reason["code"] if cluster.health_reason else None
    return {"health": str(cluster.health), "reason": code, "version": cluster.version}


def _offers(seen: Capabilities) -> dict[str, Json]:
    return {
        "installed": list(seen.offers),
        "storage_classes": list(seen.storage_classes),
        "default_storage_class": seen.default_storage_class,
        "devices": list(seen.devices),
        "missing_rights": list(seen.missing_rights),
        "topology": {"name": seen.topology.name, "levels": list(seen.topology.levels)} if seen.topology else None,
    }

"""What clusters have to give, for the people of the platform. Global tables: in any scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from core.types import Actor
from provisioning.drivers.places import LOCAL
from provisioning.enums import ClusterHealth, ClusterStanding, Standing
from provisioning.models import Cluster, Node, Workload
from provisioning.models.catalogue import flat_capacity
from tenants.enums import PlatformPermission
from tenants.permissions import authorize_platform

_ACCELERATORS = "accelerators/"


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Slug of a cluster, word of a standing; empty: all."""

    cluster: str = ""
    standing: str = ""


@dataclass(frozen=True, slots=True)
class ClusterStock:
    """A cluster's accelerators by model: there are, out of service, occupied. `listed_at`: when nodes were listed.

    `why`: what the last look at it, `checked_at`, found wanting.
    """

    slug: str
    label: str
    standing: ClusterStanding
    health: ClusterHealth
    why: str
    version: str
    checked_at: datetime | None
    listed_at: datetime | None
    accelerators: tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class NodeStock:
    """`accelerators`: of each kind its name, how many are in service, how many there are, how many of those in service
    are occupied. `place`: widest first. `runs`: of each workload there its name, its organisation's, its accelerators.
    """

    cluster: str
    name: str
    standing: Standing
    reason: str
    place: tuple[str, ...]
    accelerators: tuple[tuple[str, int, int, int], ...]
    runs: tuple[tuple[str, str, int], ...]
    others: tuple[tuple[str, int], ...]


def nodes_matching(actor: Actor, asked: NodeFilter) -> QuerySet[Node]:
    """Nodes that are there. Raises NotFound or Forbidden for who does not run the fleet."""
    authorize_platform(actor, PlatformPermission.OPERATE_FLEET)
    found = Node.objects.filter(gone_at=None).select_related("cluster")
    if asked.cluster:
        found = found.filter(cluster__slug=asked.cluster)
    return found.filter(standing=asked.standing) if asked.standing else found


def cluster_stocks() -> list[ClusterStock]:
    """Of clusters that are reached over the network and still in the fleet."""
    rows = Cluster.objects.exclude(driver=LOCAL.driver).exclude(standing=ClusterStanding.REMOVED)
    return [stock_of(row) for row in rows.order_by("slug")]


def stock_of(row: Cluster) -> ClusterStock:
    """A cluster's accelerators and how it stands and is. No query."""
    amounts = flat_capacity(row.capacity)
    names = sorted(name for name in amounts if name.startswith(_ACCELERATORS))
    return ClusterStock(
        slug=row.slug,
        label=row.label,
        standing=ClusterStanding(row.standing),
        health=ClusterHealth(row.health),
        why=row.health_reason["message"] if row.health_reason else "",
        version=row.version,
        checked_at=row.checked_at,
        listed_at=row.inventory_at,
        accelerators=tuple(
            (name.removeprefix(_ACCELERATORS), amounts[name], row.out_of_service.get(name, 0), row.used.get(name, 0))
            for name in names
        ),
    )


def node_stocks(*, after: tuple[str, str], most: int) -> list[NodeStock]:
    """Nodes that are there, by cluster and name, behind the named one. One query."""
    slug, name = after
    behind = Q(cluster__slug__gt=slug) | Q(cluster__slug=slug, name__gt=name)
    return _stocks(Node.objects.filter(behind, gone_at=None).order_by("cluster__slug", "name"), most)


def ailing_nodes(*, most: int) -> list[NodeStock]:
    """Nodes that are there and not wholly in service. One query."""
    found = Node.objects.filter(gone_at=None).exclude(standing=Standing.IN_SERVICE)
    return _stocks(found.order_by("cluster__slug", "name"), most)


def _stocks(rows: QuerySet[Node], most: int) -> list[NodeStock]:
    """Two queries, in the platform's scope: what runs there has names of every organisation."""
    found = list(rows.select_related("cluster")[:most])
    ids = {each["workload"] for row in found for each in row.occupied}
    named = Workload.objects.filter(pk__in=ids).values_list("pk", "name", "organization__name")
    names = {str(key): (name, organization) for key, name, organization in named}
    return [_node(row, names) for row in found]


def _node(row: Node, names: Mapping[str, tuple[str, str]]) -> NodeStock:
    standing = Standing(row.standing)
    up = standing in (Standing.IN_SERVICE, Standing.DEGRADED)
    return NodeStock(
        cluster=row.cluster.slug,
        name=row.name,
        standing=standing,
        reason=row.reason,
        place=tuple(row.topology[level] for level in ("zone", "block", "rack") if level in row.topology),
        accelerators=tuple(
            (one["offered_as"], one["healthy"] if up else 0, one["count"], _occupied(row, one["resource"]))
            for one in row.allocatable["accelerators"]
        ),
        runs=tuple(
            (*names.get(each["workload"], (each["workload"], "")), sum(each["devices"].values()))
            for each in row.occupied
        ),
        others=tuple((one["resource"], one["count"]) for one in row.allocatable["others"]),
    )


def _occupied(row: Node, resource: str) -> int:
    return sum(each["devices"].get(resource, 0) for each in row.occupied)

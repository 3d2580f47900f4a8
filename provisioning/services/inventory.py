"""Takes in what a cluster's nodes have to give: the nodes, the intervals of capacity, the cluster's own sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from django.contrib.postgres.fields import DateTimeRangeField
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import F, Func, Value

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.types import Json, ObjectRef, system_actor
from provisioning.drivers.base import Placed
from provisioning.inventory import Accelerator, Amounts, NodeFacts, out_of_service, whole
from provisioning.models import CapacityInterval, Cluster, Node

_ACCELERATORS = "accelerators/"
_TOLD = ("name", "allocatable", "topology", "standing", "reason", "seen_at", "gone_at")
Kind: TypeAlias = tuple[UUID, str, str]
"""Node, model, sharing."""


def take_placement(*, cluster_id: UUID, placed: Iterable[Placed]) -> None:
    """What of ours is on each node now. For people to see: nothing is placed or billed by it."""
    on: dict[str, list[dict[str, Json]]] = {}
    for each in placed:
        on.setdefault(each.node, []).append({"workload": str(each.workload_id), "devices": dict(each.devices)})
    with scope.of_platform():
        rows = list(Node.objects.filter(cluster=cluster_id, gone_at=None).only("pk", "name", "occupied"))
        changed = [row for row in rows if row.occupied != on.get(row.name, [])]
        for row in changed:
            row.occupied = on.get(row.name, [])
        Node.objects.bulk_update(changed, ["occupied"])


def take_inventory(*, cluster_id: UUID, nodes: Iterable[NodeFacts], now: datetime) -> bool:
    """Make our books say what a whole list of the cluster's nodes said at `now`; True where they were older.

    A list that is not newer than the last one changes nothing. What is used is never touched: what runs on a node goes
    on when the node is cordoned.
    """
    listed = {node.uid: node for node in nodes}
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_platform():
        cluster = Cluster.objects.select_for_update(no_key=True).filter(pk=cluster_id).first()
        if cluster is None or (cluster.inventory_at is not None and now <= cluster.inventory_at):
            return False
        ids = _record(cluster, listed, now)
        _turn(cluster, _in_service(listed, ids), now)
        _sum_up(cluster, list(listed.values()), now)
    return True


def _record(cluster: Cluster, listed: Mapping[str, NodeFacts], now: datetime) -> dict[str, UUID]:
    """The rows of the nodes by uid. Those that are no longer listed are gone since now."""
    Node.objects.bulk_create(
        [_row(cluster, node, now) for node in listed.values()],
        update_conflicts=True,
        unique_fields=["cluster", "uid"],
        update_fields=_TOLD,
    )
    Node.objects.filter(cluster=cluster, gone_at=None).exclude(uid__in=list(listed)).update(gone_at=now)
    return dict(Node.objects.filter(cluster=cluster, gone_at=None).values_list("uid", "pk"))


def _row(cluster: Cluster, node: NodeFacts, now: datetime) -> Node:
    return Node(
        cluster=cluster,
        uid=node.uid,
        name=node.name,
        allocatable={
            "cpu_millis": node.cpu_millis,
            "memory_bytes": node.memory_bytes,
            "accelerators": [_told(one) for one in node.accelerators],
            "others": [{"resource": one.resource, "count": one.count, "healthy": one.healthy} for one in node.others],
        },
        topology=dict(node.topology) | {"interconnect": dict(node.interconnect)},
        standing=node.standing,
        reason=node.reason,
        seen_at=now,
        gone_at=None,
    )


def _told(one: Accelerator) -> dict[str, Json]:
    return {
        "model": one.model,
        "sharing": one.sharing,
        "offered_as": one.offered_as,
        "resource": one.resource,
        "count": one.count,
        "healthy": one.healthy,
        "memory_mib": one.memory_mib,
    }


def _in_service(listed: Mapping[str, NodeFacts], ids: Mapping[str, UUID]) -> dict[Kind, int]:
    """Two resources of one kind (a plugin that renames what it shares) are one count."""
    counts: dict[Kind, int] = {}
    for uid, node in listed.items():
        for one in node.accelerators if node.takes_work else ():
            kind = (ids[uid], one.model, one.sharing)
            counts[kind] = counts.get(kind, 0) + one.healthy
    return {kind: count for kind, count in counts.items() if count}


def _turn(cluster: Cluster, counts: Mapping[Kind, int], now: datetime) -> None:
    """Close what is no longer so, open what is so now."""
    open_ = CapacityInterval.objects.filter(cluster=cluster, during__upper_inf=True)
    known = {(row.node_id, row.accelerator_model, row.sharing): row for row in open_}
    over = [row.pk for kind, row in known.items() if counts.get(kind) != row.count]
    CapacityInterval.objects.filter(pk__in=over).update(during=_until(now))
    CapacityInterval.objects.bulk_create(
        CapacityInterval(
            cluster=cluster,
            node_id=kind[0],
            accelerator_model=kind[1],
            sharing=kind[2],
            count=count,
            during=DateTimeTZRange(now, None),
        )
        for kind, count in counts.items()
        if kind not in known or known[kind].count != count
    )


def _until(now: datetime) -> Func:
    """Never empty: a list is newer than the one before."""
    start = F("during__startswith")
    return Func(start, Value(now), Value("[)"), function="tstzrange", output_field=DateTimeRangeField())


def _sum_up(cluster: Cluster, nodes: list[NodeFacts], now: datetime) -> None:
    """The cluster's own columns, and an event where they say something else than before."""
    before = {"capacity": cluster.capacity, "out_of_service": cluster.out_of_service}
    cluster.capacity, cluster.out_of_service = _by_kind(whole(nodes)), dict(out_of_service(nodes))
    cluster.inventory_at = now
    cluster.save(update_fields=["capacity", "out_of_service", "inventory_at"])
    after = {"capacity": cluster.capacity, "out_of_service": cluster.out_of_service}
    if before != after:
        ref = ObjectRef("cluster", str(cluster.pk), cluster.slug)
        actor = system_actor("inventory", None)
        audit.record(actor, "cluster.inventory_changed", ref, now=now, before=before, after=after)


def _by_kind(amounts: Amounts) -> dict[str, int | dict[str, int]]:
    """As a cluster keeps it: `{"accelerators": {"H100": 8}, "vcpus": 64, "memory_gib": 512}`."""
    models = {name.removeprefix(_ACCELERATORS): n for name, n in amounts.items() if name.startswith(_ACCELERATORS)}
    return {"accelerators": models, "vcpus": amounts.get("vcpus", 0), "memory_gib": amounts.get("memory_gib", 0)}

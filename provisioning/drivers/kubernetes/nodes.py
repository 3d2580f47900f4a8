"""The cluster's nodes, page by page, as facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

from provisioning.drivers.base import DriverUnavailable, Placed
from provisioning.drivers.kubernetes.accelerators import models_by_product
from provisioning.drivers.kubernetes.client import PAGE, Api, Refused
from provisioning.drivers.kubernetes.names import WORKLOAD
from provisioning.drivers.kubernetes.reading import Json, labels_of, part, rows, text
from provisioning.inventory import NodeFacts, facts_of
from provisioning.inventory.quantities import whole


def nodes_of(api: Api, *, page: int = PAGE) -> tuple[NodeFacts, ...]:
    """Raises DriverUnavailable where it is not the whole list: what is missing in it would be taken for gone."""
    models = models_by_product()
    return tuple(facts_of(node, models) for node in _listed(api, page))


def placed_of(pods: Iterable[Json]) -> tuple[Placed, ...]:
    """Where they are and which devices they hold. Those that have ended hold none; what is not ours is left out."""
    return tuple(found for pod in pods if (found := _placed(pod)) is not None)


def _placed(pod: Json) -> Placed | None:
    node, phase = text(pod, "spec", "nodeName"), text(pod, "status", "phase")
    try:
        workload_id = UUID(text(labels_of(pod), WORKLOAD))
    except ValueError:
        return None
    if not node or phase in ("Succeeded", "Failed"):
        return None
    devices: Counter[str] = Counter()
    for container in rows(pod, "spec", "containers"):
        asked = part(container, "resources", "limits")
        devices.update({name: whole(amount) for name, amount in asked.items() if "/" in name})
    return Placed(node, workload_id, tuple(sorted(devices.items())))


def _listed(api: Api, page: int) -> list[Json]:
    found: list[Json] = []
    query = {"limit": str(page)}
    while True:
        try:
            answer = api.get("/api/v1/nodes", **query)
        except Refused as error:  # the rest of a list is kept for some minutes only
            raise DriverUnavailable(f"The list of nodes broke off: {error.message}") from error
        if text(answer, "kind") != "NodeList":
            raise DriverUnavailable("The API server does not list its nodes.")
        found += rows(answer, "items")
        if not (following := text(answer, "metadata", "continue")):
            return found
        query["continue"] = following

"""The cluster's nodes, page by page, as facts."""

from __future__ import annotations

from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.kubernetes.accelerators import models_by_product
from provisioning.drivers.kubernetes.client import PAGE, Api, Refused
from provisioning.drivers.kubernetes.reading import Json, rows, text
from provisioning.inventory import NodeFacts, facts_of


def nodes_of(api: Api, *, page: int = PAGE) -> tuple[NodeFacts, ...]:
    """Raises DriverUnavailable where it is not the whole list: what is missing in it would be taken for gone."""
    models = models_by_product()
    return tuple(facts_of(node, models) for node in _listed(api, page))


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

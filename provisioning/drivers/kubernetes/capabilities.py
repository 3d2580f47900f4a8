"""What a cluster is and what it lets us do, as its API server tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.kubernetes.client import Api
from provisioning.drivers.kubernetes.reading import Json, at, rows, text, words
from provisioning.drivers.kubernetes.rights import WORKSPACES
from provisioning.drivers.places import Connection

REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
OFFERS: Final = {
    "kueue": "kueue.x-k8s.io",
    "kuberay": "ray.io",
    "jobset": "jobset.x-k8s.io",
    "dask_operator": "kubernetes.dask.org",
    "keda": "keda.sh",
    "gateway_api": "gateway.networking.k8s.io",
}
"""What may be installed, by the group of its API."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`offers`: of the table above, what is there. `missing_rights`: such as "create statefulsets.apps"."""

    version: str
    offers: tuple[str, ...]
    missing_rights: tuple[str, ...]


def capabilities_of(connection: Connection) -> Capabilities:
    """Some thirty short questions. Raises DriverUnavailable, and Forbidden where the credentials are not known."""
    api = Api(connection)
    version = api.get("/version")
    if version is None or not text(version, "gitVersion"):
        raise DriverUnavailable(f"{connection.server} is no Kubernetes API server.")
    groups = {text(group, "name") for group in rows(api.get("/apis") or {}, "groups")}
    return Capabilities(
        version=text(version, "gitVersion").removeprefix("v"),
        offers=tuple(name for name, group in OFFERS.items() if group in groups),
        missing_rights=tuple(_missing(api)),
    )


def _missing(api: Api) -> Iterator[str]:
    for attributes in _asked():
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        if at(api.create(REVIEWS, review), "status", "allowed") is not True:
            group = f".{attributes['group']}" if attributes["group"] else ""
            part = f"/{attributes['subresource']}" if attributes.get("subresource") else ""
            yield f"{attributes['verb']} {attributes['resource']}{part}{group}"


def _asked() -> Iterator[Json]:
    for rule in WORKSPACES:
        for group, resource, verb in product(words(rule, "apiGroups"), words(rule, "resources"), words(rule, "verbs")):
            name, _, subresource = resource.partition("/")
            yield {"group": group, "resource": name, "subresource": subresource, "verb": verb}

"""What a cluster is and what it lets us do, as its API server tells."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from provisioning.drivers.base import Capabilities, DriverUnavailable
from provisioning.drivers.kubernetes.client import Api, Forbidden
from provisioning.drivers.kubernetes.reading import Json, at, name_of, part, rows, text, words
from provisioning.drivers.kubernetes.rights import WORKSPACES

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


_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"


def capabilities_of(api: Api) -> Capabilities:
    """Some forty short questions. Raises DriverUnavailable, and Unauthorized where the credentials are not known."""
    version = api.get("/version")
    if version is None or not text(version, "gitVersion"):
        raise DriverUnavailable(f"{api.connection.server} is no Kubernetes API server.")
    classes = _classes(api)
    groups = {text(group, "name") for group in rows(api.get("/apis") or {}, "groups")}
    return Capabilities(
        version=text(version, "gitVersion").removeprefix("v"),
        offers=tuple(name for name, group in OFFERS.items() if group in groups),
        missing_rights=tuple(_missing(api)),
        storage_classes=tuple(sorted(classes)),
        default_storage_class=next((name for name in sorted(classes) if classes[name]), ""),
        devices=tuple(sorted(_devices(api))),
    )


def _classes(api: Api) -> dict[str, bool]:
    """Storage classes, and which of them is the default. None where we may not look: the right is named as missing."""
    try:
        listed = api.list("/apis/storage.k8s.io/v1/storageclasses")
    except Forbidden:
        return {}
    return {name_of(one): at(one, "metadata", "annotations", _DEFAULT_CLASS) == "true" for one in listed}


def _devices(api: Api) -> set[str]:
    """What device plugins offer on any node, such as nvidia.com/gpu or nvidia.com/mig-1g.10gb."""
    try:
        nodes = api.list("/api/v1/nodes")
    except Forbidden:
        return set()
    return {name for node in nodes for name in part(node, "status", "allocatable") if "/" in name}


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

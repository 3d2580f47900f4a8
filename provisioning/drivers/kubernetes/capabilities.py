"""What a cluster is and what it lets us do, as its API server tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from provisioning.drivers.base import Capabilities, DriverUnavailable
from provisioning.drivers.kubernetes.client import Api, Forbidden
from provisioning.drivers.kubernetes.objects import KUEUE, path
from provisioning.drivers.kubernetes.reading import Json, at, name_of, part, rows, text, words
from provisioning.drivers.kubernetes.rights import needed
from provisioning.drivers.places import Topology

REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
OFFERS: Final = {
    "kueue": "kueue.x-k8s.io",
    "kuberay": "ray.io",
    "jobset": "jobset.x-k8s.io",
    "dask_operator": "kubernetes.dask.org",
    "keda": "keda.sh",
    "metrics": "metrics.k8s.io",
    "gateway_api": "gateway.networking.k8s.io",
}
"""What may be installed, by the group of its API."""

_SPOKEN: Final = {"kueue": KUEUE}
"""The version that we speak, where an older installation does not serve it."""


_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"


def capabilities_of(api: Api) -> Capabilities:
    """Some forty short questions. Raises DriverUnavailable, and Unauthorized where the credentials are not known."""
    version = api.get("/version")
    if version is None or not text(version, "gitVersion"):
        raise DriverUnavailable(f"{api.connection.server} is no Kubernetes API server.")
    classes = _classes(api)
    offers = tuple(_offers(rows(api.get("/apis") or {}, "groups")))
    return Capabilities(
        version=text(version, "gitVersion").removeprefix("v"),
        offers=offers,
        missing_rights=tuple(_missing(api, offers)),
        storage_classes=tuple(sorted(classes)),
        default_storage_class=next((name for name in sorted(classes) if classes[name]), ""),
        devices=tuple(sorted(_devices(api))),
        topology=_topology(api) if "kueue" in offers else None,
    )


def _offers(groups: list[Json]) -> Iterator[str]:
    versions = {text(version, "groupVersion") for group in groups for version in rows(group, "versions")}
    names = {text(group, "name") for group in groups}
    for name, group in OFFERS.items():
        if group in names and _SPOKEN.get(name, "") in versions | {""}:
            yield name


def _topology(api: Api) -> Topology | None:
    """The first by name, where there are several. None also where we may not look."""
    try:
        found = sorted(api.list(path("Topology")), key=name_of)
    except Forbidden:
        return None
    levels = [text(level, "nodeLabel") for level in rows(found[0], "spec", "levels")] if found else []
    return Topology(name_of(found[0]), tuple(levels)) if levels else None


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


def _missing(api: Api, offers: Sequence[str]) -> Iterator[str]:
    for attributes in _asked(offers):
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        if at(api.create(REVIEWS, review), "status", "allowed") is not True:
            group = f".{attributes['group']}" if attributes["group"] else ""
            part = f"/{attributes['subresource']}" if attributes.get("subresource") else ""
            yield f"{attributes['verb']} {attributes['resource']}{part}{group}"


def _asked(offers: Sequence[str]) -> Iterator[Json]:
    for rule in needed(offers):
        for group, resource, verb in product(words(rule, "apiGroups"), words(rule, "resources"), words(rule, "verbs")):
            name, _, subresource = resource.partition("/")
            yield {"group": group, "resource": name, "subresource": subresource, "verb": verb}

"""Where the API server keeps the kinds that we write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from provisioning.drivers.kubernetes.reading import name_of, text

_PLURALS: Final = {
    "Namespace": "namespaces",
    "ResourceQuota": "resourcequotas",
    "LimitRange": "limitranges",
    "ServiceAccount": "serviceaccounts",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Pod": "pods",
    "Event": "events",
    "Node": "nodes",
    "NetworkPolicy": "networkpolicies",
    "StatefulSet": "statefulsets",
    "Job": "jobs",
    "Service": "services",
    "RayCluster": "rayclusters",
    "DaskCluster": "daskclusters",
    "Deployment": "deployments",
    "ResourceFlavor": "resourceflavors",
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
    "Workload": "workloads",
    "Topology": "topologies",
}
KUEUE: Final = "kueue.x-k8s.io/v1beta2"
_GROUPS: Final = {
    "NetworkPolicy": "networking.k8s.io/v1",
    "StatefulSet": "apps/v1",
    "Job": "batch/v1",
    "RayCluster": "ray.io/v1",
    "DaskCluster": "kubernetes.dask.org/v1",
    "Deployment": "apps/v1",
} | dict.fromkeys(("ResourceFlavor", "ClusterQueue", "LocalQueue", "Workload", "Topology"), KUEUE)


def path(kind: str, namespace: str = "", name: str = "") -> str:
    """Of one object, or of a list where there is no name; of all namespaces where there is none either."""
    group = _GROUPS.get(kind)
    parts = ["", "apis", group] if group else ["", "api", "v1"]
    if namespace:
        parts += ["namespaces", namespace]
    parts += [_PLURALS[kind], *([name] if name else [])]
    return "/".join(parts)


def path_of(manifest: Mapping[str, object]) -> str:
    return path(text(manifest, "kind"), text(manifest, "metadata", "namespace"), name_of(manifest))

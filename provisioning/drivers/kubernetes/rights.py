"""What the platform's account on a cluster must be allowed to do, and nothing beside. Pure: rules of a ClusterRole."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from provisioning.drivers.kubernetes.reading import Json

ACCOUNT: Final = "steelyard"
NAMESPACE: Final = "steelyard-access"


def _may(verbs: str, *resources: str, group: str = "") -> Json:
    return {"apiGroups": [group], "resources": list(resources), "verbs": verbs.split()}


WORKSPACES: Final[tuple[Json, ...]] = (
    _may("get list create patch", "namespaces"),
    _may("list create patch", "resourcequotas", "limitranges", "serviceaccounts"),
    _may("list create patch", "networkpolicies", group="networking.k8s.io"),
    _may("get list create patch delete", "persistentvolumeclaims"),
    _may("get list create delete", "statefulsets", group="apps"),
    _may("get list create delete", "jobs", group="batch"),
    _may("create patch delete", "services"),
    _may("get list create delete", "rayclusters", group="ray.io"),
    _may("get list create delete", "daskclusters", group="kubernetes.dask.org"),
    _may("get list watch patch delete", "pods"),
    _may("get", "pods/log"),
    _may("get create", "pods/portforward"),
    _may("list", "events"),
    _may("get list watch", "nodes"),
    _may("list", "storageclasses", group="storage.k8s.io"),
)
"""The driver's; `list` on nodes is the inventory's, `watch` what wakes it before its time. `create` on pods/portforward
is asked for by newer API servers where a WebSocket is opened with GET."""


OPTIONAL: Final[dict[str, tuple[Json, ...]]] = {
    "kueue": (
        _may("list create patch", "resourceflavors", "clusterqueues", group="kueue.x-k8s.io"),
        _may("create patch", "localqueues", group="kueue.x-k8s.io"),
        _may("list", "workloads", "topologies", group="kueue.x-k8s.io"),
    ),
    "metrics": (_may("list", "pods", group="metrics.k8s.io"),),
}
"""What is needed beside where something is installed, by its name among a cluster's offers."""


def needed(offers: Collection[str]) -> tuple[Json, ...]:
    """On a cluster that has these."""
    return WORKSPACES + tuple(rule for name, rules in OPTIONAL.items() if name in offers for rule in rules)


def access() -> tuple[Json, ...]:
    """What an administrator applies so that the platform gets in: an account with a token, and these rights alone."""
    account = {"name": ACCOUNT, "namespace": NAMESPACE}
    rbac = "rbac.authorization.k8s.io"
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": account,
            "automountServiceAccountToken": False,
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": account | {"annotations": {"kubernetes.io/service-account.name": ACCOUNT}},
            "type": "kubernetes.io/service-account-token",
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": ACCOUNT},
            "rules": list(needed(OPTIONAL)),
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": ACCOUNT},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", **account}],
        },
    )

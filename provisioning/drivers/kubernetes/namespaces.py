"""The ground of a project on a cluster, as manifests. Pure.

Everything is closed first: no way in, and no way out but to the names' service, to the project's own pods and to what
was declared. No pod may be more than restricted, and none holds a token of the cluster.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from provisioning.drivers.kubernetes.names import ACCOUNT, GROUND, namespace_of, place_labels
from provisioning.drivers.kubernetes.reading import Json

POD_SECURITY: Final = ("privileged", "baseline", "restricted")
CLOSED_TO_COUNT: Final = {"services.nodeports": "0", "services.loadbalancers": "0"}
PRIVATE: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "127.0.0.0/8")
_NODE_LOCAL_DNS: Final = "169.254.20.10/32"


@dataclass(frozen=True, slots=True)
class Egress:
    """A way out: to the addresses of a CIDR but some, on TCP ports (none: on all)."""

    cidr: str
    but: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()


INTERNET: Final = Egress("0.0.0.0/0", but=PRIVATE)
"""Every public address, and no metadata service or network of the cluster's owner."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a project's namespace is like. `limits`: more hard limits of its ResourceQuota, in Kubernetes' words."""

    egress: tuple[Egress, ...] = ()
    pod_security: str = "restricted"
    limits: tuple[tuple[str, str], ...] = ()
    pull_secrets: tuple[str, ...] = ()


def manifests(*, cluster_id: UUID | None, organization_id: UUID, project_id: UUID, ground: Ground) -> tuple[Json, ...]:
    """In the order in which they are applied: the namespace first."""
    if ground.pod_security not in POD_SECURITY:
        raise ValueError(f"Pod Security is one of {', '.join(POD_SECURITY)}.")
    labels = place_labels(cluster_id, organization_id, project_id)
    name = namespace_of(project_id)
    return (
        _namespace(name, labels, ground),
        _object("v1", "ResourceQuota", "steelyard", name, labels)
        | {"spec": {"hard": dict(sorted((CLOSED_TO_COUNT | dict(ground.limits)).items()))}},
        _limit_range(name, labels),
        _account(name, labels, ground),
        _policy("default-deny", name, labels, {"policyTypes": ["Ingress", "Egress"]}),
        _policy("allow-names", name, labels, _names()),
        _policy("allow-own", name, labels, _own()),
        *_declared(name, labels, ground),
    )


def fingerprint(things: tuple[Json, ...]) -> str:
    """Kept on the namespace when all of it is there: the same text needs no second look."""
    return hashlib.sha256(json.dumps(things, sort_keys=True).encode()).hexdigest()[:16]


def marked(namespace: Json, fingerprint: str) -> Json:
    """The namespace, saying that everything in it is laid."""
    metadata = namespace["metadata"]
    assert isinstance(metadata, dict)
    return namespace | {"metadata": metadata | {"annotations": {GROUND: fingerprint}}}


def _namespace(name: str, labels: dict[str, str], ground: Ground) -> Json:
    security = {
        "pod-security.kubernetes.io/enforce": ground.pod_security,
        "pod-security.kubernetes.io/enforce-version": "latest",
        "pod-security.kubernetes.io/warn": "restricted",
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels | security}}


def _limit_range(namespace: str, labels: dict[str, str]) -> Json:
    """What a container gets that says nothing of itself: one without limits could starve its node."""
    small = {"cpu": "1", "memory": "1Gi"}
    limit = {"type": "Container", "default": small, "defaultRequest": small}
    return _object("v1", "LimitRange", "steelyard", namespace, labels) | {"spec": {"limits": [limit]}}


def _account(namespace: str, labels: dict[str, str], ground: Ground) -> Json:
    account = _object("v1", "ServiceAccount", ACCOUNT, namespace, labels) | {"automountServiceAccountToken": False}
    secrets = [{"name": name} for name in ground.pull_secrets]
    return account | ({"imagePullSecrets": secrets} if secrets else {})


def _policy(name: str, namespace: str, labels: dict[str, str], rules: Json) -> Json:
    policy = _object("networking.k8s.io/v1", "NetworkPolicy", name, namespace, labels)
    return policy | {"spec": {"podSelector": {}} | rules}


def _names() -> Json:
    ports = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    system = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    return {
        "policyTypes": ["Egress"],
        "egress": [{"to": [system, {"ipBlock": {"cidr": _NODE_LOCAL_DNS}}], "ports": ports}],
    }


def _own() -> Json:
    own: list[Json] = [{"podSelector": {}}]
    return {"policyTypes": ["Ingress", "Egress"], "ingress": [{"from": own}], "egress": [{"to": own}]}


def _declared(namespace: str, labels: dict[str, str], ground: Ground) -> tuple[Json, ...]:
    if not ground.egress:
        return ()
    rules = [_way_out(egress) for egress in ground.egress]
    return (_policy("allow-declared", namespace, labels, {"policyTypes": ["Egress"], "egress": rules}),)


def _way_out(egress: Egress) -> Json:
    block: Json = {"cidr": egress.cidr} | ({"except": list(egress.but)} if egress.but else {})
    ports = [{"protocol": "TCP", "port": port} for port in egress.ports]
    return {"to": [{"ipBlock": block}]} | ({"ports": ports} if ports else {})


def _object(version: str, kind: str, name: str, namespace: str, labels: dict[str, str]) -> Json:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
    }

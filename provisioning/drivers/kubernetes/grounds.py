"""Keeps the ground of every project on a cluster as it is wanted, and tells what somebody else had done to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from provisioning.drivers.ground import Drift, GroundProof
from provisioning.drivers.kubernetes import namespaces
from provisioning.drivers.kubernetes.client import FIELD_MANAGER, Api
from provisioning.drivers.kubernetes.comparing import says
from provisioning.drivers.kubernetes.names import CLUSTER, GROUND, MANAGED_BY, ORGANIZATION, PROJECT
from provisioning.drivers.kubernetes.namespaces import Ground
from provisioning.drivers.kubernetes.objects import path, path_of
from provisioning.drivers.kubernetes.reading import Json, labels_of, name_of, part, rows, text
from provisioning.drivers.places import Place
from provisioning.enums import Drifted

POLICY: Final = "NetworkPolicy"
_INSIDE: Final = ("ResourceQuota", "LimitRange", "ServiceAccount")
_NAMELESS: Final = frozenset({"apiVersion", "kind", "metadata"})
Known = Mapping[tuple[str, str, str], Json]


@dataclass(frozen=True, slots=True)
class Laid:
    """A project's namespace as it is, and all that is wanted of it."""

    namespace: Json
    project_id: UUID
    wanted: tuple[Json, ...]

    @property
    def is_current(self) -> bool:
        """It was laid as it is wanted now: what is not so was done by somebody else."""
        mark = text(self.namespace, "metadata", "annotations", GROUND)
        return mark == namespaces.fingerprint(self.wanted)


def keep(api: Api, place: Place, ground: Ground) -> GroundProof:
    """Five lists for all projects. One that is being laid for the first time is left to who lays it."""
    ours = f"{MANAGED_BY}=steelyard,{CLUSTER}={place.cluster_id or ''}"
    found = api.list(path("Namespace"), labelSelector=ours)
    laid = [each for each in (_laid(place, ground, namespace) for namespace in found) if each is not None]
    known = _known(api, ours, {name_of(each.namespace) for each in laid})
    drifts: list[Drift] = []
    for each in laid:
        differing = list(_differing(each, known))
        if each.is_current:
            drifts += [_drift(each.project_id, wanted, there) for wanted, there in differing]
        for wanted, there in differing:
            _mend(api, wanted, there)
        if not each.is_current or any(text(wanted, "kind") == "Namespace" for wanted, _ in differing):
            api.apply(path_of(each.wanted[0]), namespaces.marked(each.wanted[0], namespaces.fingerprint(each.wanted)))
        drifts += _foreign(each, known)
    return GroundProof(len(laid), tuple(drifts), renewed=sum(not each.is_current for each in laid))


def differs(found: Json, wanted: Json) -> bool:
    """A policy must say exactly what is wanted: whatever is added to one opens something."""
    if not says(labels_of(found), labels_of(wanted)):
        return True
    if text(wanted, "kind") == POLICY:
        return part(found, "spec") != part(wanted, "spec")
    return not all(says(found.get(key), value) for key, value in wanted.items() if key not in _NAMELESS)


def by_whom(found: Json | None) -> str:
    """Who wrote to it last beside us."""
    others = [row for row in rows(found, "metadata", "managedFields") if text(row, "manager") != FIELD_MANAGER]
    return text(max(others, key=lambda row: text(row, "time"), default={}), "manager")


def _laid(place: Place, ground: Ground, namespace: Json) -> Laid | None:
    labels = labels_of(namespace)
    gone = text(namespace, "metadata", "deletionTimestamp")
    if gone or not text(namespace, "metadata", "annotations", GROUND):
        return None
    try:
        organization_id, project_id = UUID(text(labels, ORGANIZATION)), UUID(text(labels, PROJECT))
    except ValueError:
        return None
    wanted = namespaces.manifests(
        cluster_id=place.cluster_id, organization_id=organization_id, project_id=project_id, ground=ground
    )
    return Laid(namespace, project_id, wanted) if name_of(wanted[0]) == name_of(namespace) else None


def _known(api: Api, ours: str, within: set[str]) -> Known:
    """Policies of everybody: those of others count too."""
    found = [{"kind": kind} | it for kind in _INSIDE for it in api.list(path(kind), labelSelector=ours)]
    found += [{"kind": POLICY} | it for it in api.list(path(POLICY))]
    return {
        (text(it, "kind"), text(it, "metadata", "namespace"), name_of(it)): it
        for it in found
        if text(it, "metadata", "namespace") in within
    }


def _differing(laid: Laid, known: Known) -> Iterator[tuple[Json, Json | None]]:
    for wanted in laid.wanted:
        kind, namespace = text(wanted, "kind"), name_of(laid.namespace)
        there = laid.namespace if kind == "Namespace" else known.get((kind, namespace, name_of(wanted)))
        if there is None or differs(there, wanted):
            yield wanted, there


def _mend(api: Api, wanted: Json, there: Json | None) -> None:
    """Applying takes nothing away that others have added; what they added to a policy is taken out by name."""
    api.apply(path_of(wanted), wanted)
    added = part(there, "spec").keys() - part(wanted, "spec").keys() if text(wanted, "kind") == POLICY else ()
    if added:
        api.merge(path_of(wanted), {"spec": dict.fromkeys(added)})


def _foreign(laid: Laid, known: Known) -> Iterator[Drift]:
    """Policies add up: one of somebody else lets through what ours keep out."""
    own = {name_of(wanted) for wanted in laid.wanted if text(wanted, "kind") == POLICY}
    for (kind, namespace, name), there in sorted(known.items(), key=lambda each: each[0]):
        if kind == POLICY and namespace == name_of(laid.namespace) and name not in own:
            yield Drift(laid.project_id, f"{POLICY} {name}", Drifted.FOREIGN, by_whom(there))


def _drift(project_id: UUID, wanted: Json, there: Json | None) -> Drift:
    thing = f"{text(wanted, 'kind')} {name_of(wanted)}"
    return Drift(project_id, thing, Drifted.MISSING if there is None else Drifted.CHANGED, by_whom(there))

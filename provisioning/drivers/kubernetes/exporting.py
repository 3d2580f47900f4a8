"""A workload as YAML that runs on any cluster without us. Pure."""

from __future__ import annotations

from dataclasses import replace

import yaml

from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes import namespaces, runs, volumes
from provisioning.drivers.kubernetes.namespaces import Ground
from provisioning.drivers.kubernetes.reading import Json, part
from provisioning.drivers.places import Place


def exported(spec: RunSpec, place: Place, ground: Ground) -> str:
    """All of it as YAML that a bare cluster takes: without what needs us to be there."""
    return as_yaml(exported_objects(spec, place, ground))


def exported_objects(spec: RunSpec, place: Place, ground: Ground) -> tuple[Json, ...]:
    """In the order in which they are applied."""
    place = replace(place, offers=())  # nor is anything else taken to be installed
    own = runs.manifest(spec, place, "exported")
    for template in (part(own, "spec", "template"), part(own, "spec", "headGroupSpec", "template")):
        part(template, "metadata").pop("finalizers", None)
    ground_things = namespaces.manifests(
        cluster_id=place.cluster_id,
        organization_id=spec.organization_id,
        project_id=spec.project_id,
        ground=ground,
    )
    return (*ground_things, volumes.claim(spec, place), *runs.companions(spec, place), own)


def as_yaml(things: tuple[Json, ...]) -> str:
    return yaml.dump_all(things, Dumper=_Plain, sort_keys=False, width=120)


class _Plain(yaml.SafeDumper):
    """Repeats what is the same instead of pointing at it."""

    def ignore_aliases(self, data: object) -> bool:
        return True

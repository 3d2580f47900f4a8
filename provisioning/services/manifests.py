"""A workload as plain Kubernetes manifests, which run on any cluster without the platform."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from core.types import Actor
from provisioning.drivers.kubernetes.exporting import as_yaml, exported_objects
from provisioning.drivers.kubernetes.namespaces import Ground
from provisioning.drivers.kubernetes.reading import Json
from provisioning.drivers.places import LOCAL
from provisioning.models import Workload
from provisioning.permissions import sees_variables
from provisioning.selectors.specs import place_of, spec_of, whole_array_of
from provisioning.selectors.workloads import workload_for

_HEAD = "# {name}: kubectl apply -f this file.\n"
_LOCAL_IMAGE = "# {image} is a name of one machine: put an image in its place that your cluster can pull.\n"
_LEFT_OUT = "# The variables of its owner are left out.\n"


def manifests_of(*, actor: Actor, workload_id: UUID) -> tuple[Json, ...]:
    """The objects in the order in which they are applied. Raises NotFound.

    The owner's environment variables are there for the owner alone, as everywhere.
    """
    return _objects(actor, workload_for(actor, workload_id))


def manifest_file(*, actor: Actor, workload_id: UUID) -> tuple[str, str]:
    """(name of the file, its YAML); what one has to know before applying it stands at its head. Raises NotFound."""
    workload = workload_for(actor, workload_id)
    head = _HEAD.format(name=workload.name)
    if workload.cluster.driver == LOCAL.driver:
        head += _LOCAL_IMAGE.format(image=workload.image.reference)
    if workload.env and not sees_variables(actor, workload):
        head += _LEFT_OUT
    return f"{workload.name}.yaml", head + as_yaml(_objects(actor, workload))


def _objects(actor: Actor, workload: Workload) -> tuple[Json, ...]:
    spec = replace(spec_of(workload, variables=sees_variables(actor, workload)), array=whole_array_of(workload))
    return exported_objects(spec, place_of(workload.cluster), Ground())

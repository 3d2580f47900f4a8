"""Files that a job leaves for people: listed and read through its driver, outside any transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from uuid import UUID

from core import scope
from core.errors import NotFound
from core.types import Actor
from provisioning.drivers.base import DriverUnavailable, KeepsArtifacts, RunSpec, WorkloadDriver
from provisioning.drivers.jobs import ArtifactMissing, ArtifactRead, Artifacts
from provisioning.drivers.places import Place
from provisioning.enums import Kind
from provisioning.errors import ArtifactsUnavailable
from provisioning.permissions import authorize_artifacts
from provisioning.selectors.specs import place_of, spec_of
from provisioning.selectors.workloads import workload_for

LARGEST: Final = 4 * 1024**3
Drivers = Callable[[Place], WorkloadDriver]


def artifacts_of(*, actor: Actor, workload_id: UUID, drivers: Drivers) -> Artifacts:
    """Raises NotFound, and ArtifactsUnavailable where the workload's cluster does not show them."""
    spec, driver = _reached(actor, workload_id, drivers)
    try:
        return driver.artifacts(spec)
    except DriverUnavailable as error:
        raise ArtifactsUnavailable(f"Its cluster does not answer: {error}") from error


def artifact(*, actor: Actor, workload_id: UUID, path: str, drivers: Drivers) -> ArtifactRead:
    """The same for one file. Raises NotFound for one that is not there, or that is no plain file."""
    spec, driver = _reached(actor, workload_id, drivers)
    try:
        found = driver.artifact(spec, path)
    except ArtifactMissing as error:
        raise NotFound("artifact", path[:200]) from error
    except DriverUnavailable as error:
        raise ArtifactsUnavailable(f"Its cluster does not answer: {error}") from error
    if found.size > LARGEST:
        found.pieces.close()
        raise ArtifactsUnavailable(f"It is larger than {LARGEST // 1024**3} GiB: take it from the disk.")
    return found


def _reached(actor: Actor, workload_id: UUID, drivers: Drivers) -> tuple[RunSpec, KeepsArtifacts]:
    assert actor.organization_id is not None
    with scope.of_organization(actor.organization_id):
        workload = workload_for(actor, workload_id)
        if workload.kind != Kind.JOB:
            raise ArtifactsUnavailable("Only a job leaves artefacts: what else is on a disk is its owner's alone.")
        authorize_artifacts(actor, workload)
        spec, place = spec_of(workload), place_of(workload.cluster)
    driver = drivers(place)
    if not isinstance(driver, KeepsArtifacts):
        raise ArtifactsUnavailable(
            "Artefacts are not read from this kind of cluster yet: let the job send them where you want them."
        )
    return spec, driver

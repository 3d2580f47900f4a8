"""Which objects stand for a run, by kind. Pure. A new kind is a module of its own and a line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes import dasks, jobs, queues, rays, workspaces
from provisioning.drivers.kubernetes.names import DASK, JOB, RAY, WORKSPACE, form_of
from provisioning.drivers.kubernetes.reading import Json
from provisioning.drivers.places import Place

_MANIFESTS: Final[dict[str, Callable[[RunSpec, Place, str], Json]]] = {
    WORKSPACE: workspaces.workspace,
    JOB: jobs.job,
    RAY: rays.cluster,
    DASK: dasks.cluster,
}


def manifest(spec: RunSpec, place: Place, incarnation: str) -> Json:
    """The one object that makes a run's pods; with it they go."""
    made = _MANIFESTS[form_of(spec)](spec, place, incarnation)
    return queues.queued(made, spec, place) if queues.takes(spec, place) else made


def companions(spec: RunSpec, place: Place) -> tuple[Json, ...]:
    """What it needs beside: there before its pods are, and gone when nothing of it runs."""
    alone = spec.workers == 1 or spec.array is not None
    return (jobs.meeting(spec, place),) if spec.kind == JOB and not alone else ()

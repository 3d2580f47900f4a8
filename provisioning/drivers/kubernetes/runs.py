"""Which objects stand for a run, by kind. Pure. A new kind is a module of its own and a line here."""

from __future__ import annotations

from provisioning.drivers.base import RunSpec
from provisioning.drivers.kubernetes import jobs, workspaces
from provisioning.drivers.kubernetes.names import JOB
from provisioning.drivers.kubernetes.reading import Json
from provisioning.drivers.places import Place


def manifest(spec: RunSpec, place: Place, incarnation: str) -> Json:
    """The one object that makes a run's pods; with it they go."""
    return jobs.job(spec, place, incarnation) if spec.kind == JOB else workspaces.workspace(spec, place, incarnation)


def companions(spec: RunSpec, place: Place) -> tuple[Json, ...]:
    """What it needs beside: there before its pods are, and gone when nothing of it runs."""
    return (jobs.meeting(spec, place),) if spec.kind == JOB and spec.workers > 1 else ()

"""Launching: one workload for one wish, however often it is sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import IntegrityError, transaction

from core.errors import Forbidden
from core.ids import uuid7
from core.locks import lock
from core.types import Actor
from provisioning.enums import DesiredState, State, VolumeState
from provisioning.errors import NameTaken, NotAdmitted, VolumeUnavailable
from provisioning.models import Volume, Workload
from provisioning.naming import NAME_CONSTRAINT
from provisioning.selectors.launching import Chosen, chosen, disk_of, judge, propose_name
from provisioning.services import awaiting, holdings
from provisioning.services.ruled import limits_as_columns, note_observed, price_of_launch
from provisioning.services.shares import queue_or_wait
from provisioning.services.transitions import locked, transition
from provisioning.types import Move, Verdict, WorkloadSpec
from tenants.enums import Permission
from tenants.permissions import authorize

if TYPE_CHECKING:
    from tenants.models import Project

_KEY_CONSTRAINT = "workload_asked_once"
_VOLUME_CONSTRAINT = "workload_alone_on_its_volume"
_TRIES = 8


@dataclass(frozen=True, slots=True)
class Wish:
    """What comes with a spec: the key under which it is asked once, and why, for whoever approves it."""

    request_key: str = ""
    justification: str = ""


@transaction.atomic
def launch(
    *,
    actor: Actor,
    project: Project,
    spec: WorkloadSpec,
    now: datetime,
    request_key: str = "",
    justification: str = "",
) -> Workload:
    """Record the wish and wake the reconciler. No cluster is called here.

    The same `request_key` of the same person (a double click, a form sent again) gives the workload that the first
    one made. Where approval is all that is missing, the wish is stored, holds nothing, and somebody is asked, with the
    justification; where its own share is lent out, it is stored likewise and waits for that. Raises Forbidden, Invalid,
    NameTaken, VolumeUnavailable, and NotAdmitted with every reason.
    """
    authorize(actor, Permission.LAUNCH_WORKLOAD, project)
    _refuse_ownerless(actor, project)
    known = _asked_before(actor, request_key)
    if known is not None:
        return known
    picked = chosen(actor, project, spec, now)
    verdict = judge(actor, project, spec, picked, now=now)
    if verdict.denied:
        raise NotAdmitted(verdict.failing, ref=project.ref)
    wish = Wish(request_key, justification)
    for _ in range(_TRIES):
        named = spec if spec.name else replace(spec, name=_next_name(project, spec.kind))
        try:
            return _record(actor, project, named, picked, verdict, now, wish)
        except IntegrityError as error:
            known = _asked_before(actor, request_key)
            if known is not None:
                return known
            if spec.name or NAME_CONSTRAINT not in str(error):
                raise _explained(error, named) from error
    raise NameTaken(f"Each name tried in {project.slug} was taken in the meantime. Give one yourself.")


def _next_name(project: Project, kind: str) -> str:
    """A free name that stays free until the transaction ends, among those who leave the choice to us."""
    lock("workload.name", str(project.pk))
    return propose_name(project, kind)


def _refuse_ownerless(actor: Actor, project: Project) -> None:
    if actor.id is None:
        raise Forbidden(Permission.LAUNCH_WORKLOAD, project.ref, ask="a person: a workload has an owner")


def _asked_before(actor: Actor, request_key: str) -> Workload | None:
    if not request_key:
        return None
    return (
        Workload.objects.filter(owner_id=actor.id, request_key=request_key)
        .select_related("project__organization", "owner", "image", "volume", "shape__accelerator", "shape__region")
        .first()
    )


@transaction.atomic
def _record(
    actor: Actor,
    project: Project,
    spec: WorkloadSpec,
    picked: Chosen,
    verdict: Verdict,
    now: datetime,
    wish: Wish,
) -> Workload:
    assert verdict.cluster_id is not None
    assert actor.id is not None
    volume_id = picked.volume.pk if picked.volume else uuid7()
    if picked.volume is None:
        _new_volume(actor.id, project, spec, volume_id, verdict.cluster_id, now)
    else:
        _bring_back(picked.volume, now)
    row = Workload.objects.create(
        organization_id=project.organization_id,
        project=project,
        owner_id=actor.id,
        kind=spec.kind,
        name=spec.name,
        shape=picked.shape,
        image=picked.image,
        volume_id=volume_id,
        cluster_id=verdict.cluster_id,
        env=dict(spec.env),
        preemptible=spec.preemptible,
        replicas=spec.replicas,
        spec=replace(spec, disk_gib=disk_of(spec, picked)).as_json(),
        request_key=wish.request_key or None,
        created_at=now,
        state=State.REQUESTED,
        state_since=now,
        generation=0,
        **limits_as_columns(verdict.limits),
    )
    workload = _locked(row.pk)
    _begin(workload, picked, verdict, wish, actor, now)
    return workload


def _begin(workload: Workload, picked: Chosen, verdict: Verdict, wish: Wish, actor: Actor, now: datetime) -> None:
    """Into the queue, or to whoever has to approve it first."""
    move = Move(
        verb="workload.launched",
        message=f"Launched on {_sizes(workload, picked)}{', once it is approved' if verdict.awaits else ''}.",
        to=() if verdict.awaits else (State.QUEUED,),
        desired=DesiredState.RUNNING,
        reason=awaiting.reason_of(verdict) if verdict.awaits else verdict.waits,
    )
    if verdict.awaits:
        price = price_of_launch(picked, workload.volume.size_gib, workload.replicas)
        awaiting.ask(workload, verdict, actor=actor, justification=wish.justification, price=price, now=now)
    note_observed(workload, verdict, actor=actor, now=now)
    if verdict.awaits:
        transition(workload, move, actor=actor, now=now)
    else:
        queue_or_wait(workload, move, verdict, actor=actor, now=now)
    if picked.volume is not None:
        holdings.open_disk(workload, now)


def _sizes(workload: Workload, picked: Chosen) -> str:
    times = f"{workload.replicas} × " if workload.replicas > 1 else ""
    return f"{times}{picked.shape.label}"


def _new_volume(
    owner_id: UUID, project: Project, spec: WorkloadSpec, volume_id: UUID, cluster_id: UUID, now: datetime
) -> None:
    Volume.objects.create(
        pk=volume_id,
        organization_id=project.organization_id,
        project=project,
        owner_id=owner_id,
        name=spec.name,
        size_gib=spec.disk_gib,
        cluster_id=cluster_id,
        created_at=now,
    )


def _bring_back(volume: Volume, now: datetime) -> None:
    """A kept disk belongs to a living workload again: it counts and costs from now on."""
    changed = Volume.objects.filter(pk=volume.pk, state=VolumeState.KEPT, purge_after__gt=now).update(
        state=VolumeState.PRESENT, deleted_at=None, purge_after=None
    )
    if not changed:
        raise VolumeUnavailable(f"The disk {volume.name} is in use, or it is gone for good.")


def _locked(workload_id: UUID) -> Workload:
    found = locked(workload_id)
    assert found is not None
    return found


def _explained(error: IntegrityError, spec: WorkloadSpec) -> Exception:
    if NAME_CONSTRAINT in str(error):
        return NameTaken(f"There is a workload called {spec.name} in this project. Choose another name.")
    if _VOLUME_CONSTRAINT in str(error):
        return VolumeUnavailable("Another workload has this disk.")
    return error

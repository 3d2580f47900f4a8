"""The Kubernetes driver: a workload is one object that makes its pods, on a claim of its own, in its project's
namespace: a set of one pod for a workspace, an Indexed Job for an attempt of a job.

What is so is read from the cluster at each call; what was decided is on record with the claim (see record.py). A pod
has a finalizer of ours, so that it waits to be seen when it has ended: no run ends and none begins unnoticed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

from provisioning.drivers.base import (
    ActivityReading,
    Capabilities,
    DriverUnavailable,
    Endpoint,
    Leftover,
    LogPiece,
    Observation,
    Phase,
    Placed,
    ProbeFailed,
    Reason,
    RunSpec,
    Stray,
    VolumeInUse,
    Watch,
)
from provisioning.drivers.ground import GroundProof
from provisioning.drivers.inside import Happening, PodsSeen
from provisioning.drivers.kubernetes import (
    activity,
    arrays,
    grounds,
    inside,
    leftovers,
    logs,
    queueing,
    starting,
    status,
    tunnel,
)
from provisioning.drivers.kubernetes.capabilities import capabilities_of
from provisioning.drivers.kubernetes.client import Api, Forbidden, Refused
from provisioning.drivers.kubernetes.marks import Census
from provisioning.drivers.kubernetes.names import (
    CLUSTER,
    DASK,
    MAKERS,
    MANAGED_BY,
    VOLUME,
    WORKLOAD,
    WORKSPACE,
    claim_of,
    form_of,
    namespace_of,
)
from provisioning.drivers.kubernetes.namespaces import Ground
from provisioning.drivers.kubernetes.nodes import nodes_of, placed_of
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.reading import Json, text
from provisioning.drivers.kubernetes.record import Record, Stage
from provisioning.drivers.kubernetes.servers import port_of
from provisioning.drivers.kubernetes.settling import Settled, finish, settle
from provisioning.drivers.kubernetes.view import Overtaken, Spot, View, end, head_of, look, pods_of, write
from provisioning.drivers.kubernetes.watching import watches_of
from provisioning.drivers.places import Place
from provisioning.inventory import NodeFacts

T = TypeVar("T")
TRIES: Final = 8
PROMPT_S: Final = 1.0
STEP_S: Final = 0.05
ENDING_LAST = Reason("last_run_ending", "What is left of its last run is ending.")


class KubernetesDriver:
    """Offers WorkloadDriver, ListsRuns, ReportsActivity, FollowsLogs, RunsArrays, TellsPods, TellsHappenings,
    KeepsVolumes, FindsStrays, TellsNodes, TellsChanges, TellsPlacement, FindsLeftovers, KeepsQueues, KeepsGround,
    StatesCaveats."""

    def __init__(self, place: Place, ground: Ground | None = None) -> None:
        if place.connection is None:
            raise DriverUnavailable("It is not known how this cluster is reached.")
        self.place = place
        self.ground = ground or Ground()
        self.api = Api(place.connection)

    def caveats(self) -> tuple[str, ...]:
        return ("A command that works silently in a terminal is not seen as work: only what terminals print is.",)

    def capabilities(self) -> Capabilities:
        return capabilities_of(self.api)

    def nodes(self) -> tuple[NodeFacts, ...]:
        return nodes_of(self.api)

    def placed(self) -> tuple[Placed, ...]:
        return placed_of(self.api.list(path("Pod"), labelSelector=f"{self._ours},{WORKLOAD}"))

    def marks(self) -> Mapping[UUID, str]:
        return self._again(self._census).marks()

    def watches(self) -> tuple[Watch, ...]:
        return watches_of(self.api, self.place.cluster_id)

    def keep_queues(self, limits: Mapping[UUID, Mapping[str, int]]) -> tuple[str, ...]:
        try:
            return queueing.keep(self.api, self.place, limits)
        except Refused as refused:
            raise DriverUnavailable(f"The cluster refuses a queue: {refused.message}") from refused

    def keep_ground(self) -> GroundProof:
        try:
            return grounds.keep(self.api, self.place, self.ground)
        except Refused as refused:
            raise DriverUnavailable(f"The cluster refuses a project's ground: {refused.message}") from refused

    def observe(self, spec: RunSpec) -> Observation:
        return self._settled(Spot.of(spec)).observation

    def ensure_present(self, spec: RunSpec) -> Observation:
        return self._again(lambda: self._present(spec))

    def ensure_stopped(self, spec: RunSpec) -> Observation:
        return self._ended(Spot.of(spec), absent=False)

    def ensure_absent(self, spec: RunSpec) -> Observation:
        return self._ended(Spot.of(spec), absent=True)

    def endpoint_of(self, spec: RunSpec) -> Endpoint | None:
        """A socket of this process: what connects to it goes through the API server to the pod's loopback."""
        pod = None if spec.command else self._serving(Spot.of(spec))
        return None if pod is None else Endpoint(unix_socket=str(self._socket(pod, port_of(form_of(spec)))))

    def logs(self, spec: RunSpec, *, tail: int) -> tuple[str, ...]:
        view = look(self.api, Spot.of(spec))
        if len(view.pods) > 1:
            return logs.of_workers(self.api, view.pods, lines=tail)
        if view.pods:
            return logs.tail_of(self.api, view.pods[-1], lines=tail)
        absent = view.record is None or view.record.absent
        return () if absent or view.record is None or tail <= 0 else view.record.tail[-tail:]

    def pods(self, spec: RunSpec) -> PodsSeen:
        return self._again(lambda: inside.pods(self.api, Spot.of(spec)))

    def happenings(self, spec: RunSpec) -> tuple[Happening, ...]:
        spot = Spot.of(spec)
        names = inside.names_of(spot, claim_of(spec.volume_id))
        return self._again(lambda: inside.happenings(self.api, spot, names))

    def task_log(self, spec: RunSpec, index: int, *, tail: int) -> tuple[str, ...]:
        pods = [pod for pod in pods_of(self.api, Spot.of(spec)) if arrays.task_of(pod) == index]
        newest = max(pods, key=lambda pod: text(pod, "metadata", "creationTimestamp"), default=None)
        return () if newest is None else logs.tail_of(self.api, newest, lines=tail)

    def log_after(self, spec: RunSpec, mark: str, *, whole: bool) -> LogPiece:
        """Of several workers, the first one's: what one follows has an order."""
        pods = pods_of(self.api, Spot.of(spec))
        return logs.after(self.api, pods[0], mark, whole=whole) if pods else LogPiece((), mark)

    def activity(self, spec: RunSpec, *, now: datetime) -> ActivityReading:
        form = form_of(spec)
        if form not in (WORKSPACE, DASK):
            raise ProbeFailed("what a Ray cluster does is not measured yet")
        pod = self._serving(Spot.of(spec))
        if pod is None:
            raise ProbeFailed("the server is not running")
        socket = self._socket(pod, port_of(form))
        return activity.read(socket, now=now) if form == WORKSPACE else activity.read_dask(socket, now=now)

    def ensure_volume_absent(self, *, project_id: UUID, volume_id: UUID) -> None:
        namespace, selector = namespace_of(project_id), f"{VOLUME}={volume_id}"
        for kind in (*MAKERS, "Pod"):
            if self.api.list(path(kind, namespace), labelSelector=selector):
                raise VolumeInUse(f"volume {volume_id} is held by a workload on the cluster")
        self.api.delete(path("PersistentVolumeClaim", namespace, claim_of(volume_id)))

    def strays(self, known: Collection[UUID]) -> tuple[Stray, ...]:
        """What is on the cluster of ours, is not among the known and has not ended. Where there is none, as nearly
        always, the outlines of everything say so."""
        spots = (Spot.in_labels(outline) for outline in self._outlines_of_ours())
        if not any(spot is not None and spot.workload_id not in known for spot in spots):
            return ()
        found: dict[UUID, Stray] = {}
        for thing in self._all_of_ours():
            spot = Spot.in_labels(thing)
            if spot is not None and spot.workload_id not in known:
                began = status.started_at(thing)
                before = found.get(spot.workload_id)
                if began is None and before is not None:
                    began = before.started_at
                found[spot.workload_id] = Stray(spot.workload_id, (), began)
        return tuple(found.values())

    def end_stray(self, stray: Stray) -> Observation:
        spots = {Spot.in_labels(thing) for thing in self._all_of_ours()}
        ends = [self._ended(spot, absent=False) for spot in spots if spot and spot.workload_id == stray.workload_id]
        return ends[0] if ends else Observation(Phase.ABSENT)

    def leftovers(self) -> tuple[Leftover, ...]:
        def found() -> tuple[Leftover, ...]:
            hangs = any(leftovers.is_held(outline) for outline in self._outlines_of_ours())
            return leftovers.leftovers_of(self.api, self.place.cluster_id, self._all_of_ours() if hangs else ())

        return self._again(found)

    def remove_leftover(self, leftover: Leftover) -> None:
        self._again(lambda: leftovers.remove(self.api, leftover))

    def _present(self, spec: RunSpec) -> Observation:
        spot = Spot.of(spec)
        view = look(self.api, spot)
        record = view.record
        if record is not None and not (record.stage is Stage.ENDED and record.acknowledged):
            if record.stage is Stage.LIVE and view.set is None and not record.pod:
                return self._set_up(spec, spot, record)
            return settle(self.api, spot, view, now=_now()).observation
        if not view.empty:
            finish(self.api, spot, view)
            return Observation(Phase.STARTING, reason=ENDING_LAST)
        return self._begin(spec, spot, view)

    def _begin(self, spec: RunSpec, spot: Spot, view: View) -> Observation:
        """A right that is missing is waited for, with its name: somebody may grant it before the start is too late."""
        try:
            starting.lay_ground(self.api, spec, self.place, self.ground)
            record = starting.begin(self.api, spec, self.place, view.claim, view.record)
            return self._set_up(spec, spot, record)
        except Forbidden as missing:
            return Observation(Phase.STARTING, reason=Reason("forbidden", str(missing)))
        except Refused as refused:
            return Observation(Phase.FAILED, reason=starting.refusal(refused))

    def _set_up(self, spec: RunSpec, spot: Spot, record: Record) -> Observation:
        refused = starting.set_up(self.api, spec, self.place, record)
        if refused is None:
            return Observation(Phase.STARTING, incarnation=record.incarnation)
        view = look(self.api, spot)
        if view.claim is None or view.record != record:
            raise Overtaken
        write(self.api, spot, view.claim, refused)
        return refused.observation()

    def _settled(self, spot: Spot) -> Settled:
        return self._again(lambda: settle(self.api, spot, look(self.api, spot), now=_now()))

    def _ended(self, spot: Spot, *, absent: bool) -> Observation:
        """Ask it to end and watch for a moment. A node that does not answer is waited for: it may still run."""
        deadline, pause = time.monotonic() + PROMPT_S, STEP_S
        while True:
            settled = self._again(lambda: self._asked_to_end(spot, absent=absent))
            if settled.clear or time.monotonic() > deadline:
                return settled.observation
            time.sleep(pause)
            pause *= 2

    def _asked_to_end(self, spot: Spot, *, absent: bool) -> Settled:
        view = look(self.api, spot)
        record, now = view.record, _now()
        if record is None or view.claim is None:
            finish(self.api, spot, view)
            return Settled(Observation(Phase.ABSENT if view.empty else Phase.STOPPING), clear=view.empty)
        if record.stage is Stage.LIVE:
            first = settle(self.api, spot, view, now=now)  # it may have ended before anybody asked
            if first.record != record or first.record.stage is not Stage.LIVE:
                raise Overtaken
            lost = first.observation.reason is not None and first.observation.reason.code == "node_lost"
            alive_at = record.alive_at if lost else now
            write(self.api, spot, view.claim, replace(record, stage=Stage.ENDING, alive_at=alive_at))
            end(self.api, spot, view)
            return Settled(replace(first.observation, phase=Phase.STOPPING, ready=False))
        settled = settle(self.api, spot, view, now=now)
        ended = settled.record
        if settled.clear and ended is not None and ended == record:
            wanted = replace(ended, acknowledged=True, absent=ended.absent or absent)
            if wanted != ended:
                write(self.api, spot, view.claim, wanted)
            return Settled(wanted.observation(), wanted, clear=True)
        return replace(settled, clear=False)

    def _census(self) -> Census:
        census, ours = Census(), self._ours
        census.count_pods(self.api.outlines(path("Pod"), labelSelector=f"{ours},{WORKLOAD}"))
        for kind in MAKERS:
            census.count_makers(self.api.outlines(path(kind), labelSelector=f"{ours},{WORKLOAD}"))
        census.count_claims(self.api.outlines(path("PersistentVolumeClaim"), labelSelector=f"{ours},{VOLUME}"))
        return census

    def _serving(self, spot: Spot) -> Json | None:
        pod = head_of(pods_of(self.api, spot), spot.form)
        if pod is None or text(pod, "metadata", "deletionTimestamp"):
            return None
        return pod if status.verdict(pod, served=True).phase is Phase.RUNNING else None

    def _socket(self, pod: Json, port: int) -> Path:
        assert self.place.connection is not None
        return tunnel.socket_to(self.place.connection, pod, port)

    def _outlines_of_ours(self) -> Iterator[Json]:
        for kind in (*MAKERS, "Pod"):
            yield from self.api.outlines(path(kind), labelSelector=self._ours)

    def _all_of_ours(self) -> list[Json]:
        kinds = (*MAKERS, "Pod")
        return [{"kind": kind} | it for kind in kinds for it in self.api.list(path(kind), labelSelector=self._ours)]

    @property
    def _ours(self) -> str:
        """The labels of what this installation has on this cluster."""
        return f"{MANAGED_BY}=steelyard,{CLUSTER}={self.place.cluster_id or ''}"

    def _again(self, act: Callable[[], T]) -> T:
        """Whoever was overtaken looks again. What the cluster refuses beside a start is unknown, never gone."""
        for number in range(TRIES):
            try:
                return act()
            except Overtaken:
                time.sleep(STEP_S * number)
            except Refused as refused:
                raise DriverUnavailable(f"The cluster refuses: {refused.message}") from refused
        raise DriverUnavailable("Several processes decide about this workload at once.")


def _now() -> datetime:
    return datetime.now(UTC)

"""The guarantee behind every hint: periodic looks at what is due, what is idle, what nobody wishes for."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import structlog

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.types import ObjectRef, Reason, system_actor
from provisioning.drivers.base import (
    ActivityReading,
    DriverUnavailable,
    FindsLeftovers,
    FindsStrays,
    KeepsQueues,
    KeepsVolumes,
    ListsRuns,
    ProbeFailed,
    ReportsActivity,
    Stray,
    TellsNodes,
    TellsPlacement,
    VolumeInUse,
)
from provisioning.drivers.places import LOCAL, Place
from provisioning.enums import ConditionStatus, ConditionType, Kind, LeakEnd, LeakKind, State
from provisioning.enums import Source as Sign
from provisioning.models import Cluster, Workload
from provisioning.reconciler.applying import set_condition
from provisioning.reconciler.loop import Clock, Drivers, reconcile
from provisioning.selectors import sweeps
from provisioning.selectors.specs import place_of, spec_of
from provisioning.services import activity, inventory, leaks, rounds, volumes
from provisioning.services.transitions import locked
from provisioning.types import Signals
from tenants.selectors.quotas import organization_limits

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 500


def sweep_workloads(*, drivers: Drivers, clock: Clock) -> int:
    """Reconcile what is due, each in scopes and acts of its own; one that fails does not keep the others waiting."""
    turned = 0
    for found in sweeps.due_workloads(clock(), most=MOST_AT_ONCE):
        try:
            turned += reconcile(
                organization_id=found.organization_id, workload_id=found.id, drivers=drivers, clock=clock
            )
        except Exception:
            log.exception("reconcile_failed", workload=str(found.id))
    return turned


def sweep_runs(*, drivers: Drivers, clock: Clock) -> int:
    """Look at everything that runs on a cluster at once. Returns how many clusters have answered.

    Who looks as before costs nothing more; who does not, or is not there, is looked at by the ordinary way, which
    alone decides. Where a cluster does not answer all of its workloads become due by themselves.
    """
    return sum(_list_runs(cluster_id, drivers, clock) for cluster_id in _clusters())


def _clusters() -> list[UUID]:
    return list(Cluster.objects.exclude(driver=LOCAL.driver).filter(active=True).values_list("pk", flat=True))


def _list_runs(cluster_id: UUID, drivers: Drivers, clock: Clock) -> bool:
    """Whatever comes of one, the next one is asked too."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        return False
    try:
        driver = drivers(place_of(cluster))
        if not isinstance(driver, ListsRuns):
            return False
        asked_at = clock()
        rounds.take_in(cluster_id, driver.marks(), asked_at=asked_at, clock=clock)
        return True
    except DriverUnavailable as error:
        log.warning("no_list_of_runs", cluster=cluster.slug, error=str(error))
    except Exception:
        log.exception("list_of_runs_failed", cluster=cluster.slug)
    return False


def sweep_activity(*, drivers: Drivers, clock: Clock) -> int:
    """Probe those of whom the stop rules want to know, then let the rules judge. Returns how many were judged."""
    judged = 0
    for found in sweeps.workloads_to_probe(clock(), most=MOST_AT_ONCE):
        try:
            signals = _probe(found, drivers, clock)
            verdict = activity.take_in(
                organization_id=found.organization_id, workload_id=found.id, signals=signals, now=clock()
            )
            judged += verdict is not None
        except Exception:
            log.exception("activity_failed", workload=str(found.id))
    return judged


def sweep_strays(*, place: Place, drivers: Drivers, clock: Clock) -> int:
    """End what runs on a cluster and that no workload stands behind. Returns how many were found.

    What is wished is read again after the look: a workload that started in between is no stray. A cluster that does
    not answer keeps nobody from looking at the others.
    """
    try:
        return _end_strays(place, drivers, clock)
    except DriverUnavailable as error:
        log.warning("strays_unknown", cluster=str(place.cluster_id), why=str(error))
        return 0


def _end_strays(place: Place, drivers: Drivers, clock: Clock) -> int:
    driver = drivers(place)
    if not isinstance(driver, FindsStrays):
        return 0
    suspects = driver.strays({found.id for found in sweeps.placed_workloads(place)})
    if not suspects:
        return 0
    wished = {found.id for found in sweeps.placed_workloads(place)}
    strays = [suspect for suspect in suspects if suspect.workload_id not in wished]
    for stray in strays:
        driver.end_stray(stray)
        _record_leak(stray, clock())
    leaks.note_strays(place, strays, clock())
    return len(strays)


def sweep_leftovers(*, place: Place, drivers: Drivers, clock: Clock) -> int:
    """Disks and ends that hang: removed or told by rule. Returns how many were removed.

    The books are read after the look: a disk whose row came meanwhile is known.
    """
    try:
        driver = drivers(place)
        if not isinstance(driver, FindsLeftovers) or place.cluster_id is None:
            return 0
        found = driver.leftovers()
        wished = {each.id for each in sweeps.placed_workloads(place)}
        verdicts = [one for one in leaks.judged(found, wished, clock()) if one.rule is not leaks.Rule.KEEP]
        return _follow_rules(place, driver, verdicts, clock)
    except DriverUnavailable as error:
        log.warning("leftovers_unknown", cluster=str(place.cluster_id), why=str(error))
        return 0


def _follow_rules(place: Place, driver: FindsLeftovers, verdicts: list[leaks.Judged], clock: Clock) -> int:
    assert place.cluster_id is not None
    removed, seen = 0, set[tuple[str, str]]()
    for one in verdicts:
        told, outcome = leaks.told_of(one), None
        if one.rule is leaks.Rule.REMOVE:
            driver.remove_leftover(one.leftover)
            outcome = LeakEnd.ESCAPED if told.kind is LeakKind.STUCK else LeakEnd.REMOVED
            removed += 1
        leaks.note(place.cluster_id, told, since=one.leftover.since, outcome=outcome, now=clock())
        seen.add((told.kind, told.object))
    leaks.forget_what_is_gone(place.cluster_id, seen, clock())
    return removed


def sweep_inventory(*, drivers: Drivers, clock: Clock) -> int:
    """Ask every cluster that has nodes what they have to give. Returns how many answered.

    The time of a list is that of the question: what was asked earlier and answered later is old.
    """
    return sum(list_nodes(cluster_id=cluster_id, drivers=drivers, clock=clock) for cluster_id in _clusters())


def list_nodes(*, cluster_id: UUID, drivers: Drivers, clock: Clock) -> bool:
    """Ask one cluster. Whatever comes of it, the next one is asked too."""
    cluster = Cluster.objects.filter(pk=cluster_id, active=True).first()
    if cluster is None:
        return False
    try:
        driver = drivers(place_of(cluster))
        if not isinstance(driver, TellsNodes):
            return False
        asked_at = clock()
        taken = inventory.take_inventory(cluster_id=cluster.pk, nodes=driver.nodes(), now=asked_at)
        if isinstance(driver, TellsPlacement):
            inventory.take_placement(cluster_id=cluster.pk, placed=driver.placed())
        return taken
    except DriverUnavailable as error:
        log.warning("no_inventory", cluster=cluster.slug, error=str(error))
    except Exception:
        log.exception("inventory_failed", cluster=cluster.slug)
    return False


def sweep_queues(*, drivers: Drivers, clock: Clock) -> int:
    """Where a cluster queues jobs itself, its quotas are ours. Returns how many queues others had changed.

    A job's own admission has been decided by then: a queue that says something else could only hold it back.
    """
    limits, mended = organization_limits(), 0
    for cluster in Cluster.objects.filter(active=True, offers__installed__contains="kueue"):
        try:
            driver = drivers(place_of(cluster))
            names = driver.keep_queues(limits) if isinstance(driver, KeepsQueues) else ()
            if names:
                _record_drift(cluster, names, clock())
            mended += len(names)
        except DriverUnavailable as error:
            log.warning("queues_unknown", cluster=cluster.slug, error=str(error))
        except Exception:
            log.exception("queues_failed", cluster=cluster.slug)
    return mended


def sweep_volumes(*, drivers: Drivers, clock: Clock) -> int:
    """Remove the files of deleted workloads whose time to be brought back is over."""
    purged = 0
    for found in sweeps.volumes_to_purge(clock(), most=MOST_AT_ONCE):
        where = volumes.to_remove(organization_id=found.organization_id, volume_id=found.id, now=clock())
        if where is not None and _remove(where[0], found.id, where[1], drivers):
            purged += volumes.mark_purged(organization_id=found.organization_id, volume_id=found.id, now=clock())
    return purged


def signals_of(reading: ActivityReading) -> Signals:
    """A driver's reading as the stop rules see it."""
    kernels = [each.last_activity for each in reading.kernels if each.last_activity is not None]
    terminals = [each.last_activity for each in reading.terminals if each.last_activity is not None]
    last = max([*kernels, *terminals], default=None)
    return Signals(
        at=reading.at,
        busy_kernels=sum(each.busy for each in reading.kernels),
        busy_terminals=sum(each.busy for each in reading.terminals),
        detached=reading.detached,
        connections=reading.connections,
        last_activity=last,
        last_source=Sign.KERNEL if last in kernels else Sign.TERMINAL,
    )


def _probe(found: sweeps.Found, drivers: Drivers, clock: Clock) -> Signals | None:
    """Signals, or None for "unknown"; the condition `activity` says which."""
    with scope.of_organization(found.organization_id):
        workload = (
            Workload.objects.filter(pk=found.id, state=State.RUNNING)
            .select_related("image", "volume", "cluster", "shape__accelerator", "shape__region")
            .first()
        )
        if workload is None or workload.kind == Kind.JOB:
            return None
        spec, place = spec_of(workload), place_of(workload.cluster)
    driver = drivers(place)
    try:
        if not isinstance(driver, ReportsActivity):
            raise ProbeFailed("its driver reports no activity")
        signals = signals_of(driver.activity(spec, now=clock()))
    except (ProbeFailed, DriverUnavailable) as error:
        _note(found, ConditionStatus.UNKNOWN, clock(), message=f"Activity could not be read: {error}"[:500])
        return None
    _note(found, ConditionStatus.TRUE, clock())
    return signals


def _note(found: sweeps.Found, status: ConditionStatus, now: datetime, *, message: str = "") -> None:
    with scope.of_organization(found.organization_id):
        workload = locked(found.id)
        if workload is not None:
            set_condition(workload, ConditionType.ACTIVITY, status, now=now, message=message)


def _record_leak(stray: Stray, now: datetime) -> None:
    reason = Reason(code="stray_ended", message="Something ran that no workload stood behind. It was ended.")
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_platform():
        ref = ObjectRef(kind="workload", id=str(stray.workload_id))
        audit.record(system_actor("stray sweep", None), "stray.ended", ref, now=now, after=reason.as_json())
    log.warning("stray_ended", workload=str(stray.workload_id), processes=stray.processes)


def _record_drift(cluster: Cluster, names: tuple[str, ...], now: datetime) -> None:
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_platform():
        ref = ObjectRef("cluster", str(cluster.pk), cluster.slug)
        actor = system_actor("queue sweep", None)
        audit.record(actor, "cluster.queues_mended", ref, now=now, after={"queues": list(names)})
    log.warning("queues_mended", cluster=cluster.slug, queues=names)


def _remove(project_id: UUID, volume_id: UUID, place: Place, drivers: Drivers) -> bool:
    driver = drivers(place)
    if not isinstance(driver, KeepsVolumes):
        return True
    try:
        driver.ensure_volume_absent(project_id=project_id, volume_id=volume_id)
    except (VolumeInUse, DriverUnavailable) as error:
        log.warning("volume_stays", volume=str(volume_id), why=str(error))
        return False
    return True

"""The words of provisioning, as they stand in the database and the API."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a workload is. "Unknown" is a condition, never a state."""

    REQUESTED = "requested"
    QUEUED = "queued"
    PROVISIONING = "provisioning"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DELETING = "deleting"
    DELETED = "deleted"


class DesiredState(StrEnum):
    RUNNING = "running"
    STOPPED = "stopped"
    DELETED = "deleted"


class Kind(StrEnum):
    WORKSPACE = "workspace"
    JOB = "job"
    CLUSTER = "cluster"


class Outcome(StrEnum):
    """How an attempt of a job ended, or a task of an array. Interrupted: by the cluster or the platform, which is no
    failure of its own. Waiting: a task before its turn, or before another try."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"


class ImageKind(StrEnum):
    """What an image is made for: a cluster's says which framework it runs. A command runs in any."""

    JUPYTERLAB = "jupyterlab"
    RAY = "ray"
    DASK = "dask"


class CapacityKind(StrEnum):
    ON_DEMAND = "on_demand"
    RESERVED = "reserved"
    SPOT = "spot"


class VolumeState(StrEnum):
    """`new`: nothing has run on it yet; `kept`: its workload is deleted, it can be brought back until `purge_after`."""

    NEW = "new"
    PRESENT = "present"
    KEPT = "kept"
    PURGED = "purged"


class ConditionType(StrEnum):
    READY = "ready"
    REACHABLE = "reachable"
    ACTIVITY = "activity"


class ConditionStatus(StrEnum):
    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"


class Rule(StrEnum):
    """Which rule stops a workload."""

    IDLE = "idle"
    LIFETIME = "lifetime"


class Activity(StrEnum):
    ACTIVE = "active"
    IDLE = "idle"
    UNKNOWN = "unknown"


class Source(StrEnum):
    """Where the last sign of work came from."""

    START = "start"
    KERNEL = "kernel"
    TERMINAL = "terminal"
    PROCESS = "process"


class Purpose(StrEnum):
    """What a one-time code is good for."""

    ENTER = "enter"
    LOGS = "logs"
    EVENTS = "events"


class Waits(StrEnum):
    """Reasons with which a requested workload waits; nothing else is needed of whoever asked."""

    AWAITING_APPROVAL = "awaiting_approval"
    LENT_OUT = "lent_out"
    PREEMPTED = "preempted"
    RETRYING = "retrying"


class Starts(StrEnum):
    NOW = "now"
    LATER = "later"
    NEVER = "never"


class Standing(StrEnum):
    """How a node stands: the first two take new work, a degraded one with what of it is healthy."""

    IN_SERVICE = "in_service"
    DEGRADED = "degraded"
    CORDONED = "cordoned"
    UNHEALTHY = "unhealthy"
    NOT_READY = "not_ready"


class ClusterStanding(StrEnum):
    """How a cluster stands in the fleet: only a serving one takes new work, a draining one ends what runs on it."""

    SERVING = "serving"
    CORDONED = "cordoned"
    DRAINING = "draining"
    REMOVED = "removed"


class ClusterHealth(StrEnum):
    """What the last look found. Degraded: it answers, but something that is needed is missing."""

    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNAUTHORIZED = "unauthorized"
    UNREACHABLE = "unreachable"


class Drifted(StrEnum):
    """What somebody else did to a thing of a project's ground: the first two are put right, the third is another's."""

    CHANGED = "changed"
    MISSING = "missing"
    FOREIGN = "foreign"


class LeakKind(StrEnum):
    """What there is without a wish: something that runs, a disk, an end that hangs; or a bill without a thing."""

    RUN = "run"
    DISK = "disk"
    STUCK = "stuck"
    BILL = "bill"


class LeakEnd(StrEnum):
    """How a leak ended: by rule or by a person, or it was not there any more."""

    REMOVED = "removed"
    ESCAPED = "escaped"
    CLOSED = "closed"
    GONE = "gone"


class TaskName(StrEnum):
    RECONCILE_WORKLOAD = "provisioning.reconcile_workload"
    APPROVAL_SETTLED = "provisioning.approval_settled"
    QUOTA_RETURNED = "provisioning.quota_returned"
    SWEEP_WORKLOADS = "provisioning.sweep_workloads"
    SWEEP_RUNS = "provisioning.sweep_runs"
    SWEEP_ACTIVITY = "provisioning.sweep_activity"
    SWEEP_LEDGER = "provisioning.sweep_ledger"
    SWEEP_STRAYS = "provisioning.sweep_strays"
    SWEEP_VOLUMES = "provisioning.sweep_volumes"
    SWEEP_QUOTAS = "provisioning.sweep_quotas"
    SWEEP_INVENTORY = "provisioning.sweep_inventory"
    LIST_NODES = "provisioning.list_nodes"
    SWEEP_QUEUES = "provisioning.sweep_queues"
    SWEEP_GROUNDS = "provisioning.sweep_grounds"
    SWEEP_CLUSTERS = "provisioning.sweep_clusters"
    CHECK_CLUSTER = "provisioning.check_cluster"


def choices(words: type[StrEnum]) -> list[tuple[str, str]]:
    """A model field's choices: the words themselves."""
    return [(word.value, word.value.replace("_", " ")) for word in words]


LIVING = frozenset(State) - {State.DELETED}
MAY_RUN = frozenset({State.PROVISIONING, State.RUNNING, State.STOPPING, State.DELETING})
"""States in which the driver may have something of the workload."""

DISK_SKU = "disk-gib-hour/standard"
"""The SKU of one GiB of workspace disk."""

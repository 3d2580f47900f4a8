"""Examples that the API's description shows."""

from __future__ import annotations

_USD = "USD"
_PROJECT = {"id": "0199aa00-0000-7000-8000-000000000003", "label": "vision"}
_ALICE = {"id": "0199aa00-0000-7000-8000-000000000005", "label": "alice@aurora.example"}
_SIZE = {"accelerator": "H100", "accelerator_count": 1, "vcpus": 16, "memory_gib": 200}
_RATE = {"amount": "2.952", "currency": _USD}

SHAPE = {
    "id": "0199aa00-0000-7000-8000-000000000021",
    "slug": "h100-1",
    "label": "1 H100",
    "region": "local",
    **_SIZE,
    "price_per_hour": {"amount": "2.95", "currency": _USD},
    "capacity_kind": "on_demand",
    "free_now": 7,
    "simulated": True,
}
ROW = {
    "id": "0199aa00-0000-7000-8000-000000000004",
    "name": "notebook",
    "kind": "workspace",
    "project": _PROJECT,
    "owner": _ALICE,
    "shape": "h100-1",
    "image": "jupyterlab",
    "state": "running",
    "state_since": "2026-11-30T18:00:00Z",
    "desired_state": "running",
    "reason": None,
    "created_at": "2026-11-30T17:59:55Z",
}
WORKLOAD = {
    **ROW,
    "disk_gib": 20,
    "volume": "0199aa00-0000-7000-8000-000000000006",
    "env": {"TEAM": "vision"},
    "labels": {"experiment": "baseline"},
    "preemptible": False,
    "nodes": None,
    "job": None,
    "cluster": "local",
    "simulated": True,
    "conditions": [
        {"type": "ready", "status": "true", "code": "", "message": "", "since": "2026-11-30T18:00:00Z"},
    ],
    "will_stop_at": "2026-11-30T19:30:00Z",
    "stop": {"rule": "idle", "last_signal_at": "2026-11-30T18:30:00Z", "last_signal": "kernel", "policy": ""},
    "kept_until": None,
    "cost": {
        "so_far": {"amount": "1.48", "currency": _USD},
        "per_hour": _RATE,
        "as_of": "2026-11-30T18:30:00Z",
    },
}
VERDICT = {
    "admitted": False,
    "needs_approval": False,
    "deciders": 0,
    "warnings": [],
    "reasons": [
        {
            "code": "over_quota",
            "message": "2 H100 GPUs over (8 used + 4 asked > 10).",
            "resource": "accelerators/H100",
            "asked": 4,
            "used": 8,
            "limit": 10,
            "ask": "an owner of the organisation",
        }
    ],
    "starts": "now",
    "waits": None,
    "name": "notebook",
    "running": {"per_hour": _RATE, "per_month": {"amount": "2154.96", "currency": _USD}},
    "stopped": {
        "per_hour": {"amount": "0.002", "currency": _USD},
        "per_month": {"amount": "1.46", "currency": _USD},
    },
    "alternatives": [
        {
            "shape": "h100-1",
            "label": "1 H100",
            **_SIZE,
            "price": {"per_hour": _RATE, "per_month": {"amount": "2154.96", "currency": _USD}},
            "difference_per_hour": {"amount": "-8.85", "currency": _USD},
        }
    ],
    "quotas": [
        {
            "resource": "accelerators/H100",
            "limit": 10,
            "used": 8,
            "asked": 4,
            "left": 2,
            "level": "project",
            "place": "vision",
        }
    ],
    "simulated": True,
}
EVENT = {
    "id": "0199aa00-0000-7000-8000-000000000007",
    "at": "2026-11-30T18:00:00Z",
    "code": "workload.launched",
    "message": "Launched on 1 H100.",
    "actor": _ALICE,
    "details": {},
}
MANIFESTS = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "steelyard-0199aa0000007000"},
        }
    ],
}
USAGE = {
    "id": "0199aa00-0000-7000-8000-000000000010",
    "sku": "gpu-hour/h100/on-demand",
    "component": "accelerator",
    "quantity": "1.000000",
    "from": "2026-11-30T18:00:00Z",
    "to": None,
    "duration_seconds": "1800.000000",
    "cost": {"amount": "1.48", "currency": _USD},
    "as_of": "2026-11-30T18:30:00Z",
}
VOLUME = {
    "id": "0199aa00-0000-7000-8000-000000000006",
    "name": "notebook",
    "project": _PROJECT,
    "owner": _ALICE,
    "size_gib": 20,
    "state": "present",
    "cluster": "local",
    "created_at": "2026-11-30T17:59:55Z",
    "deleted_at": None,
    "purge_after": None,
}
CLUSTER = {
    "id": "0199aa00-0000-7000-8000-000000000013",
    "slug": "frankfurt-1",
    "label": "Frankfurt 1",
    "region": "eu-central",
    "simulated_accelerators": False,
    "accepts_workloads": True,
}

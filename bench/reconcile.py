"""Reconcile steps per second: workloads go from a wish to running and to stopped, with a driver that answers at once.

A step is one claim → act → apply turn that changes the row: two short transactions with locks, quota, usage, audit and
timeline. `python -m bench.reconcile [workloads]` prints one JSON row.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from statistics import median

from bench.scratch import scratch

ROUNDS = 3


def main(count: int) -> None:
    with scratch():
        measured = [_round(number, count) for number in range(ROUNDS)]
    steps, seconds, cpu = zip(*measured, strict=True)
    print(
        json.dumps(
            {
                "row": "reconcile",
                "unit": "steps per second",
                "ours": round(median(s / t for s, t in zip(steps, seconds, strict=True)), 1),
                "cpu_ms_per_step": round(median(c * 1000 / s for s, c in zip(steps, cpu, strict=True)), 2),
                "workloads": count,
                "rounds": [round(s / t, 1) for s, t in zip(steps, seconds, strict=True)],
            }
        )
    )


def _round(number: int, count: int) -> tuple[int, float, float]:
    stage = importlib.import_module("tests.provisioning.stage")
    house = importlib.import_module("tests.house")
    wishes = importlib.import_module("provisioning.services.wishes")
    quotas = importlib.import_module("tenants.models").Quota
    services = importlib.import_module("tenants.services.quotas")
    if number == 0:
        stage.open_shop(h100=100_000, vcpus=10_000_000, memory_gib=100_000_000)
    tenant = house.found(f"bench-{number}", projects=("vision",))
    house.join(tenant, "olivia", "owner")
    house.join(tenant, "alice", "developer", projects=("vision",))
    for quota_id in _quota_ids(tenant, quotas):
        with house.an_act(), tenant.scope():
            services.set_limit(actor=tenant.actor("olivia"), quota_id=quota_id, limit=10**9, now=stage.NOON)
    clock = stage.Clock()
    machine = stage.Machine(clock)
    workloads = [stage.launch(tenant) for _ in range(count)]
    steps, begun, cpu = 0, time.perf_counter(), time.process_time()
    for workload in workloads:
        steps += stage.turn(tenant, workload, machine, clock)
    running = time.perf_counter() - begun
    running_cpu = time.process_time() - cpu
    for workload in workloads:
        stage.wish(tenant, "alice", wishes.stop, workload, clock.now)
    begun, cpu = time.perf_counter(), time.process_time()
    for workload in workloads:
        steps += stage.turn(tenant, workload, machine, clock)
    return steps, running + time.perf_counter() - begun, running_cpu + time.process_time() - cpu


def _quota_ids(tenant, quotas):
    with tenant.scope():
        return list(quotas.objects.values_list("pk", flat=True))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 150)

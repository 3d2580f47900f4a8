"""The other half of row f1: what 5,000 workloads that run and do nothing cost a minute, as a share of one core.

The control plane has 100 fake nodes and truly holds all of it: claims, sets and pods, made with the driver's own
manifests, and the records on the claims. The books are filled by SQL from one workload that was launched and reconciled
the real way. Then worker, beat and watch run as `make up` starts them, every schedule of the platform included, and
their CPU and that of database and broker is measured over some minutes. The same is measured before with an empty
fleet, since the platform does other things too; both are told, and the difference is what the fleet costs. The control
plane's own CPU is told beside it. What fake nodes cannot do is answer probes: what a workspace does is not read here,
and every probe fails after the call that looks for its pod.
`python -m bench.idle_fleet [workloads] [minutes]` prints one JSON row.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bench.fleet import control_plane, parts_of, wait
from bench.processes import cpu_of, servers_of, spent_since, working
from bench.scratch import scratch
from portal.up.ephemeral import Servers
from tests.kube.clusters import Lab

SETTLING_S = 150
"""After the start: watches open, everybody is looked at once, statistics are gathered."""


def main(count: int, minutes: int) -> None:
    with control_plane() as lab, scratch() as running, tempfile.TemporaryDirectory() as home:
        scene = importlib.import_module("bench.fleet_scene")
        tenant = scene.open_fleet(lab.kubeconfig)
        empty, _ = _measured(lab, running, Path(home) / "empty", minutes)
        begun = time.monotonic()
        copies = importlib.import_module("bench.fleet_copies")
        first = copies.first_of(tenant)
        copies.copy(first, count - 1)
        wait(lambda: scene.ready_pods(lab.kubeconfig) >= count, lambda: f"{scene.ready_pods(lab.kubeconfig)} pods")
        copies.see(first)
        for name, seconds in copies.by_sweep(servers_of(running)).items():
            print(f"{name}: {seconds} CPU s", file=sys.stderr, flush=True)
        copies.see(first)
        made = time.monotonic() - begun
        full, control = _measured(lab, running, Path(home) / "full", minutes)
        states = scene.states(tenant)
    share = {name: sum(spent.values()) / (minutes * 60) * 100 for name, spent in (("full", full), ("empty", empty))}
    print(
        json.dumps(
            {
                "row": "f1-idle",
                "unit": f"% of one core for {count:,} idle workloads",
                "ours": round(share["full"] - share["empty"], 2),
                "peer": 5.0,
                "ratio": round((share["full"] - share["empty"]) / 5.0, 3),
                "whole_platform": round(share["full"], 2),
                "empty_platform": round(share["empty"], 2),
                "cpu_s_a_minute": {"full": _a_minute(full, minutes), "empty": _a_minute(empty, minutes)},
                "control_plane_cpu_s_a_minute": _a_minute(control, minutes),
                "states": dict(states),
                "seeded_in_s": round(made),
                "load": round(os.getloadavg()[0], 1),
            }
        )
    )


def _measured(lab: Lab, running: Servers, home: Path, minutes: int) -> tuple[dict[str, float], dict[str, float]]:
    with working(running, home) as pids:
        time.sleep(SETTLING_S)
        own, control = pids | servers_of(running), parts_of(lab)
        before = cpu_of(own | control)
        time.sleep(minutes * 60)
        return spent_since(before, own), spent_since(before, control)


def _a_minute(spent: Mapping[str, float], minutes: int) -> dict[str, float]:
    return {name: round(seconds / minutes, 2) for name, seconds in spent.items()}


if __name__ == "__main__":
    arguments = [int(word) for word in sys.argv[1:]]
    main(*arguments) if len(arguments) == 2 else main(arguments[0] if arguments else 5000, 3)

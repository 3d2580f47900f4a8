"""Row f1: 1,000 workloads from the wish to running, through the real path, beside `kubectl apply` of the same objects.

Each side has a fresh control plane (tests/kube/lab) with 100 fake nodes. Ours: the launches are on record, then worker,
beat and watch start as `make up` starts them, and the clock runs until every workload is `running` in the books. The
peer: one `kubectl apply` of a file with the same namespaces, claims and sets, and the clock runs until every pod is
ready. Wall time is what the one who waits sees; the CPU of all that took part, control plane included, is steadier on
a machine that has other work, and the CPU of either client alone is told beside it.
`python -m bench.fleet [workloads] [rounds]` prints one JSON row.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from bench.processes import cpu_of, servers_of, spent_since, working
from bench.scratch import scratch
from tests.kube.clusters import Lab, running_lab
from tests.kube.lab.binaries import binaries

NODES = 100
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "fake-kubelet")
PATIENCE_S = 1500
PEER = "--peer"


@dataclass(frozen=True)
class Taken:
    """Seconds: on the wall, of CPU by what was asked (`own`, in all) and by what answered (`lab`)."""

    wall: float
    own: dict[str, float]
    lab: dict[str, float]

    @property
    def client(self) -> float:
        return sum(self.own.values())

    @property
    def everything(self) -> float:
        return self.client + sum(self.lab.values())


def main(count: int, rounds: int) -> None:
    measured = []
    for _ in range(rounds):
        ours, peer = (_in_a_process(side, count) for side in ("ours", "peer"))
        measured.append((ours, peer))
    print(json.dumps(_row(count, measured)))


def _row(count: int, measured: list[tuple[Taken, Taken]]) -> dict[str, object]:
    ours, peer = zip(*measured, strict=True)

    def middle(told: tuple[Taken, ...], ask: Callable[[Taken], float]) -> float:
        return round(median(ask(each) for each in told), 2)

    ratio = middle(ours, lambda each: each.everything) / middle(peer, lambda each: each.everything)
    return {
        "row": "f1",
        "unit": f"CPU s of all that took part, {count:,} workloads",
        "ours": middle(ours, lambda each: each.everything),
        "peer": middle(peer, lambda each: each.everything),
        "ratio": round(ratio, 3),
        "workloads": count,
        "wall_s": {"ours": middle(ours, lambda each: each.wall), "peer": middle(peer, lambda each: each.wall)},
        "client_cpu_s": {
            "ours": middle(ours, lambda each: each.client),
            "peer": middle(peer, lambda each: each.client),
        },
        "load": round(os.getloadavg()[0], 1),
        "rounds": [{"ours": asdict(one), "peer": asdict(other)} for one, other in measured],
    }


def _in_a_process(side: str, count: int) -> Taken:
    """Each in one of its own: Django is set up once in a process, for one database."""
    words = [sys.executable, "-m", "bench.fleet", f"--{side}", str(count)]
    told = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout
    return Taken(**json.loads(told.splitlines()[-1]))


def ours(count: int) -> Taken:
    with control_plane() as lab, scratch() as running, tempfile.TemporaryDirectory() as home:
        scene = importlib.import_module("bench.fleet_scene")
        tenant = scene.open_fleet(lab.kubeconfig)
        scene.launch_all(tenant, count)
        pids = servers_of(running)
        parts, before, begun = parts_of(lab), cpu_of(pids | parts_of(lab)), time.monotonic()
        with working(running, Path(home)) as working_pids:
            wait(lambda: scene.states(tenant)["running"] == count, lambda: f"{scene.states(tenant)} {home}")
            wall = time.monotonic() - begun
            return Taken(round(wall, 2), spent_since(before, pids | working_pids), spent_since(before, parts))


def peer(count: int) -> Taken:
    with control_plane() as lab, scratch(), tempfile.TemporaryDirectory() as folder:
        scene = importlib.import_module("bench.fleet_scene")
        file = Path(folder) / "objects.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(scene.manifests(count))}))
        parts = parts_of(lab)
        before, begun, children = cpu_of(parts), time.monotonic(), os.times()
        kubectl = [binaries("control-plane") / "kube", "kubectl", f"--kubeconfig={lab.kubeconfig}"]
        subprocess.run([*kubectl, "apply", "-f", file], check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        spent = after.children_user + after.children_system - children.children_user - children.children_system
        wait(lambda: scene.ready_pods(lab.kubeconfig) == count, lambda: str(scene.ready_pods(lab.kubeconfig)))
        wall = time.monotonic() - begun
        return Taken(round(wall, 2), {"kubectl": round(spent, 2)}, spent_since(before, parts))


@contextmanager
def control_plane() -> Iterator[Lab]:
    os.environ["STEELYARD_OUTGOING_NETWORKS"] = "127.0.0.0/8"
    with (
        tempfile.TemporaryDirectory(prefix="steelyard-fleet-") as folder,
        running_lab(Path(folder), nodes=NODES) as lab,
    ):
        yield lab


def parts_of(lab: Lab) -> dict[str, int]:
    records = {name: lab.folder / "run" / f"{name}.json" for name in CONTROL_PLANE}
    return {name: int(json.loads(record.read_text())["pid"]) for name, record in records.items()}


def wait(done: Callable[[], bool], how_far: Callable[[], str]) -> None:
    end = time.monotonic() + PATIENCE_S
    said = time.monotonic()
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(how_far())
        if time.monotonic() - said > 10:
            print(how_far(), file=sys.stderr, flush=True)
            said = time.monotonic()
        time.sleep(0.5)


if __name__ == "__main__":
    if sys.argv[1:2] in (["--ours"], ["--peer"]):
        print(json.dumps(asdict({"--ours": ours, "--peer": peer}[sys.argv[1]](int(sys.argv[2])))))
    else:
        arguments = [int(word) for word in sys.argv[1:]]
        main(*arguments) if len(arguments) == 2 else main(arguments[0] if arguments else 1000, 1)

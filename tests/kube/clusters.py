"""A Kubernetes for the tests: one that is named by KUBECONFIG, else a lab of the session's own."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kubernetes import client, config

from portal.up.ports import is_free
from tests.kube.lab.binaries import binaries, lacks

LAB = Path(__file__).parent / "lab" / "lab"
NODES, PRODUCT = 4, "NVIDIA-H100-80GB-HBM3"
_PORTS = 16


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab that runs, and may be asked for more."""

    folder: Path
    port: int

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "admin.kubeconfig"

    def run(self, *words: str) -> str:
        """`lab up --kueue` adds to it, `lab kubectl …` asks it."""
        return _call(LAB, *words, folder=self.folder, port=self.port)

    def real_node(self, *words: str, venv: Path) -> str:
        program = LAB.with_name("real-node")
        return _call(program, *words, folder=self.folder, port=self.port, REAL_NODE_VENV=str(venv.resolve()))


def why_no_real_node(venv: Path) -> str:
    """In one line why no pod can truly run that environment here; empty where one can."""
    hidden = tempfile.gettempdir()
    if Path(hidden) in venv.resolve().parents:
        return f"no real node: {venv.name} lies below {hidden}, in whose place a pod has its own"
    needed = ("containerd", "runc", "iptables", "busybox", "sysctl", "ip")
    places = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    missing = [name for name in needed if not shutil.which(name, path=places)]
    if not Path("/usr/lib/cni/bridge").exists():
        missing.append("containernetworking-plugins")
    if missing:
        return f"no real node: {', '.join(missing)} not found (docs/kubernetes-tests.md)"
    if Path("/sys/class/net/cni0").exists():
        return "no real node: another one runs on this machine"
    return "no real node: it needs root" if os.geteuid() else ""


def why_no_lab() -> str:
    """In one line why no lab can be started here; empty where one can."""
    if missing := lacks():
        return f"{missing} not found, so no Kubernetes was started (docs/kubernetes-tests.md)"
    if not binaries("control-plane").exists():
        return "the Kubernetes of the tests is not built yet: tests/kube/lab/lab build"
    return ""


@contextmanager
def running_lab(folder: Path, *, nodes: int = NODES) -> Iterator[Lab]:
    """A control plane with fake nodes; it ends with this process, whatever ends that."""
    lab = Lab(folder, _free_block())
    try:
        lab.run("up", "--while", str(os.getpid()), "--fake-nodes", str(nodes))
        yield lab
    finally:
        lab.run("down")


def _call(program: Path, *words: str, folder: Path, port: int, **more: str) -> str:
    environment = os.environ | {"KUBE_LAB_DIR": str(folder), "KUBE_LAB_PORT": str(port)} | more
    done = subprocess.run([program, *words], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        said = f"{done.stdout}\n{done.stderr}".strip()
        raise RuntimeError(f"{program.name} {' '.join(words)}: {said[-2000:]}")
    return done.stdout.strip()


def _free_block() -> int:
    """Below the ports that the kernel hands out by itself, so that nobody else comes by one of them."""
    starts = list(range(20_000, 32_000, _PORTS))
    random.shuffle(starts)
    return next(start for start in starts if all(is_free(start + offset) for offset in range(_PORTS)))


@contextmanager
def fake_nodes(kubeconfig: str, folder: Path) -> Iterator[None]:
    """On a cluster that is not ours: the same fake nodes; their pods have no logs, since it cannot reach us.
    Where it has no storage at all, claims get folders in the given one."""
    program: list[str | Path] = [sys.executable, LAB.with_name("fake_kubelet.py"), "--kubeconfig", kubeconfig]
    program += ["--pool", f"gpu:{NODES}:8:{PRODUCT}"]
    access = config.new_client_from_config(kubeconfig)
    core, storage = client.CoreV1Api(access), client.StorageV1Api(access)
    if not storage.list_storage_class().items:
        program += ["--volumes", folder]
    child = subprocess.Popen(program, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline(), f"no fake nodes in {kubeconfig}"
        yield
    finally:
        child.terminate()
        child.wait()
        core.delete_collection_node(label_selector="type=fake")

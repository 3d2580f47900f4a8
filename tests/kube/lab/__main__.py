"""A real Kubernetes control plane on loopback, for development and tests.

lab up [--fake-nodes N [--gpus G]] [--pool NAME:NODES:GPUS:PRODUCT]... [--kueue] [--kuberay] [--jobset] [--dask]
       [--while PID]
                     build what is missing, start, wait until ready, print the admin kubeconfig's path;
                     run it again to add something to a running lab; --while ends it with that process
lab down [--keep]    stop everything `up` started and drop the cluster's data (--keep keeps it)
lab status           one line per process; exit 0 only when the API server is ready
lab build [MODULE].. build now, and print where the binaries are: control-plane (the default), kueue, operators,
                     dask (an environment of Python)
lab lacks            print what this machine lacks for a lab; exit 0 only when that is nothing
lab kubectl ...      the matching kubectl, as admin
lab state            print the folder of this lab's state: logs (also the audit log) in run/, kubeconfigs in pki/

Environment: KUBE_LAB_CACHE holds the binaries, KUBE_LAB_DIR one lab's state, KUBE_LAB_PORT is the API server's port
(the 15 ports above it are used too). Two labs side by side need their own KUBE_LAB_DIR and KUBE_LAB_PORT.
"""

from __future__ import annotations

import argparse
import os
import select
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.kube.lab.binaries import build, lacks
from tests.kube.lab.control_plane import start_control_plane, start_fake_nodes
from tests.kube.lab.dask_operator import NAME as DASK
from tests.kube.lab.dask_operator import build_environment, start_dask_operator
from tests.kube.lab.operating import OPERATORS, start_operator
from tests.kube.lab.places import ADMIN, API, HERE, PKI, RUN, STATE
from tests.kube.lab.processes import answers, running, start, started, stop

KEEPER = "keeper"
PRODUCT = "NVIDIA-H100-80GB-HBM3"


def up(options: argparse.Namespace) -> None:
    os.umask(0o077)
    RUN.mkdir(parents=True, exist_ok=True)
    if options.pid:
        start(KEEPER, sys.executable, "-m", "tests.kube.lab", "keep", options.pid)
    start_control_plane()
    for name in OPERATORS:  # Kueue last, since it looks which kinds there are when it starts
        if getattr(options, name):
            start_operator(name)
    if options.dask:
        start_dask_operator()
    if options.fake_nodes:
        options.pool.append(f"gpu:{options.fake_nodes}:{options.gpus}:{PRODUCT}")
    if options.pool:
        start_fake_nodes(options.pool)
    print(ADMIN)


def keep(options: argparse.Namespace) -> None:
    """Wait for the end of a process, however it comes, then take the lab down."""
    with suppress(ProcessLookupError):
        select.select([os.pidfd_open(options.pid)], [], [])
    down(argparse.Namespace(keep=False))


def down(options: argparse.Namespace) -> None:
    if (STATE / "node").exists():
        subprocess.run([HERE / "real-node", "down"], check=True)
    for name in started():
        if running(name) != os.getpid():
            stop(name)
    if not options.keep:
        for folder in (STATE / "etcd", STATE / "volumes", PKI):
            shutil.rmtree(folder, ignore_errors=True)
        (RUN / "audit.log").unlink(missing_ok=True)


def status(_: argparse.Namespace) -> None:
    for name in reversed(started()):
        pid = running(name)
        print(f"{name}: {f'running, pid {pid}' if pid else 'dead'}")
    ready = PKI.exists() and answers(f"{API}/readyz")
    print(f"API server: {f'ready at {API}' if ready else 'not ready'}")
    sys.exit(not ready)


def tell_lacks(_: argparse.Namespace) -> None:
    print(lacks())
    sys.exit(bool(lacks()))


def made(module: str) -> Path:
    return build_environment() if module == DASK else build(module)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("up")
    command.add_argument("--fake-nodes", type=int, default=0)
    command.add_argument("--gpus", type=int, default=8)
    command.add_argument("--pool", action="append", default=[], metavar="NAME:NODES:GPUS:PRODUCT")
    command.add_argument("--while", type=int, dest="pid", metavar="PID")
    for name in (*OPERATORS, DASK):
        command.add_argument(f"--{name}", action="store_true")
    command.set_defaults(run=up)
    command = commands.add_parser("keep")
    command.add_argument("pid", type=int)
    command.set_defaults(run=keep)
    command = commands.add_parser("down")
    command.add_argument("--keep", action="store_true")
    command.set_defaults(run=down)
    command = commands.add_parser("build")
    command.add_argument("modules", nargs="*", metavar="MODULE")
    command.set_defaults(run=lambda options: print(*map(made, options.modules or ["control-plane"]), sep="\n"))
    commands.add_parser("status").set_defaults(run=status)
    commands.add_parser("lacks").set_defaults(run=tell_lacks)
    commands.add_parser("state").set_defaults(run=lambda _: print(STATE))
    return parser


def main() -> None:
    if sys.argv[1:2] == ["kubectl"]:
        os.execv(build("control-plane") / "kube", ["kube", "kubectl", f"--kubeconfig={ADMIN}", *sys.argv[2:]])
    options = _parser().parse_args()
    try:
        options.run(options)
    except subprocess.CalledProcessError as error:
        sys.exit(f"lab: failed: {' '.join(map(str, error.cmd[:4]))} ...")


if __name__ == "__main__":
    main()

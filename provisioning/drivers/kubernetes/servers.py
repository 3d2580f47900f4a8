"""How a workspace's server is started in its container, and asked whether it answers. Pure.

It listens on the pod's loopback alone: the only way to it is the API server's tunnel, which the workspace proxy holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from provisioning.drivers.jupyterlab import OPTIONS
from provisioning.drivers.kubernetes.names import DASK, RAY

PORT: Final = 8888
DASHBOARD: Final = 8265
HOME: Final = "/home/work"


@dataclass(frozen=True, slots=True)
class Server:
    """`healthy`: where it answers 200 when it is well. `kernels`: whether it tells of kernels and terminals."""

    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    probe: tuple[str, ...]
    kernels: bool


def asked(path: str, port: int) -> tuple[str, ...]:
    """By the image's own Python, which such an image has: without the packages and paths of the workspace's people."""
    question = (
        "import http.client as h, sys; "
        f"c = h.HTTPConnection('127.0.0.1', {port}, timeout=3); "
        f"c.request('GET', '{path}'); sys.exit(c.getresponse().status != 200)"
    )
    return ("python3", "-I", "-S", "-c", question)


JUPYTERLAB: Final = Server(
    command=(
        "jupyter",
        "lab",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={PORT}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={HOME}",
        *OPTIONS,
    ),
    environment=(("HOME", HOME), ("JUPYTER_RUNTIME_DIR", "/tmp/jupyter")),  # noqa: S108
    probe=asked("/api/status", PORT),
    kernels=True,
)


def port_of(form: str) -> int:
    """Where the server of that form of workload listens on its pod's loopback."""
    return DASHBOARD if form in (RAY, DASK) else PORT

"""What the local driver is told once, at boot."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from provisioning.drivers.jupyterlab import OPTIONS
from provisioning.drivers.local import record

SOCKET_PATH_LIMIT = 107
INSIDE_HOME, INSIDE_BOX, INSIDE_TMP = "/home/work", "/run/steelyard", "/tmp"  # noqa: S108
LABEL_LENGTH = 32  # a workload's id in hexadecimal


@dataclass(frozen=True, slots=True)
class LocalImage:
    """A server that can be started here.

    In `command` and `environment` these are replaced: `{socket}` where it must listen (mode 0600),
    `{home}` the volume, `{runtime}` a private folder, `{transport}` how kernels talk. `readable`
    are the folders of this machine that it needs beside the system's own; `programs` come first on
    its PATH.
    """

    command: tuple[str, ...]
    readable: tuple[Path, ...] = ()
    programs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LocalConfig:
    """`state_dir` must be our own and lie on a local disk. Times are seconds.

    `hidden` are more paths that no workload may see (the installation file); the state folder is
    hidden always. `retry_s`: the first pause before a task of an array is tried again. `isolation` is
    a test's wish for a weaker kind than the machine offers.
    """

    state_dir: Path
    images: Mapping[str, LocalImage]
    hidden: tuple[Path, ...] = ()
    grace_s: float = 10.0
    farewell_s: float = 2.0
    heartbeat_s: float = 1.0
    probe_s: float = 1.0
    prompt_s: float = 0.25
    lock_s: float = 5.0
    hung_s: float = 5.0
    log_bytes: int = 4 * 1024 * 1024
    tail_lines: int = 20
    retry_s: float = 10.0
    forget_after_days: int = 30
    processes: int = 4096
    first_uid: int = 20_000
    last_uid: int = 59_999
    isolation: str | None = None

    @cached_property
    def installation(self) -> str:
        """Tells our processes from those of another installation on this machine."""
        return hashlib.sha256(str(self.state_dir.resolve()).encode()).hexdigest()[:12]

    @cached_property
    def run_dir(self) -> Path:
        """Holds sockets, whose paths the kernel bounds: a deep state folder moves it to a short one."""
        inside = self.state_dir.resolve() / "run"
        longest = len(str(inside)) + 1 + LABEL_LENGTH + len("/box/") + len(record.SOCKET)
        if longest <= SOCKET_PATH_LIMIT:
            return inside
        return Path(tempfile.gettempdir()) / f"steelyard-{self.installation}"


def jupyterlab(environment: Path) -> LocalImage:
    """JupyterLab out of a virtual environment, as an image.

    The environment stays read-only; what people install goes to `~/.python/<version>`, which their
    kernels see and the server itself does not (`-E`), so it cannot be broken by it. The start
    travels as text, since no workload can read our code.
    """
    python = environment / "bin" / "python"
    version, home = _description_of(environment)
    own = f"{{home}}/.python/{version}"
    return LocalImage(
        command=(str(python), "-E", "-c", _JUPYTERLAB_START.read_text(), *_JUPYTERLAB_OPTIONS),
        readable=(environment, home),
        programs=(f"{own}/bin", str(environment / "bin")),
        environment={
            "JUPYTER_CONFIG_DIR": "{home}/.jupyter",
            "JUPYTER_DATA_DIR": "{home}/.local/share/jupyter",
            "JUPYTER_RUNTIME_DIR": "{runtime}",
            "IPYTHONDIR": "{home}/.ipython",
            "PIP_TARGET": own,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PYTHONPATH": own,
        },
    )


_JUPYTERLAB_START = Path(__file__).with_name("jupyterlab_start.py")
_JUPYTERLAB_OPTIONS = (
    *OPTIONS,
    "--ServerApp.sock={socket}",
    "--ServerApp.sock_mode=0600",
    "--ServerApp.root_dir={home}",
    "--KernelManager.transport={transport}",
)


def _description_of(environment: Path) -> tuple[str, Path]:
    """Version and home of the Python below a virtual environment; itself where it is none."""
    try:
        lines = (environment / "pyvenv.cfg").read_text().splitlines()
    except OSError:
        return "any", environment
    words = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    version = ".".join(words.get("version", words.get("version_info", "any")).split(".")[:2])
    real = (environment / "bin" / "python").resolve()
    return version, real.parent.parent

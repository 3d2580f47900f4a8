"""The Python of workspaces, where the accounts that workspaces run under can reach it.

As root, a Python below a home folder (pyenv, uv) is out of reach for every other account. Then the interpreter and
the workspace environment are copied, once per version, beside the installation; the home folder is left as it is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from portal.up.accounts import Account, can_reach
from portal.up.errors import CannotStart

_LEFT_OUT = shutil.ignore_patterns(
    "test", "tests", "site-packages", "idlelib", "tkinter", "turtledemo", "ensurepip", "*.a", "config-*"
)
_RELATIVE_LIBRARY_FOLDER = b"$ORIGIN/../lib\0"
_CHECK = "import ipykernel, jupyterlab"
_CHECK_SECONDS = 120


def reachable_workspace_python(
    venv: Path, account: Account, programs: Path, *, shown_anyway: Callable[[], bool], say: Callable[[str], None]
) -> Path:
    """In place if every account can run it or will be shown it (in a namespace of its own), else a copy."""
    python = venv / "bin" / "python"
    if not python.exists():
        raise CannotStart(f"The workspaces' Python is missing ({python}): run `make install`.")
    base = _base_of(venv)
    if all(can_reach(account, path) for path in (python, venv / "bin", base)) or shown_anyway():
        return python
    target = programs / f"workspace-{_version_of(venv)}"
    copied = target / "bin" / "python"
    if not copied.exists():
        say(f"Copying the workspaces' Python to {target}: other accounts cannot reach it in {base}")
        _copy(venv, base, target)
        _check(copied, account)
    return copied


def namespaces_work(root: Path) -> bool:
    """Whether the local driver can give each workspace a view of the machine of its own: asked of the driver itself."""
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-m", "provisioning.drivers.local.trial"],
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_CHECK_SECONDS,
        check=False,
    )
    return done.returncode == 0


def _base_of(venv: Path) -> Path:
    """The installation that the environment was made from: the folder above its real `bin`."""
    return (venv / "bin" / "python").resolve().parent.parent


def _version_of(venv: Path) -> str:
    """Changes with the interpreter and with what is installed."""
    distributions = sorted(path.name for path in venv.glob("lib/python*/site-packages/*.dist-info"))
    seed = "\n".join([str((venv / "bin" / "python").resolve()), *distributions])
    return hashlib.sha256(seed.encode()).hexdigest()[:12]


def _copy(venv: Path, base: Path, target: Path) -> None:
    """A whole Python of its own: base and environment in one tree, so that nothing in it points back."""
    unfinished = target.with_name(f".{target.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    interpreter = (venv / "bin" / "python").resolve()
    (unfinished / "bin").mkdir(parents=True)
    shutil.copy2(interpreter, unfinished / "bin" / "python")
    (unfinished / "bin" / "python3").symlink_to("python")
    for library in [*base.glob("lib/libpython3*.so*"), *base.glob("lib/libpython3*.dylib")]:
        shutil.copy2(library, _folder(unfinished / "lib") / library.name)
    _find_library_beside_itself(unfinished / "bin" / "python", base)
    for folder in venv.glob("lib/python3*"):
        shutil.copytree(base / "lib" / folder.name, unfinished / "lib" / folder.name, ignore=_LEFT_OUT, symlinks=True)
        shutil.copytree(folder / "site-packages", unfinished / "lib" / folder.name / "site-packages", symlinks=True)
    for name in ("share", "etc"):
        if (venv / name).is_dir():
            shutil.copytree(venv / name, unfinished / name, symlinks=True)
    unfinished.chmod(0o755)
    _let_all_read(unfinished)
    unfinished.rename(target)


def _find_library_beside_itself(binary: Path, base: Path) -> None:
    """An interpreter with a shared library names its old folder: put the shorter, relative one in its place."""
    content = binary.read_bytes()
    old, new = f"{base / 'lib'}\0".encode(), _RELATIVE_LIBRARY_FOLDER
    if content.count(old) == 1 and len(new) <= len(old):
        binary.write_bytes(content.replace(old, new.ljust(len(old), b"\0")))


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _let_all_read(tree: Path) -> None:
    """Of the copy: whatever the umask was when the originals were installed."""
    for folder, _, files in os.walk(tree):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o444)


def _check(python: Path, account: Account) -> None:
    done = subprocess.run(
        [python, "-I", "-c", _CHECK],
        env={"PATH": os.defpath, "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=_CHECK_SECONDS,
        check=False,
        **account.identity,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise CannotStart(f"The copied Python in {python.parent.parent} does not work: {lines[-1]}")

"""What a workload can see: a file system, processes and devices of its own. Standard library only.

An allow-list: a new root holds the system's programs, the image and the workload's own folders;
nothing else of the machine is in it. It needs root; `Refused` says where the machine forbids it.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x00020000, 0x08000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38

_libc = ctypes.CDLL(None, use_errno=True)


class Refused(OSError):
    """The kernel or the container does not allow this step."""


@dataclass(frozen=True, slots=True)
class View:
    """Paths outside, and where they appear inside. `hidden` is masked where it would show."""

    root: str
    readable: tuple[str, ...]
    writable: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags), "unshare")


def control(option: int, value: int) -> None:
    """prctl(2)"""
    _checked(_libc.prctl(option, value, 0, 0, 0), "prctl")


def enter(view: View) -> None:
    """Make the view and live in it. Call in the first process of a new pid namespace."""
    unshare(CLONE_NEWNS | CLONE_NEWIPC)
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    _mount("tmpfs", view.root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m")
    for path in _present(SYSTEM):
        _show(view.root, path)
    for outside, inside in view.writable:
        _bind(outside, view.root + inside, MS_NOSUID | MS_NODEV)
    for path in _present(view.readable):
        _show(view.root, path)
    for path in view.hidden:
        _mask(view.root + os.path.realpath(path))
    for outside, inside in view.files:
        _bind(outside, view.root + inside, MS_RDONLY | MS_NOSUID | MS_NODEV)
    _make_devices(view.root)
    os.makedirs(view.root + "/proc", exist_ok=True)
    _mount("proc", view.root + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    _move_into(view.root)


def system_files_elsewhere() -> tuple[tuple[str, str], ...]:
    """The resolver's file is often a link to a folder that is not shown."""
    target = os.path.realpath("/etc/resolv.conf")
    if target.startswith(SYSTEM) or not os.path.exists(target):
        return ()
    return ((target, target),)


def _present(paths: tuple[str, ...]) -> list[str]:
    return [path for path in paths if os.path.lexists(path)]


def _show(root: str, path: str) -> None:
    if os.path.islink(path):
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        if not os.path.lexists(root + path):
            os.symlink(os.readlink(path), root + path)
        return
    if not os.path.lexists(root + path) or not os.path.samefile(path, root + path):
        _bind(path, root + path, MS_RDONLY | MS_NOSUID | MS_NODEV)


def _bind(outside: str, inside: str, flags: int) -> None:
    if os.path.isdir(outside):
        os.makedirs(inside, exist_ok=True)
    elif not os.path.exists(inside):
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        os.close(os.open(inside, os.O_CREAT | os.O_WRONLY, 0o644))
    _mount(outside, inside, None, MS_BIND | MS_REC)
    _mount(None, inside, None, MS_BIND | MS_REMOUNT | flags)


def _mask(inside: str) -> None:
    if os.path.isdir(inside):
        _mount("tmpfs", inside, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0000,size=4k")
    elif os.path.exists(inside):
        _mount("/dev/null", inside, None, MS_BIND)


def _make_devices(root: str) -> None:
    dev = root + "/dev"
    os.makedirs(dev, exist_ok=True)
    for name in DEVICES:
        if os.path.exists(f"/dev/{name}"):
            os.close(os.open(f"{dev}/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
            _mount(f"/dev/{name}", f"{dev}/{name}", None, MS_BIND)
    for folder in ("pts", "shm"):
        os.makedirs(f"{dev}/{folder}", exist_ok=True)
    _mount(
        "devpts",
        f"{dev}/pts",
        "devpts",
        MS_NOSUID | MS_NOEXEC,
        "newinstance,ptmxmode=0666,mode=0620",
    )
    _mount("tmpfs", f"{dev}/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    os.symlink("pts/ptmx", f"{dev}/ptmx")
    os.symlink("/proc/self/fd", f"{dev}/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{dev}/{name}")


def _move_into(root: str) -> None:
    os.chdir(root)
    _checked(_libc.pivot_root(b".", b"."), "pivot_root")
    _checked(_libc.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    answer = _libc.mount(
        None if source is None else os.fsencode(source),
        os.fsencode(target),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    _checked(answer, f"mount {target}")


def _checked(answer: int, step: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise Refused(number, f"{step}: {os.strerror(number)}")

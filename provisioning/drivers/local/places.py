"""Where a workload's things lie, and making them ready.

<state>/workspaces/<project>/<volume>   its files; survive everything but their own removal
<run>/<workload>/                       ours: record, locks, log, the published socket
<run>/<workload>/box, tmp               its own: where its server listens; temporary files
"""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from provisioning.drivers.local import record
from provisioning.drivers.local.config import LocalConfig

TRASH = "removed"


@dataclass(frozen=True, slots=True)
class Places:
    run: Path

    @property
    def box(self) -> Path:
        return self.run / "box"

    @property
    def tmp(self) -> Path:
        return self.run / "tmp"

    @property
    def root(self) -> Path:
        return self.run / "root"

    @property
    def people(self) -> Path:
        return self.run / "passwd"

    @property
    def groups(self) -> Path:
        return self.run / "group"

    @property
    def log(self) -> Path:
        return self.run / record.LOG

    @property
    def socket(self) -> Path:
        return self.run / record.SOCKET


def places_of(workload_id: UUID, config: LocalConfig) -> Places:
    return Places(config.run_dir / workload_id.hex)


def volume_of(project_id: UUID, volume_id: UUID, config: LocalConfig) -> Path:
    return config.state_dir / "workspaces" / str(project_id) / str(volume_id)


def make_ours(places: Places, config: LocalConfig, *, passable: bool) -> None:
    """The folders that only we write. Refuses a short run folder that somebody else made."""
    config.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    config.run_dir.mkdir(mode=0o700, exist_ok=True)
    if not are_ours(config):
        raise PermissionError(f"{config.run_dir} belongs to another user")
    places.run.mkdir(mode=0o700, exist_ok=True)
    if passable:
        config.state_dir.chmod(0o711)
    for folder in (config.run_dir, places.run):
        folder.chmod(0o711 if passable else 0o700)


def are_ours(config: LocalConfig) -> bool:
    """A run folder outside the state folder could have been laid there by anybody."""
    try:
        found = config.run_dir.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def make_volume(volume: Path, *, uid: int | None, passable: bool) -> None:
    """The workload's home, owned by its user (also where a restore has changed the owner)."""
    mode = 0o711 if passable else 0o700
    for folder in (volume.parent.parent, volume.parent):
        folder.mkdir(mode=mode, exist_ok=True)
        folder.chmod(mode)
    volume.mkdir(mode=0o700, exist_ok=True)
    if uid is not None and volume.stat().st_uid != uid:
        _give(volume, uid)
    volume.chmod(0o700)


def make_scratch(places: Places, *, uid: int | None) -> None:
    """Empty folders of the workload's own, new for each start."""
    clear_scratch(places)
    for folder in (places.box, places.tmp, places.box / "r"):
        folder.mkdir(mode=0o700)
        if uid is not None:
            os.chown(folder, uid, uid)
    places.root.mkdir(mode=0o700)


def name_user(places: Places, *, uid: int, home: str) -> None:
    """So that the workload's user has a name inside."""
    places.people.write_text(
        f"root:x:0:0::/:/bin/false\nwork:x:{uid}:{uid}:work:{home}:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n"
    )
    places.groups.write_text(f"root:x:0:\nwork:x:{uid}:\nnogroup:x:65534:\n")
    for path in (places.people, places.groups):
        path.chmod(0o644)


def clear_scratch(places: Places) -> None:
    for folder in (places.box, places.tmp, places.root):
        shutil.rmtree(folder, ignore_errors=True)
    places.socket.unlink(missing_ok=True)


def clear(places: Places) -> None:
    """All but the record of the last run and the locks."""
    clear_scratch(places)
    for path in (places.log, places.people, places.groups, places.run / record.ASKED):
        path.unlink(missing_ok=True)


def remove_volume(volume: Path, config: LocalConfig) -> None:
    """Gone under its name at once, then from the disk. Takes up what an earlier try left."""
    trash = config.state_dir / TRASH
    aside = trash / volume.name
    if volume.exists():
        trash.mkdir(mode=0o700, exist_ok=True)
        shutil.rmtree(aside, ignore_errors=True)
        volume.rename(aside)
    if aside.exists():
        shutil.rmtree(aside)


def forget(places: Places) -> None:
    """Even the record. Only long after the end."""
    shutil.rmtree(places.run, ignore_errors=True)


def _give(folder: Path, uid: int) -> None:
    for _, folders, files, descriptor in os.fwalk(folder, follow_symlinks=False):
        os.fchown(descriptor, uid, uid)
        for name in (*folders, *files):
            os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)

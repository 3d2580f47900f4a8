"""From a spec to a keeper that runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from provisioning.drivers.base import DriverUnavailable, Reason, RunSpec
from provisioning.drivers.jobs import ALONE, folders_of, lives_of
from provisioning.drivers.local import isolation, order, places, procfs, record, tasks, view
from provisioning.drivers.local.config import (
    INSIDE_BOX,
    INSIDE_HOME,
    INSIDE_TMP,
    LocalConfig,
    LocalImage,
)
from provisioning.drivers.local.limits import Limits
from provisioning.drivers.local.order import BUBBLEWRAP, NAMESPACE, UID, Order
from provisioning.drivers.local.places import Places
from provisioning.drivers.local.uids import uid_of

MARKER, INSTALLATION_MARKER = "STEELYARD_WORKLOAD", "STEELYARD_INSTALLATION"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
GIB = 1024**3
LAUNCH_S = 5.0
_WORKERS, _ARRAY = (Path(__file__).with_name(name) for name in ("workers.py", "array.py"))


class CannotStart(Exception):
    """A clear reason that another try will not change by itself."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.reason = Reason(code, message)


def new_record(spec: RunSpec) -> record.Record:
    return record.Record(
        phase=record.STARTING,
        incarnation=uuid4().hex,
        boot=procfs.boot_id(),
        project=str(spec.project_id),
        volume=str(spec.volume_id),
        image=spec.image,
        task=bool(spec.command),
    )


def image_of(spec: RunSpec, config: LocalConfig) -> LocalImage:
    image = config.images.get(spec.image)
    if image is None:
        known = ", ".join(sorted(config.images)) or "none"
        message = f"There is no image {spec.image!r} on this machine (there is: {known})."
        raise CannotStart("image_not_found", message)
    if not os.access(image.command[0], os.X_OK):
        message = f"The image {spec.image!r} needs {image.command[0]}, which cannot be run."
        raise CannotStart("image_not_found", message)
    return image


def launch(spec: RunSpec, image: LocalImage, first: record.Record, lock: int, config: LocalConfig) -> bool:
    """Start a keeper that takes the lock over. True when it has recorded itself, or is gone; False: nobody knows."""
    placed = places.places_of(spec.workload_id, config)
    kind = isolation.isolation_of(config).kind
    uid = uid_of(spec.project_id, config) if kind in (NAMESPACE, UID) else None
    passable = kind == UID
    home = places.volume_of(spec.project_id, spec.volume_id, config)
    places.make_volume(home, uid=uid, passable=passable)
    places.make_scratch(placed, uid=uid)
    places.name_user(placed, uid=os.geteuid() if uid is None else uid, home=INSIDE_HOME)
    return _start(_order(spec, image, first, lock, config, kind=kind, uid=uid), spec, placed)


def _start(asked: Order, spec: RunSpec, placed: Places) -> bool:
    anonymous = os.memfd_create("order")
    log = os.open(placed.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    try:
        os.write(anonymous, order.dump(asked))
        os.lseek(anonymous, 0, os.SEEK_SET)
        done = subprocess.run(
            [
                *(sys.executable, "-S", "-E", "-m", "provisioning.drivers.local.keeper"),
                str(spec.workload_id),
            ],
            stdin=anonymous,
            stdout=log,
            stderr=log,
            pass_fds=(asked.lock,),
            cwd=isolation.ROOT_OF_CODE,
            env={"PATH": SYSTEM_PATH, "LANG": "C.UTF-8"},
            timeout=LAUNCH_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DriverUnavailable("the keeper did not come up in time") from error
    finally:
        os.close(anonymous)
        os.close(log)
    return done.returncode >= 0  # one that was killed could not tell


def _order(
    spec: RunSpec,
    image: LocalImage,
    first: record.Record,
    lock: int,
    config: LocalConfig,
    *,
    kind: str,
    uid: int | None,
) -> Order:
    placed = places.places_of(spec.workload_id, config)
    volume = places.volume_of(spec.project_id, spec.volume_id, config)
    own_view = kind in (NAMESPACE, BUBBLEWRAP)
    words = _words(placed, volume, own_view=own_view)
    home = words["{home}"]
    seen = _view(placed, volume, image, config)
    command = _task_of(spec, image, words, config) if spec.command else _server_of(image, words)
    if kind == BUBBLEWRAP:
        command = (*_bubblewrap(seen), *command)
    return Order(
        directory=str(placed.run),
        group=f"steelyard-{config.installation}-{spec.workload_id.hex}",
        record=first,
        kind=kind,
        command=command,
        environment=_environment(spec, image, words, config, own_tmp=None if own_view else placed)
        | _of_task(spec, home),
        folder="/" if kind == BUBBLEWRAP else home,
        socket=str(placed.box / record.SOCKET),
        uid=uid,
        view=seen,
        limits=Limits(spec.vcpus * spec.workers, spec.memory_gib * spec.workers * GIB, config.processes),
        grace_s=config.grace_s,
        farewell_s=config.farewell_s,
        heartbeat_s=config.heartbeat_s,
        log_bytes=config.log_bytes,
        lock=lock,
    )


def _server_of(image: LocalImage, words: dict[str, str]) -> tuple[str, ...]:
    return tuple(_filled(word, words) for word in image.command)


def _task_of(spec: RunSpec, image: LocalImage, words: dict[str, str], config: LocalConfig) -> tuple[str, ...]:
    """All workers of a job, or all tasks of an array, as one process: the image's Python starts them, and ends with
    them."""
    python = (image.command[0], "-S", "-E", "-c")
    if spec.array is None:
        return (*python, _WORKERS.read_text(), str(spec.workers), *spec.command)
    folder = f"{words['{box}']}/{tasks.FOLDER}"
    plan = tasks.plan_of(spec.array, parallelism=spec.workers, folder=folder, pause_s=config.retry_s)
    return (*python, _ARRAY.read_text(), plan, *spec.command)


def _of_task(spec: RunSpec, home: str) -> dict[str, str]:
    if not spec.command:
        return {}
    told = {"PYTHONUNBUFFERED": "1", **folders_of(home), **lives_of(spec)}
    if spec.array is None:
        return told | {"STEELYARD_WORKERS": str(spec.workers)}
    return told | {"STEELYARD_WORKERS": "1", "STEELYARD_TASKS": str(spec.array.count)} | ALONE


def _words(placed: Places, volume: Path, *, own_view: bool) -> dict[str, str]:
    """What stands for a place in an image's command and environment."""
    box = INSIDE_BOX if own_view else str(placed.box)
    return {
        "{home}": INSIDE_HOME if own_view else str(volume),
        "{box}": box,
        "{runtime}": f"{box}/r",
        "{socket}": f"{box}/{record.SOCKET}",
        "{transport}": "ipc" if own_view else "tcp",
    }


def _environment(
    spec: RunSpec,
    image: LocalImage,
    words: dict[str, str],
    config: LocalConfig,
    *,
    own_tmp: Places | None,
) -> dict[str, str]:
    """An allow-list: nothing of our own environment is handed on. Ours win over the spec's."""
    home = words["{home}"]
    ours = {
        "HOME": home,
        "USER": "work",
        "LOGNAME": "work",
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "TMPDIR": INSIDE_TMP if own_tmp is None else str(own_tmp.tmp),
        "XDG_CACHE_HOME": f"{home}/.cache",
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_RUNTIME_DIR": words["{runtime}"],
        "PATH": ":".join([*(_filled(name, words) for name in image.programs), SYSTEM_PATH]),
        MARKER: str(spec.workload_id),
        INSTALLATION_MARKER: config.installation,
    }
    of_image = {name: _filled(value, words) for name, value in image.environment.items()}
    return {**of_image, **spec.env, **ours}


def _view(placed: Places, volume: Path, image: LocalImage, config: LocalConfig) -> view.View:
    people = ((str(placed.people), "/etc/passwd"), (str(placed.groups), "/etc/group"))
    hidden = (config.state_dir, config.run_dir, *config.hidden)
    return view.View(
        root=str(placed.root),
        readable=tuple(str(path.resolve()) for path in image.readable)
        + tuple(str(path) for path in image.readable if path.is_symlink()),
        writable=(
            (str(volume), INSIDE_HOME),
            (str(placed.box), INSIDE_BOX),
            (str(placed.tmp), INSIDE_TMP),
        ),
        files=(*people, *view.system_files_elsewhere()),
        hidden=tuple(str(path.resolve()) for path in hidden),
    )


def _bubblewrap(seen: view.View) -> tuple[str, ...]:
    """The same view, made by bubblewrap for a user without privileges."""
    words = [isolation.bubblewrap() or "bwrap", "--unshare-pid", "--unshare-ipc"]
    words += ["--die-with-parent", "--proc", "/proc", "--dev", "/dev"]
    for path in view.SYSTEM:
        if Path(path).is_symlink():
            words += ["--symlink", str(Path(path).readlink()), path]
        else:
            words += ["--ro-bind-try", path, path]
    for outside, inside in seen.writable:
        words += ["--bind", outside, inside]
    for path in seen.readable:
        words += ["--ro-bind", path, path]
    for path in seen.hidden:
        if any(path.startswith(f"{shown}/") for shown in (*view.SYSTEM, *seen.readable)):
            words += ["--tmpfs", path] if Path(path).is_dir() else ["--bind", os.devnull, path]
    for outside, inside in seen.files:
        words += ["--ro-bind", outside, inside]
    return (*words, "--chdir", INSIDE_HOME, "--")


def _filled(text: str, words: dict[str, str]) -> str:
    for name, value in words.items():
        text = text.replace(name, value)
    return text

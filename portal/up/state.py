"""One installation's state directory: who may read it, its secrets, its lock.

`shown` is the folder a person named; `home` is where things really lie. They differ only when we are root and `shown`
is below a folder that other accounts may not pass (a home folder): database servers and workspaces run under accounts
of their own and could not work there, and nobody's home folder is ever opened for them.
"""

from __future__ import annotations

import base64
import errno
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from portal.up.accounts import Account, can_pass_to
from portal.up.errors import CannotStart

ELSEWHERE = Path("/var/lib/steelyard")
PASSABLE = 0o711
PRIVATE = 0o700
_PRIVATE_FOLDERS = ("logs", "processes", "beat", "backups")
_PASSABLE_FOLDERS = ("workspaces", "programs")
_NEEDED_MIB = 256
UNFINISHED_RESTORE = "restore.unfinished"


@dataclass(frozen=True, slots=True)
class Secrets:
    """Made once per installation. Losing `field_key` loses what is encrypted in the database."""

    installation_id: str
    secret_key: str
    field_key: str
    owner_password: str
    app_password: str
    redis_password: str

    @staticmethod
    def generate() -> Secrets:
        return Secrets(
            installation_id=secrets.token_hex(16),
            secret_key=secrets.token_urlsafe(48),
            field_key=base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            owner_password=secrets.token_urlsafe(24),
            app_password=secrets.token_urlsafe(24),
            redis_password=secrets.token_urlsafe(24),
        )


@dataclass(frozen=True, slots=True)
class State:
    shown: Path
    home: Path

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def records(self) -> Path:
        return self.home / "processes"

    @property
    def programs(self) -> Path:
        return self.home / "programs"

    @property
    def installation_file(self) -> Path:
        return self.shown / "installation.json"

    @property
    def environment_file(self) -> Path:
        return self.home / "environment.json"

    @property
    def people_file(self) -> Path:
        return self.home / "people.json"

    @property
    def lies_elsewhere(self) -> bool:
        return self.shown != self.home

    def secrets(self) -> Secrets:
        """Those of this installation; generated at the first call."""
        path = self.home / "secrets.json"
        kept: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
        known = {field.name for field in fields(Secrets)}
        values = asdict(Secrets.generate()) | {name: value for name, value in kept.items() if name in known}
        found = Secrets(**values)
        if set(kept) < known:
            self.keep_secrets(found)
        return found

    def keep_secrets(self, secrets: Secrets) -> None:
        write_private(self.home / "secrets.json", json.dumps(asdict(secrets), indent=2))

    def refuse_unfinished(self) -> None:
        """A restore that was killed leaves part of an installation, which must not be taken for one."""
        if (self.home / UNFINISHED_RESTORE).exists():
            raise CannotStart(f"A restore into {self.shown} was interrupted: remove that folder and restore again.")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Held while the platform runs; the kernel lets go when the process ends, however it ends."""
        with (self.home / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise CannotStart(
                    f"The platform of {self.shown} runs already (process {lock.read().strip() or 'unknown'}): "
                    "stop it first, or choose another folder in STEELYARD_STATE."
                ) from None
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            yield


def open_state(shown: Path, account: Account) -> State:
    """Make the folder and its parts, with the modes they must have. Raises CannotStart where that is not possible."""
    try:
        shown.mkdir(parents=True, exist_ok=True)
        state = State(shown=shown.resolve(), home=_home_of(shown.resolve(), account))
        state.home.chmod(PASSABLE)
        for name in _PRIVATE_FOLDERS:
            _folder(state.home / name, PRIVATE)
        for name in _PASSABLE_FOLDERS:
            _folder(state.home / name, PASSABLE)
        _refuse_full_disk(state.home)
    except OSError as error:
        raise CannotStart(f"The state folder {shown} cannot be used: {describe(error)}") from error
    return state


def write_private(path: Path, text: str) -> None:
    """Replace the file in one step; nobody else can read it at any moment."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def describe(error: OSError) -> str:
    """What happened and where, for one line."""
    advice = {errno.ENOSPC: "the disk is full", errno.EROFS: "the disk is read-only", errno.EACCES: "not permitted"}
    what = advice.get(error.errno or 0, error.strerror or str(error))
    return f"{what} ({error.filename})" if error.filename else what


def _home_of(shown: Path, account: Account) -> Path:
    if can_pass_to(account, shown):
        return shown
    link = shown / "home"
    if link.is_symlink() and link.exists():
        return link.resolve()
    home = ELSEWHERE / secrets.token_hex(6)
    home.mkdir(parents=True)
    ELSEWHERE.chmod(PASSABLE)
    link.unlink(missing_ok=True)
    link.symlink_to(home)
    return home


def _folder(path: Path, mode: int) -> None:
    path.mkdir(exist_ok=True)
    path.chmod(mode)


def _refuse_full_disk(directory: Path) -> None:
    """Writes a little: free space is not all that can stop a write."""
    probe = directory / ".probe"
    try:
        write_private(probe, " " * 65_536)
    finally:
        probe.unlink(missing_ok=True)
    free = shutil.disk_usage(directory).free // 2**20
    if free < _NEEDED_MIB:
        raise CannotStart(f"The disk of {directory} is nearly full: {free} MiB are free, {_NEEDED_MIB} MiB are needed.")

"""The unprivileged account that database servers run under when the platform is started as root.

PostgreSQL refuses uid 0. The account needs no entry in /etc/passwd; its number is kept apart from people and from the
uids of workspaces.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import psutil

from portal.up.errors import CannotStart

_FIRST_SERVER_UID = 60_432
_TRIES = 16
_QUIET_ACCOUNTS = ("bin", "sys", "games", "daemon", "nobody")
_OTHERS_MAY_PASS = 0o001
_READ_AND_PASS = 0o005


class Identity(TypedDict, total=False):
    """The arguments of `subprocess.Popen` that change who a child is."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class Account:
    uid: int
    gid: int

    @property
    def identity(self) -> Identity:
        if self.uid == os.geteuid():
            return Identity()
        return Identity(user=self.uid, group=self.gid, extra_groups=[])

    def give(self, path: Path, mode: int) -> None:
        """Make this account the owner of what the platform has just created."""
        if self.uid != os.geteuid():
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
        path.chmod(mode)

    def give_tree(self, tree: Path) -> None:
        """Make this account the owner of everything below `tree`; modes stay."""
        if self.uid == os.geteuid():
            return
        for folder, _, files in os.walk(tree):
            for path in [Path(folder), *(Path(folder, file) for file in files)]:
                os.chown(path, self.uid, self.gid, follow_symlinks=False)


def server_account(is_named: Callable[[int], bool] | None = None) -> Account:
    """Ourselves, unless we are root: then the first number of our range that belongs to nobody on this machine."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    named = is_named or _is_named
    uid = next(
        (number for number in range(_FIRST_SERVER_UID, _FIRST_SERVER_UID + _TRIES) if not named(number)),
        _FIRST_SERVER_UID,
    )
    return Account(uid, uid)


def named_account(account: Account) -> Account:
    """For programs that insist on a name: itself if it has one, else an old system account that runs nothing."""
    if _is_named(account.uid):
        return account
    busy = {process.info["uids"].real for process in psutil.process_iter(["uids"]) if process.info["uids"]}
    known = [pwd.getpwnam(name) for name in _QUIET_ACCOUNTS if _exists(name)]
    for entry in known:
        if entry.pw_uid not in busy:
            return Account(entry.pw_uid, entry.pw_gid)
    raise CannotStart("No unprivileged account found to initialise PostgreSQL with: start as another user than root.")


def can_reach(account: Account, path: Path) -> bool:
    """Whether the account may pass every folder above `path`, and read (and run) it as its owner may."""
    if account.uid == os.geteuid():
        return True
    owners_bits = path.stat().st_mode >> 6 & _READ_AND_PASS
    return can_pass_to(account, path) and _others_may(path, owners_bits)


def can_pass_to(account: Account, path: Path) -> bool:
    """Whether the account may pass every folder above `path`; what `path` itself allows is the caller's to set."""
    if account.uid == os.geteuid():
        return True
    return all(_others_may(parent, _OTHERS_MAY_PASS) for parent in path.resolve().parents if parent.exists())


def _others_may(path: Path, bits: int) -> bool:
    return path.stat().st_mode & bits == bits


def _is_named(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True

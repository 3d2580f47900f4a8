"""Bringing an archive back, into a state folder that is new: looked through as a whole first, then all or nothing."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from portal.backup import database, installations, manifest, trees
from portal.backup.errors import CannotRestore
from portal.backup.manifest import DATABASE, MANIFEST, PEOPLE, RUNS, SECRETS, SMALL_PARTS, UIDS, WORKSPACES, Manifest
from portal.up.accounts import server_account
from portal.up.postgres import find_binaries
from portal.up.servers import Given, prepare_given
from portal.up.state import UNFINISHED_RESTORE, Secrets, State, open_state, write_private
from provisioning.services.copies import lay_runs

_SMALL = 64 * 2**20
_FIRST_OWNER = 1000
_SPARE_BYTES = 256 * 2**20
_KEY_VARIABLE = "STEELYARD_FIELD_KEY"


@dataclass(frozen=True, slots=True)
class Seen:
    """What an archive holds that is whole."""

    manifest: Manifest
    small: Mapping[str, bytes]
    size: int

    def part(self, name: str) -> Mapping[str, object]:
        content = json.loads(self.small.get(name, b"{}"))
        if not isinstance(content, dict):
            raise CannotRestore(f"The archive's {name} cannot be read: it was damaged.")
        return content


def restore(archive: Path, variables: Mapping[str, str], *, root: Path, known_migrations: Sequence[str]) -> Seen:
    """Raises CannotRestore, CannotStart or OSError; then the state folder is as empty as it was."""
    shown, given = installations.shown_folder(variables, root), Given.read(variables)
    _refuse_non_empty(shown)
    try:
        with archive.open("rb") as file:
            seen = look_through(file)
            manifest.refuse_newer(seen.manifest, known_migrations=known_migrations)
            _refuse_other_key(seen, variables)
            _refuse_unfit_database(seen, given)
            with _new_state(shown) as state:
                _bring_back(file, seen, state, given, tools=_tools(variables))
    except tarfile.TarError as error:
        raise CannotRestore(f"{archive} is no whole archive: {error}.") from error
    return seen


def look_through(file: IO[bytes]) -> Seen:
    """Reads every byte of it; writes none."""
    checker, parts, small = trees.Checker(), {}, {}
    with tarfile.open(fileobj=file, mode="r:") as tar:
        for member in tar:
            if MANIFEST in small:
                raise CannotRestore("The archive goes on after its manifest: it was changed.")
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None and member.name in (*SMALL_PARTS, MANIFEST):
                small[member.name] = _read_small(member, content)
                parts[member.name] = manifest.sha256(small[member.name])
            elif content is not None and member.name == DATABASE:
                parts[DATABASE] = manifest.Digest(content).drain()
            else:
                checker.look(member, content)
    if MANIFEST not in small:
        raise CannotRestore("The archive has no manifest at its end: it was cut short.")
    parts[WORKSPACES] = checker.tally.sum.hexdigest()
    found = manifest.load(small.pop(MANIFEST))
    del parts[MANIFEST]
    changed = sorted(name for name in {*parts, *found.parts} if parts.get(name) != found.parts.get(name))
    if changed or not {DATABASE, SECRETS, WORKSPACES} <= set(parts):
        raise CannotRestore(f"The archive was changed or damaged: {', '.join(changed) or 'parts'} is not what it was.")
    return Seen(manifest=found, small=small, size=file.tell())


def _read_small(member: tarfile.TarInfo, content: IO[bytes]) -> bytes:
    if member.size > _SMALL:
        raise CannotRestore(f"The archive's {member.name} is too large to be one.")
    return content.read()


def _refuse_non_empty(shown: Path) -> None:
    if shown.exists() and (not shown.is_dir() or any(shown.iterdir())):
        raise CannotRestore(f"{shown} is not empty: name a new folder in STEELYARD_STATE.")


def _refuse_other_key(seen: Seen, variables: Mapping[str, str]) -> None:
    key = variables.get(_KEY_VARIABLE)
    if key and key != seen.part(SECRETS).get("field_key"):
        raise CannotRestore(f"{_KEY_VARIABLE} is not the key of this archive: unset it, or give the archive's.")


def _refuse_unfit_database(seen: Seen, given: Given) -> None:
    owner_url = given.owner_url
    if owner_url is not None:
        database.refuse_filled(owner_url)
        major = database.server_version(owner_url)
    else:
        major = int(find_binaries().version.split(".")[0])
    if major < seen.manifest.postgres:
        raise CannotRestore(
            f"The archive comes from PostgreSQL {seen.manifest.postgres}; this one is {major}: upgrade."
        )


@contextmanager
def _new_state(shown: Path) -> Iterator[State]:
    """Marked as unfinished while it is, also where we are killed; emptied again where it fails."""
    was_there = shown.exists()
    state = open_state(shown, server_account())
    try:
        with state.locked():
            write_private(state.home / UNFINISHED_RESTORE, "")
            yield state
            (state.home / UNFINISHED_RESTORE).unlink()
    except BaseException:
        _empty(state, keep=was_there)
        raise


def _empty(state: State, *, keep: bool) -> None:
    if state.lies_elsewhere:
        shutil.rmtree(state.home, ignore_errors=True)
    for path in list(state.shown.iterdir()):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    if not keep:
        state.shown.rmdir()


def _bring_back(file: IO[bytes], seen: Seen, state: State, given: Given, *, tools: Path | None) -> None:
    free = shutil.disk_usage(state.home).free
    if free < seen.size + _SPARE_BYTES:
        needed = (seen.size + _SPARE_BYTES) // 2**20
        raise CannotRestore(f"The disk of {state.home} is too full: {free // 2**20} MiB are free, {needed} are needed.")
    state.keep_secrets(_secrets(seen))
    for name in (PEOPLE, UIDS):
        if name in seen.small:
            write_private(state.home / name, seen.small[name].decode())
    dumped = state.home / f".{DATABASE}"
    _unpack(file, seen, state, dumped)
    _lay_runs(seen, state)
    _fill_database(dumped, state, given, tools=tools)
    dumped.unlink()


def _secrets(seen: Seen) -> Secrets:
    """The keys are the archive's; what tells processes and servers apart is this installation's own."""
    keys = seen.part(SECRETS)
    return replace(Secrets.generate(), secret_key=str(keys["secret_key"]), field_key=str(keys["field_key"]))


def _unpack(file: IO[bytes], seen: Seen, state: State, dumped: Path) -> None:
    owners = {number for number in seen.part(UIDS).values() if isinstance(number, int) and number >= _FIRST_OWNER}
    unpacker = trees.Unpacker(state.home, owners=owners)
    file.seek(0)
    with tarfile.open(fileobj=file, mode="r:") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if member.name == DATABASE and content is not None:
                trees.write(dumped, content)
            elif member.name.partition("/")[0] == WORKSPACES:
                unpacker.put(member, content)
    unpacker.finish()


def _lay_runs(seen: Seen, state: State) -> None:
    try:
        lay_runs(json.loads(seen.small.get(RUNS, b"{}")), state=state.home)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CannotRestore(f"The archive's {RUNS} cannot be read: it was damaged.") from error


def _fill_database(dumped: Path, state: State, given: Given, *, tools: Path | None) -> None:
    with ExitStack() as stack:
        if given.owner_url is None:
            owner_url = installations.start_own(state, stack)
            database.restore(owner_url, dumped, tools=tools)
        else:
            owner_url = prepare_given(given, state.secrets()).owner_url
            database.restore(owner_url, dumped, tools=tools)


def _tools(variables: Mapping[str, str]) -> Path | None:
    named = variables.get(installations.TOOLS)
    return Path(named) if named else None

"""What is refused before anything is written, and what comes back as it was."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import tarfile
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from portal.backup import installations, making, restoring, trees
from portal.backup.errors import CannotBackUp, CannotRestore
from portal.backup.manifest import WORKSPACES
from portal.up.accounts import server_account
from portal.up.errors import CannotStart
from portal.up.state import UNFINISHED_RESTORE, open_state
from tests.backup import archives

OWNER = 42_424 if os.geteuid() == 0 else os.geteuid()


@pytest.fixture
def folder():
    made = Path(tempfile.mkdtemp(prefix="steelyard-archive-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def workspaces(folder):
    """One volume with all that a person may leave in it."""
    volume = folder / "workspaces" / "project" / "volume"
    volume.mkdir(parents=True)
    (volume / "notes.txt").write_text("kept")
    (volume / "notes.txt").chmod(0o640)
    (volume / "run").write_text("#!/bin/sh\n")
    (volume / "run").chmod(0o4755)
    (volume / os.fsdecode(b"latin-\xe9.txt")).write_text("odd name")
    (volume / "link").symlink_to("/etc/passwd")
    (volume / "closed").mkdir()
    (volume / "closed" / "inside.bin").write_bytes(os.urandom(3_000_000))
    (volume / "closed").chmod(0o500)
    os.mkfifo(volume / "pipe")
    for path in [volume, *volume.rglob("*")]:
        os.chown(path, OWNER, OWNER, follow_symlinks=False)
    yield folder / "workspaces"
    (volume / "closed").chmod(0o700)


def restore(archive: Path, state: Path) -> str:
    """What it says when it must refuse; then the state folder is as it was."""
    before = sorted(state.iterdir()) if state.exists() else None
    with pytest.raises((CannotRestore, CannotStart)) as caught:
        restoring.restore(archive, {"STEELYARD_STATE": str(state)}, root=state, known_migrations=[])
    assert (sorted(state.iterdir()) if state.exists() else None) == before
    said = str(caught.value)
    assert len(said.splitlines()) == 1
    return said


class TestFiles:
    def test_contents_modes_owners_links_and_times_come_back(self, workspaces, folder):
        archive = archives.write(folder / "a.tar", workspaces=workspaces)

        home = _unpacked(archive, folder / "home")

        before, after = _described(workspaces), _described(home / WORKSPACES)
        before.pop("project/volume/pipe")
        kind, _, owner, size, link = before["project/volume/run"]
        before["project/volume/run"] = (kind, 0o755, owner, size, link)
        assert after == before
        assert (home / "workspaces/project/volume/closed/inside.bin").read_bytes() == (
            workspaces / "project/volume/closed/inside.bin"
        ).read_bytes()

    def test_no_file_comes_back_able_to_give_its_owner_away(self, workspaces, folder):
        home = _unpacked(archives.write(folder / "a.tar", workspaces=workspaces), folder / "home")

        assert not (home / "workspaces/project/volume/run").stat().st_mode & stat.S_ISUID

    def test_an_owner_that_is_no_projects_becomes_ours(self, workspaces, folder):
        archive = archives.write(folder / "a.tar", workspaces=workspaces)

        home = _unpacked(archive, folder / "home", owners=())

        assert (home / "workspaces/project/volume/notes.txt").stat().st_uid == os.geteuid()

    def test_a_file_that_shrinks_or_grows_meanwhile_does_not_break_the_archive(self, folder):
        folder.joinpath("workspaces").mkdir()
        growing = folder / "workspaces" / "log"
        growing.write_bytes(b"x" * 100)
        descriptor = os.open(growing, os.O_RDONLY)

        for size in (50, 100, 200):
            source = trees._Exactly(descriptor, size, trees.Tally())
            os.lseek(descriptor, 0, os.SEEK_SET)
            assert len(source.read(30) + source.read(1000)) == size

        os.close(descriptor)


class TestRefused:
    def test_a_state_folder_that_is_not_empty(self, workspaces, folder):
        archive = archives.write(folder / "a.tar", workspaces=workspaces)
        (folder / "state").mkdir()
        (folder / "state" / "something").touch()

        assert "is not empty" in restore(archive, folder / "state")

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
    def test_an_archive_that_was_cut_short(self, workspaces, folder, share):
        archive = archives.write(folder / "a.tar", workspaces=workspaces)
        os.truncate(archive, int(archive.stat().st_size * share))

        said = restore(archive, folder / "state")

        assert "cut short" in said or "no whole archive" in said

    def test_an_archive_with_one_other_byte(self, workspaces, folder):
        archive = archives.write(folder / "a.tar", workspaces=workspaces)
        with archive.open("r+b") as file:
            place = archive.read_bytes().index(b"kept")
            file.seek(place)
            file.write(b"K")

        assert "workspaces is not what it was" in restore(archive, folder / "state")

    def test_a_file_that_is_no_archive(self, folder):
        (folder / "a.tar").write_bytes(os.urandom(5000))

        assert "no whole archive" in restore(folder / "a.tar", folder / "state")

    @pytest.mark.parametrize(
        "liar",
        [
            archives.member("../escaped"),
            archives.member("/etc/escaped"),
            archives.member("workspaces/../secrets.json"),
            archives.member("workspaces/project/./volume/x"),
            archives.member("elsewhere/file"),
            archives.member("workspaces/project/volume/link/through"),
            archives.member("workspaces/nowhere/file"),
            archives.member("workspaces/project/volume/notes.txt", tarfile.SYMTYPE, link="/etc"),
            archives.member("workspaces/project/volume/hard", tarfile.LNKTYPE, link="secrets.json"),
            archives.member("workspaces/project/volume/device", tarfile.CHRTYPE),
            archives.member("workspaces/project/volume/fifo", tarfile.FIFOTYPE),
        ],
        ids=lambda liar: liar.name,
    )
    def test_a_member_that_would_be_written_elsewhere(self, workspaces, folder, liar):
        archive = archives.write(folder / "a.tar", workspaces=workspaces, also=(liar,))

        assert "refused" in restore(archive, folder / "state")
        assert not (folder / "escaped").exists()

    def test_an_archive_of_a_newer_version(self, workspaces, folder):
        archive = archives.write(folder / "a.tar", workspaces=workspaces, change=archives.newer)

        assert "newer version (999.0.0" in restore(archive, folder / "state")

    def test_an_archive_with_a_migration_that_is_not_known_here(self, workspaces, folder):
        archive = archives.write(
            folder / "a.tar", workspaces=workspaces, change=lambda found: replace(found, migrations=("x.0099_later",))
        )

        assert "newer version" in restore(archive, folder / "state")

    def test_an_archive_of_a_newer_format(self, workspaces, folder):
        archive = archives.write(folder / "a.tar", workspaces=workspaces, change=lambda found: replace(found, format=2))

        assert "newer version" in restore(archive, folder / "state")

    def test_an_archive_of_a_newer_postgresql(self, workspaces, folder):
        archive = archives.write(
            folder / "a.tar", workspaces=workspaces, change=lambda found: replace(found, postgres=99)
        )

        assert "PostgreSQL 99" in restore(archive, folder / "state")

    def test_a_key_that_is_not_the_archives(self, workspaces, folder):
        archive = archives.write(folder / "a.tar", workspaces=workspaces)
        variables = {"STEELYARD_STATE": str(folder / "state"), "STEELYARD_FIELD_KEY": "another"}

        with pytest.raises(CannotRestore, match="is not the key of this archive"):
            restoring.restore(archive, variables, root=folder, known_migrations=[])

    @pytest.mark.slow
    def test_a_database_that_cannot_be_read_leaves_an_empty_folder(self, workspaces, folder):
        archive = archives.write(folder / "a.tar", workspaces=workspaces)

        assert "database cannot be read" in restore(archive, folder / "state")
        assert not (folder / "state").exists()


class TestInterruptedRestore:
    def test_what_a_killed_restore_left_is_not_taken_for_an_installation(self, folder):
        state = open_state(folder / "state", server_account())
        (state.home / UNFINISHED_RESTORE).touch()

        with pytest.raises(CannotStart, match="was interrupted: remove that folder"):
            state.refuse_unfinished()


class TestBackup:
    def test_without_an_installation_one_line_says_so(self, folder):
        with pytest.raises(CannotBackUp, match="There is no installation in"):
            installations.find({"STEELYARD_STATE": str(folder / "none")}, folder)

    def test_a_file_that_is_there_is_not_replaced(self, folder):
        (folder / "mine.tar").write_text("mine")

        with pytest.raises(CannotBackUp, match="is there already"):
            making.back_up(_somewhere(folder), folder / "mine.tar")
        assert (folder / "mine.tar").read_text() == "mine"

    def test_a_small_disk_is_told_with_numbers(self, folder):
        with pytest.raises(CannotBackUp, match=r"\d+ MiB are free, up to \d+ MiB are needed"):
            making._refuse_small_disk(folder, 2**60)

    def test_what_a_killed_backup_left_is_cleared_and_what_runs_is_not(self, folder):
        dead, alive = folder / ".steelyard-backup.4194303.archive", folder / f".steelyard-backup.{os.getpid()}.archive"
        dead.touch()
        alive.touch()

        making._clear_unfinished(folder)

        assert not dead.exists()
        assert alive.exists()

    def test_a_database_that_does_not_answer_gives_one_line(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]

        with pytest.raises(CannotBackUp, match="The database cannot be read") as caught:
            making.back_up(_somewhere(folder, f"postgresql://a:b@127.0.0.1:{port}/c"), folder / "new.tar")

        assert len(str(caught.value).splitlines()) == 1
        assert not (folder / "new.tar").exists()


def _somewhere(folder: Path, owner_url: str = "postgresql://nobody@127.0.0.1:1/x") -> installations.Installation:
    (folder / "workspaces").mkdir(exist_ok=True)
    return installations.Installation(shown=folder, home=folder, given={"DATABASE_OWNER_URL": owner_url}, kept={})


def _unpacked(archive: Path, home: Path, owners: tuple[int, ...] = (OWNER,)) -> Path:
    home.mkdir()
    unpacker = trees.Unpacker(home, owners=owners)
    with archive.open("rb") as file:
        restoring.look_through(file)
    with tarfile.open(archive) as tar:
        for each in tar:
            if each.name.partition("/")[0] == WORKSPACES:
                unpacker.put(each, tar.extractfile(each) if each.isreg() else None)
    unpacker.finish()
    return home


def _described(tree: Path) -> dict[str, tuple[int, int, int, int, str]]:
    found = {}
    for path in sorted(tree.rglob("*")):
        seen = path.lstat()
        link = str(path.readlink()) if path.is_symlink() else ""
        size = 0 if path.is_dir() else seen.st_size
        found[str(path.relative_to(tree))] = (
            stat.S_IFMT(seen.st_mode),
            stat.S_IMODE(seen.st_mode),
            seen.st_uid,
            size,
            link,
        )
    return found

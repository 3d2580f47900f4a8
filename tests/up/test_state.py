from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from portal.up import state as states
from portal.up.accounts import Account, server_account
from portal.up.errors import CannotStart
from portal.up.state import open_state

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers under another account")


@pytest.fixture
def passable():
    folder = Path(tempfile.mkdtemp(prefix="steelyard-state-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


class TestOpenState:
    def test_secrets_are_made_once_and_differ_between_installations(self, passable):
        one = open_state(passable / "one", server_account())
        other = open_state(passable / "other", server_account())

        first, second = one.secrets(), one.secrets()

        assert first == second
        assert len({first.secret_key, first.field_key, first.owner_password, first.app_password}) == 4
        assert other.secrets().secret_key != first.secret_key
        assert stat.S_IMODE((one.home / "secrets.json").stat().st_mode) == 0o600

    def test_others_may_pass_through_but_read_nothing(self, passable):
        state = open_state(passable / "state", server_account())

        assert stat.S_IMODE(state.home.stat().st_mode) == 0o711
        assert stat.S_IMODE((state.home / "workspaces").stat().st_mode) == 0o711
        assert stat.S_IMODE(state.logs.stat().st_mode) == 0o700

    def test_a_second_holder_of_the_lock_is_refused_with_the_first_ones_number(self, passable):
        state = open_state(passable / "state", server_account())

        with state.locked(), pytest.raises(CannotStart, match=f"process {os.getpid()}"), state.locked():
            pass

    def test_a_file_in_the_way_is_told(self, passable):
        (passable / "state").touch()

        with pytest.raises(CannotStart, match="cannot be used"):
            open_state(passable / "state", server_account())

    def test_too_little_space_is_told_with_numbers(self, passable, monkeypatch):
        monkeypatch.setattr(states, "_NEEDED_MIB", 2**40)

        with pytest.raises(CannotStart, match=r"nearly full: \d+ MiB are free"):
            open_state(passable / "state", server_account())


@needs_root
class TestBelowAHomeFolder:
    def test_things_lie_elsewhere_and_the_home_folder_stays_closed(self, tmp_path, passable, monkeypatch):
        monkeypatch.setattr(states, "ELSEWHERE", passable / "elsewhere")
        tmp_path.chmod(0o700)

        state = open_state(tmp_path / "state", Account(60_432, 60_432))
        again = open_state(tmp_path / "state", Account(60_432, 60_432))

        assert state.lies_elsewhere
        assert state.home.parent == passable / "elsewhere"
        assert state.installation_file.parent == tmp_path / "state"
        assert again == state
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700

    def test_a_state_folder_made_anew_starts_anew(self, tmp_path, passable, monkeypatch):
        monkeypatch.setattr(states, "ELSEWHERE", passable / "elsewhere")
        tmp_path.chmod(0o700)
        first = open_state(tmp_path / "state", Account(60_432, 60_432))
        shutil.rmtree(tmp_path / "state")

        second = open_state(tmp_path / "state", Account(60_432, 60_432))

        assert second.home != first.home


@needs_root
class TestDisk:
    @pytest.mark.parametrize(
        ("options", "said"), [("size=20m", "nearly full"), ("size=64k,nr_inodes=4", "full"), ("ro", "read-only")]
    )
    def test_a_full_or_read_only_disk_gives_one_line(self, stand_in, passable, options, said):
        mount = f"mount -t tmpfs -o {options} tmpfs {passable} && exec env STEELYARD_STATE={passable}/state "
        probe = subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True)
        if probe.returncode:
            pytest.skip("this machine allows no mounts of its own")

        line = stand_in.refused(before=["unshare", "--mount", "sh", "-c", mount + '"$@"', "sh"])

        assert said in line
        assert str(passable) in line

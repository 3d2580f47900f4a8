"""Programs that other accounts must be able to run, and the scripts that install them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import pytest

from portal.up import postgres, valkey, workspace_python
from portal.up.accounts import Account, can_reach, named_account, server_account
from portal.up.errors import CannotStart
from portal.up.variables import read_port

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers under another account")
REPOSITORY = Path(__file__).resolve().parent.parent.parent
STRANGER = Account(60_432, 60_432)


@pytest.fixture
def passable():
    folder = Path(tempfile.mkdtemp(prefix="steelyard-programs-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


class TestAccounts:
    def test_a_number_that_has_a_name_is_passed_over(self):
        if os.geteuid() != 0:
            assert server_account().uid == os.geteuid()
            return

        taken = server_account(lambda uid: uid == 60_432)

        assert taken == Account(60_433, 60_433)

    @needs_root
    def test_a_nameless_account_has_a_named_stand_in_that_is_not_root(self):
        assert named_account(STRANGER).uid not in {0, STRANGER.uid}


@needs_root
class TestReach:
    def test_a_closed_folder_above_hides_a_file(self, tmp_path, passable):
        (tmp_path / "hidden").touch()
        (passable / "seen").touch()
        tmp_path.chmod(0o700)

        assert not can_reach(STRANGER, tmp_path / "hidden")
        assert can_reach(STRANGER, passable / "seen")

    def test_server_binaries_below_a_closed_folder_are_copied_and_run_there(self, tmp_path, passable):
        found = postgres.find_binaries()
        hidden_root = tmp_path / "wheel"
        shutil.copytree(found.root, hidden_root, symlinks=True)
        tmp_path.chmod(0o700)
        hidden = postgres.Binaries(bin_dir=hidden_root / "bin", root=hidden_root, version=found.version)

        reachable = postgres.reachable_binaries(hidden, STRANGER, passable)
        copied = valkey.reachable_binary(_hidden_copy(valkey.find_binary(), tmp_path), STRANGER, passable)

        for words in ([reachable.tool("postgres"), "--version"], [str(copied), "--version"]):
            said = subprocess.run(words, capture_output=True, text=True, check=True, cwd="/", **STRANGER.identity)
            assert said.stdout
        assert postgres.reachable_binaries(hidden, STRANGER, passable) == reachable

    def test_a_workspace_python_below_a_closed_folder_is_copied_once(self, tmp_path, passable, monkeypatch):
        monkeypatch.setattr(workspace_python, "_CHECK", "import json, ssl, sqlite3")
        venv.create(tmp_path / "environment", symlinks=True)
        tmp_path.chmod(0o700)
        said: list[str] = []

        first = _reachable(tmp_path / "environment", passable, said)
        second = _reachable(tmp_path / "environment", passable, said)

        assert first == second
        assert len(said) == 1
        words = [str(first), "-c", "import sys; print(sys.prefix)"]
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd="/", **STRANGER.identity)
        assert done.stdout.strip() == str(first.parent.parent)

    def test_a_workspace_python_that_namespaces_will_show_stays_where_it_is(self, tmp_path, passable):
        venv.create(tmp_path / "environment", symlinks=True)
        tmp_path.chmod(0o700)

        found = workspace_python.reachable_workspace_python(
            tmp_path / "environment", STRANGER, passable, shown_anyway=lambda: True, say=print
        )

        assert found == tmp_path / "environment" / "bin" / "python"


class TestPort:
    @pytest.mark.parametrize("word", ["", "http", "0", "65534", "-1"])
    def test_what_is_no_port_is_told(self, word):
        with pytest.raises(CannotStart, match="STEELYARD_PORT"):
            read_port({"STEELYARD_PORT": word})

    def test_8000_is_the_default(self):
        assert read_port({}) == 8000


class TestBootstrap:
    def test_without_a_recent_python_one_line_says_so(self, tmp_path):
        for tool in ("sh", "dirname", "cksum", "cat", "rm"):
            found = shutil.which(tool)
            assert found
            (tmp_path / tool).symlink_to(found)

        done = _bootstrap(tmp_path / "none", PATH=str(tmp_path))

        assert done.returncode == 1
        assert done.stderr.splitlines() == [
            "Python 3.11 or newer is needed, and none was found: install one, or name it in PYTHON."
        ]

    def test_without_the_venv_module_one_line_says_what_to_install(self, tmp_path):
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\ncase "$*" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)

        done = _bootstrap(tmp_path / "none", PYTHON=str(python), PATH=os.defpath)

        assert done.returncode == 1
        assert "apt-get install python3-venv" in done.stderr


def _reachable(environment: Path, programs: Path, said: list[str]) -> Path:
    return workspace_python.reachable_workspace_python(
        environment, STRANGER, programs, shown_anyway=lambda: False, say=said.append
    )


def _hidden_copy(binary: Path, folder: Path) -> Path:
    return Path(shutil.copy2(binary, folder / binary.name))


def _bootstrap(environment: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(REPOSITORY / "scripts" / "bootstrap"), str(environment), "workspace"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

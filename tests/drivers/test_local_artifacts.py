"""Files that a job leaves on the local driver, and what it may put there instead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from provisioning.drivers.base import RunSpec
from provisioning.drivers.jobs import ArtifactMissing
from provisioning.drivers.local import artifacts
from tests.drivers.rig import LocalRig, a_spec

SCRIPT = """
    mkdir -p $STEELYARD_ARTIFACTS/model; cd $STEELYARD_ARTIFACTS
    printf weights >model/w.pt; printf '0.9' >score.txt
    ln -s /etc/passwd passwd; ln -s / root; ln score.txt second; mkfifo pipe
    echo $STEELYARD_ATTEMPT $STEELYARD_INTERRUPTIONS $STEELYARD_CHECKPOINT_DIR"""


@pytest.fixture
def spec(rig: LocalRig) -> RunSpec:
    spec = a_spec(kind="job", command=("sh", "-c", SCRIPT))
    rig.over(spec)
    return spec


def read(rig: LocalRig, spec: RunSpec, path: str) -> bytes:
    found = rig.driver.artifact(spec, path)
    content = b"".join(found.pieces)
    assert len(content) == found.size
    return content


class TestArtifacts:
    def test_plain_files_are_listed_and_read_and_nothing_else_is(self, rig: LocalRig, spec: RunSpec) -> None:
        found = rig.driver.artifacts(spec)

        assert [(file.path, file.size) for file in found.files] == [("model/w.pt", 7)]
        assert not found.truncated
        assert read(rig, spec, "model/w.pt") == b"weights"
        assert rig.driver.logs(spec, tail=1)[0].startswith("1 0 /")

    @pytest.mark.parametrize(
        "path",
        ["passwd", "root/etc/passwd", "score.txt", "pipe", "model", "", "nothing", "../score", "model/../model/w.pt",
         "/etc/passwd", "model//w.pt", "./model/w.pt", "a\0b", "/".join("abcdefghi")],
    )  # fmt: skip
    def test_what_leads_elsewhere_or_is_no_plain_file_is_missing(self, rig: LocalRig, spec: RunSpec, path: str) -> None:
        with pytest.raises(ArtifactMissing):
            rig.driver.artifact(spec, path)

    def test_a_link_in_the_place_of_the_folder_is_none(self, rig: LocalRig, spec: RunSpec) -> None:
        folder = rig.home(spec) / "artifacts"
        folder.rename(folder.with_name("aside"))
        folder.symlink_to("aside")

        assert rig.driver.artifacts(spec).files == ()
        with pytest.raises(ArtifactMissing):
            rig.driver.artifact(spec, "model/w.pt")

    def test_of_a_job_that_made_none_there_is_nothing(self, rig: LocalRig) -> None:
        assert rig.driver.artifacts(a_spec(kind="job", command=("true",))).files == ()


class TestBounds:
    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        (tmp_path / "artifacts").mkdir()
        return tmp_path

    def test_so_many_files_are_told_and_that_there_are_more(self, home: Path, monkeypatch) -> None:
        monkeypatch.setattr(artifacts, "MOST_FILES", 3)
        for number in range(5):
            (home / "artifacts" / str(number)).write_text("x")

        found = artifacts.found(home)

        assert (len(found.files), found.truncated) == (3, True)

    def test_what_is_too_deep_is_not_looked_for(self, home: Path) -> None:
        deep = home / "artifacts" / "/".join("abcdefghij")
        deep.mkdir(parents=True)
        (deep / "x").write_text("x")

        assert artifacts.found(home).files == ()

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs another user's file")
    def test_another_users_file_is_none_of_its_own(self, home: Path) -> None:
        (home / "artifacts" / "x").write_text("x")
        os.chown(home / "artifacts" / "x", 12_345, 12_345)

        assert artifacts.found(home).files == ()
        with pytest.raises(ArtifactMissing):
            artifacts.read(home, "x")

    def test_what_grows_while_it_is_read_is_cut_at_what_was_promised(self, home: Path) -> None:
        (home / "artifacts" / "x").write_text("abc")
        found = artifacts.read(home, "x")
        (home / "artifacts" / "x").write_text("abcdef")

        assert b"".join(found.pieces) == b"abc"

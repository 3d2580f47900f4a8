"""Logs of supervised processes have an end, and a full disk ends nothing."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from portal.up import child as children
from portal.up.child import Child, Spec


@pytest.fixture
def one(tmp_path, monkeypatch):
    monkeypatch.setattr(children, "_LOG_LIMIT", 1000)
    for name in ("logs", "records"):
        (tmp_path / name).mkdir()
    spec = Spec(name="one", words=(sys.executable, "-c", ""), environment={}, directory=Path("/"))
    return Child(spec, logs=tmp_path / "logs", records=tmp_path / "records")


class TestTrimming:
    def test_a_log_above_its_limit_is_emptied_and_one_older_part_stays(self, one):
        for letter in "ab":
            with one.log.open("a") as writer:
                writer.write(letter * 1001)
                writer.flush()
                one.trim_log()
                writer.write("goes on")

        assert one.log.read_text() == "goes on"
        assert one.log.with_suffix(".log.1").read_text() == "goes on" + "b" * 1001

    def test_a_small_log_is_left_alone(self, one):
        one.log.write_text("short")

        one.trim_log()

        assert one.log.read_text() == "short"
        assert not one.log.with_suffix(".log.1").exists()

    def test_on_a_full_disk_the_older_part_is_given_up(self, one, monkeypatch):
        one.log.write_text("a" * 1001)
        monkeypatch.setattr(shutil, "copyfile", _full)

        one.trim_log()

        assert one.log.stat().st_size == 0


class TestFullDisk:
    def test_a_process_starts_though_its_record_cannot_be_written(self, one, monkeypatch):
        monkeypatch.setattr(Path, "write_text", _full)

        one.start()

        assert one.runs
        one.kill_group()


def _full(*_words: object, **_more: object) -> None:
    raise OSError(28, "No space left on device")

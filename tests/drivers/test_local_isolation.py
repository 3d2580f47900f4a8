"""What one workspace can see of the machine, the platform and its neighbours: nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from provisioning.drivers.local import isolation, limits, places, procfs
from provisioning.drivers.local.driver import LocalDriver
from tests.drivers.rig import LocalRig, a_spec, config_in, until

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change users")
WITH_BUBBLEWRAP = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
SECRET = "only-for-the-platform"

KINDS = [
    pytest.param("namespace", marks=AS_ROOT),
    pytest.param("bubblewrap", marks=WITH_BUBBLEWRAP),
]


@pytest.fixture(params=KINDS)
def apart(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalRig]:
    rig = LocalRig(LocalDriver(config_in(tmp_path, isolation=request.param)))
    rig.config.state_dir.mkdir()
    (rig.config.state_dir / "installation.json").write_text(SECRET)
    yield rig
    rig.end_everything()


class TestApart:
    def test_another_projects_files_cannot_be_read(self, apart: LocalRig) -> None:
        alice, charlie = a_spec(), a_spec()
        (apart.home(charlie) / "thesis.txt").write_text(SECRET)
        apart.started(charlie)
        thesis = apart.home(charlie) / "thesis.txt"

        seen = apart.output(
            alice,
            f"cat {thesis}; cat /proc/*/root{thesis}; cat /proc/*/cwd/thesis.txt;"
            f" ls /home /home/work; find / -name thesis.txt 2>/dev/null",
        )

        assert SECRET not in seen
        assert "thesis.txt\n" not in seen.replace(f"{thesis}", "")

    def test_the_installation_file_cannot_be_read(self, apart: LocalRig) -> None:
        state = apart.config.state_dir

        seen = apart.output(a_spec(), f"cat {state}/installation.json; cat {state}/uids.json; ls -la {state}")

        assert SECRET not in seen
        assert seen.count("No such file") + seen.count("Permission denied") == 3

    def test_a_state_folder_inside_a_readable_one_stays_hidden(self, apart: LocalRig) -> None:
        image = apart.config.images["stand-in"]
        wide = replace(image, readable=(*image.readable, apart.config.state_dir.parent))
        rig = LocalRig(LocalDriver(replace(apart.config, images={"stand-in": wide})))
        spec = a_spec()

        seen = rig.output(spec, f"ls {rig.config.state_dir}; cat {rig.config.state_dir}/*.json")

        assert SECRET not in seen
        assert "workspaces" not in seen

    def test_the_platforms_processes_and_passwords_are_out_of_sight(
        self, apart: LocalRig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DATABASE_URL", SECRET)
        me, neighbour = os.getpid(), a_spec()
        apart.started(neighbour)

        seen = apart.output(
            a_spec(),
            f"cat /proc/{me}/environ /proc/{me}/cmdline; cat /proc/*/environ; env; kill -0 {me};"
            " cat /proc/*/cmdline | tr '\\0' ' '",
        )

        assert SECRET not in seen
        assert f"cat: /proc/{me}/environ: No such file" in seen
        assert f"cat: /proc/{me}/cmdline: No such file" in seen
        assert str(neighbour.workload_id) not in seen

    def test_the_environment_is_an_allow_list(self, apart: LocalRig) -> None:
        spec = a_spec(env={"LEARNING_RATE": "0.1", "HOME": "/root", "STEELYARD_WORKLOAD": "x"})

        seen = apart.output(spec, "env")

        variables = dict(line.split("=", 1) for line in seen.splitlines())
        assert variables["LEARNING_RATE"] == "0.1"
        assert variables["HOME"] == "/home/work"
        assert variables["STEELYARD_WORKLOAD"] == str(spec.workload_id)
        assert set(variables) - {"PWD", "SHLVL", "_", "OLDPWD"} == {
            *("HOME", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR", "PATH"),
            *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
            *("XDG_RUNTIME_DIR", "STEELYARD_WORKLOAD", "STEELYARD_INSTALLATION"),
            "LEARNING_RATE",
        }

    def test_temporary_files_are_private(self, apart: LocalRig) -> None:
        Path("/tmp/steelyard-of-the-host").touch()

        seen = apart.output(a_spec(), "ls -a /tmp; touch /tmp/mine && echo written")
        Path("/tmp/steelyard-of-the-host").unlink()

        assert "steelyard-of-the-host" not in seen
        assert "written" in seen

    def test_a_link_in_place_of_its_socket_is_not_followed(self, apart: LocalRig) -> None:
        spec = a_spec()
        apart.started(spec)
        placed = places.places_of(spec.workload_id, apart.config)
        server = (placed.box / "s").stat().st_ino

        (placed.box / "s").unlink()
        (placed.box / "s").symlink_to("/run/docker.sock")

        endpoint = apart.driver.endpoint_of(spec)
        assert endpoint is not None
        assert endpoint.unix_socket == str(placed.socket)
        assert placed.socket.lstat().st_ino == server
        assert apart.driver.observe(spec).ready


@AS_ROOT
class TestUserOfItsOwn:
    def test_two_projects_are_two_users_and_none_of_them_root(self, tmp_path: Path) -> None:
        rig = LocalRig(LocalDriver(config_in(tmp_path)))
        alice, charlie = a_spec(), a_spec()
        for spec in (alice, charlie):
            rig.started(spec)

        owners = {Path(f"/proc/{rig.processes(spec)[0]}").stat().st_uid for spec in (alice, charlie)}
        homes = {rig.home(spec).stat().st_uid for spec in (alice, charlie)}
        modes = {rig.home(spec).stat().st_mode & 0o777 for spec in (alice, charlie)}
        rig.end_everything()

        assert len(owners) == 2
        assert 0 not in owners
        assert homes == owners
        assert modes == {0o700}

    def test_it_has_no_privilege_and_no_descriptor_of_ours(self, tmp_path: Path) -> None:
        rig = LocalRig(LocalDriver(config_in(tmp_path)))
        spec = a_spec()
        rig.started(spec)
        pid = rig.processes(spec)[0]

        status = Path(f"/proc/{pid}/status").read_text()
        targets = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
        rig.end_everything()

        assert "CapEff:\t0000000000000000" in status
        assert "NoNewPrivs:\t1" in status
        assert "Groups:\t \n" in status
        files = [target for target in targets if not target.startswith("socket:")]
        assert sorted(set(files)) == ["/dev/null", str(places.places_of(spec.workload_id, rig.config).log)]

    def test_files_that_a_restore_gave_to_root_are_its_own_again(self, tmp_path: Path) -> None:
        rig = LocalRig(LocalDriver(config_in(tmp_path)))
        spec = a_spec()
        (rig.home(spec) / "deep").mkdir()
        (rig.home(spec) / "deep" / "file").touch()
        (rig.home(spec) / "link").symlink_to("/etc/hostname")

        rig.started(spec)
        rig.end_everything()

        owner = rig.home(spec).stat().st_uid
        assert owner != 0
        assert (rig.home(spec) / "deep" / "file").stat().st_uid == owner
        assert (rig.home(spec) / "link").lstat().st_uid == owner
        assert Path("/etc/hostname").stat().st_uid == 0


class TestReports:
    def test_each_kind_says_what_it_is(self, tmp_path: Path) -> None:
        reports = {
            kind: isolation.isolation_of(config_in(tmp_path, isolation=kind))
            for kind in ("namespace", "uid", "bubblewrap", "none")
        }

        assert [kind for kind, report in reports.items() if not report.isolated] == ["none"]
        assert "Not isolated: evaluation only" in reports["none"].sentence

    def test_the_machine_is_tried_not_assumed(self, tmp_path: Path) -> None:
        report = isolation.isolation_of(config_in(tmp_path))

        assert report.kind in ("namespace", "uid", "bubblewrap", "none")
        assert isolation.limits_of_machine().sentence.endswith("on this machine.")


@pytest.mark.skipif(not limits.writable_parents(), reason="no control group can be made here")
class TestLimits:
    def test_memory_and_processors_are_bounded(self, rig: LocalRig) -> None:
        spec = a_spec(vcpus=1, memory_gib=1)
        rig.started(spec)
        groups = rig.record(spec).cgroups

        bounds = {
            name: Path(group, name).read_text().strip()
            for group in groups
            for name in ("memory.limit_in_bytes", "memory.max", "cpu.cfs_quota_us", "cpu.max")
            if Path(group, name).exists()
        }
        rig.stopped(spec)

        assert set(bounds.values()) <= {str(1024**3), "100000", "100000 100000"}
        assert len(bounds) == 2
        until(lambda: [group for group in groups if Path(group).exists()], lambda left: not left)

    def test_what_takes_too_much_memory_is_ended_and_named(self, rig: LocalRig) -> None:
        spec = a_spec(memory_gib=1)
        greedy = replace(
            rig.config.images["stand-in"],
            command=(
                *rig.config.images["stand-in"].command[:3],
                "-c",
                "x = [bytearray(64 * 1024 * 1024) for _ in range(40)]",
            ),
        )
        driver = LocalDriver(replace(rig.config, images={"stand-in": greedy}))

        driver.ensure_present(spec)
        ended = until(lambda: driver.observe(spec), lambda o: o.ended_at, seconds=30)

        assert ended.reason is not None
        assert ended.reason.code == "out_of_memory"
        assert procfs.process(rig.keeper(spec)) is None or ended.ended_at is not None

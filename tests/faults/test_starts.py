"""A start that was cut off is made again; a start that cannot be says so."""

from __future__ import annotations

import pytest

from core.ids import uuid7
from provisioning.drivers.base import DriverUnavailable, Phase
from provisioning.drivers.local import launch, order
from tests.drivers.rig import a_spec, until


class CutOffError(BaseException):
    """kill -9, as far as what stands on the disk is concerned."""


@pytest.fixture
def spec():
    return a_spec(image="jupyterlab", workload_id=uuid7())


def test_a_start_that_was_cut_off_before_a_keeper_lived_leaves_nothing_to_answer_for(local, spec, monkeypatch):
    def cut_off(*_):
        raise CutOffError

    with monkeypatch.context() as patched:
        patched.setattr(launch, "_start", cut_off)
        with pytest.raises(CutOffError):
            local.ensure_present(spec)

    cut = local.observe(spec)
    assert (cut.phase, cut.reason and cut.reason.code) == (Phase.STOPPED, "start_interrupted")
    assert (cut.started_at, cut.ended_at) == (None, None)
    assert until(lambda: local.ensure_present(spec), lambda seen: seen.ready).phase is Phase.RUNNING


def test_a_keeper_that_cannot_start_is_a_failure_and_is_not_tried_again_and_again(local, spec, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(order, "dump", lambda _: b"no order")
        failed = local.ensure_present(spec)
    again = local.ensure_present(spec)

    assert (failed.phase, failed.reason and failed.reason.code) == (Phase.FAILED, "start_failed")
    assert (again.phase, again.incarnation) == (Phase.FAILED, failed.incarnation)


def test_a_keeper_that_takes_too_long_is_unknown_and_comes_up_later(local, spec, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(launch, "LAUNCH_S", 0.0)
        with pytest.raises(DriverUnavailable):
            local.ensure_present(spec)

    assert until(lambda: local.ensure_present(spec), lambda seen: seen.ready).phase is Phase.RUNNING

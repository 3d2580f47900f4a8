"""Faults at each numbered step, against a real control plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any
from unittest.mock import patch

import pytest

from provisioning.drivers.base import DriverUnavailable, Observation, Phase, RunSpec
from provisioning.drivers.kubernetes.client import Api
from tests.drivers.rig import a_spec, until
from tests.kube.rig import KubeRig

OPERATORS = {"ray": "kuberay"}
"""What must be installed for a kind."""


@pytest.mark.parametrize("kind", ["workspace", "job", "ray"])
class TestAnyAnswerMayBeLost:
    """The call took place and nobody heard of it: at each step of a start, of an end and of a removal."""

    @pytest.fixture(autouse=True)
    def _what_it_needs(self, kind: str, request: pytest.FixtureRequest) -> None:
        if kind in OPERATORS:
            request.getfixturevalue(OPERATORS[kind])

    def test_c40_a_start_that_is_called_off_at_any_step_leaves_nothing(self, rig: KubeRig, kind: str) -> None:
        for step in count(1):
            spec = made(rig, kind)
            rig.give_disk(spec)
            with losing_answer(step) as lost:
                _tried(rig.driver.ensure_present, spec)

            gone = rig.absent(spec)

            assert rig.held(spec) == []
            assert (gone.started_at is None) == (gone.ended_at is None)
            if not lost:
                break
        assert step > 9
        assert until(lambda: rig.everything_of(spec), lambda found: not found) == []

    def test_a_start_that_is_repeated_from_any_step_starts_one(self, rig: KubeRig, kind: str) -> None:
        for step in count(1):
            spec = made(rig, kind)
            rig.give_disk(spec)
            with losing_answer(step) as lost:
                _tried(rig.driver.ensure_present, spec)

            rig.driver.ensure_present(spec)
            until(lambda: rig.driver.ensure_present(spec), lambda o: o.ready and o.reason is None)  # noqa: B023

            assert len(rig.held(spec)) == spec.workers
            if not lost:
                break

    def test_an_end_that_is_repeated_from_any_step_is_one_end(self, rig: KubeRig, kind: str) -> None:
        spec = made(rig, kind)
        for step in count(1):
            ready = rig.started(spec)
            with losing_answer(step) as lost:
                _tried(rig.driver.ensure_stopped, spec)

            stopped = rig.stopped(spec)

            assert (stopped.phase, stopped.incarnation) == (Phase.STOPPED, ready.incarnation)
            assert rig.held(spec) == []
            assert rig.stopped(spec) == stopped
            if not lost:
                break
        assert step > 4

    def test_a_removal_that_is_repeated_from_any_step_leaves_nothing(self, rig: KubeRig, kind: str) -> None:
        for step in count(1):
            spec = made(rig, kind)
            ready = rig.started(spec)
            with losing_answer(step) as lost:
                _tried(rig.driver.ensure_absent, spec)

            gone = rig.absent(spec)

            assert (gone.incarnation, gone.ended_at is None) == (ready.incarnation, False)
            assert rig.held(spec) == []
            if not lost:
                break
        assert step > 3


def made(rig: KubeRig, kind: str) -> RunSpec:
    """A workspace, a job of two workers that goes on, or a Ray cluster of two nodes."""
    if kind == "ray":
        return a_spec(kind="cluster", framework="ray", workers=2)
    return rig.job(workers=2) if kind == "job" else a_spec()


@contextmanager
def losing_answer(step: int) -> Iterator[list[int]]:
    """The answer to so many-th change is lost. Yields what was lost."""
    whole, lost, calls = Api._call, [], count(1)

    def call(self: Api, method: str, *words: Any, **named: Any) -> bytes:
        answer = whole(self, method, *words, **named)
        if method != "GET" and next(calls) == step:
            lost.append(step)
            raise DriverUnavailable("no answer in time")
        return answer

    with patch.object(Api, "_call", call):
        yield lost


def _tried(ask: Callable[[RunSpec], Observation], spec: RunSpec) -> None:
    with suppress(DriverUnavailable):
        ask(spec)

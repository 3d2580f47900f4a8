"""The graph of a workload's life, written out a second time by hand."""

from __future__ import annotations

import pytest

from core.statemachine import IllegalTransition
from provisioning.enums import State as S
from provisioning.lifecycle import HOLDS, WORKLOAD, Holding

EDGES = """
requested → queued stopped failed deleting
queued → provisioning stopped failed deleting
provisioning → running stopping requested deleting
running → stopping requested deleting
stopping → stopped succeeded failed deleting
stopped → requested deleting
succeeded → deleting
failed → requested deleting
deleting → deleted
deleted →
"""


class TestGraph:
    def test_holds_exactly_these_edges(self):
        written = {line.split(" →")[0]: set(line.split("→")[1].split()) for line in EDGES.strip().splitlines()}

        assert {state.value: {target.value for target in WORKLOAD.targets(state)} for state in S} == written

    def test_deleted_alone_is_final(self):
        assert WORKLOAD.final_states == {S.DELETED}

    def test_refuses_what_is_not_written(self):
        with pytest.raises(IllegalTransition):
            WORKLOAD.require(S.DELETED, S.RUNNING)

    def test_can_be_deleted_from_anywhere(self):
        alive = set(S) - {S.DELETING, S.DELETED}

        assert all(WORKLOAD.allows(state, S.DELETING) for state in alive)


class TestHoldings:
    def test_every_state_says_what_it_holds(self):
        assert set(HOLDS) == set(S)

    def test_stopping_holds_all_and_stopped_the_storage_alone(self):
        assert (HOLDS[S.STOPPING], HOLDS[S.STOPPED], HOLDS[S.DELETED]) == (
            Holding.ALL,
            Holding.STORAGE,
            Holding.NOTHING,
        )

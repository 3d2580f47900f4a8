"""A worker killed before each of its effects, at every step of a workload's life: another one always ends it well."""

from __future__ import annotations

import pytest

from tests.faults.life import LIFE, Life

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("shop")]

MOST_EFFECTS = 60
LIVES_A_TEST = 5
EFFECTS = {"stop": 8, "delete": 23}


def live(life: Life, deaths: dict[str, int]) -> None:
    """A whole life in which a worker dies at each step, before the effect of that number."""
    verbs: list[str] = []
    for name, state, expected in LIFE:
        verbs += expected
        life.wish(name)
        outcome = life.work(state, fatal=deaths[name])
        try:
            if outcome.died:
                life.rescue(state)
            life.check()
            life.check_history(verbs)
        except AssertionError as error:
            error.add_note(f"{name}: the worker had died before {outcome.effects[-3:]} (number {deaths[name]})")
            raise


class TestWorkerKilledBeforeAnyEffect:
    """First starts die before the odd ones, second starts before the even ones; stops and deletes before each."""

    @pytest.mark.parametrize("first", range(1, MOST_EFFECTS, 2 * LIVES_A_TEST))
    def test_nothing_runs_twice_nothing_is_left_and_the_charge_is_what_was_held(self, aurora, hired, local, first):
        for number in range(first, first + 2 * LIVES_A_TEST, 2):
            stop, delete = 1 + (number // 2) % EFFECTS["stop"], 1 + (number // 2) % EFFECTS["delete"]
            deaths = {"create": number, "stop": stop, "start": number + 1, "delete": delete}
            live(Life(aurora, hired, local), deaths)

"""One task delivered twice, to two workers at the same time."""

from __future__ import annotations

import pytest

from tests.faults.life import LIFE, Life

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("shop")]

NO_LEASE = 0.001
"""Over before the driver is asked: what is left between two workers is the driver's own lock and the apply."""


@pytest.mark.parametrize("lease", [30.0, NO_LEASE], ids=["leased", "lease over"])
def test_c101_three_workers_on_one_task_start_one_server_and_charge_once(aurora, hired, local, lease):
    life = Life(aurora, hired, local)
    verbs: list[str] = []
    for name, state, expected in LIFE:
        verbs += expected
        life.wish(name)

        outcomes = hired.do(*[life.job(state, lease=lease)] * 3)

        assert not any(outcome.died for outcome in outcomes)
        life.check()
        life.check_history(verbs)
        if name != "delete":
            assert len((life.home / "starts").read_text().split()) == len(life.runs)

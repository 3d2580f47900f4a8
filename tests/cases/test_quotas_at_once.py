"""Quotas when many ask in the same instant, as threads with connections of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
from django.db import connection
from django.utils import timezone

from core import audit
from core.errors import Refused
from tenants.models import Quota
from tenants.services import quotas
from tenants.types import Claim
from tests import house
from tests.tenants.quota_stage import check_that_used_is_what_is_held, give_back, holder, take

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("roomy_pool")]
GPUS = 8
THREADS, ROUNDS = 20, 200
PATIENCE = 120
A, B, C = "proj-a", "proj-b", "proj-c"
MODELS = [f"accelerators/M{number}" for number in range(THREADS // 2)]
_SNAPSHOT = """
    SELECT q.used, COALESCE((SELECT sum(amount) FROM tenants_quotahold h WHERE h.resource = q.resource), 0)
    FROM tenants_quota q WHERE q.project_id IS NULL
"""


@pytest.fixture
def roomy_pool():
    """A connection for each thread at the same time: a process has eight."""
    pool = connection.pool  # type: ignore[attr-defined]
    before = (pool.min_size, pool.max_size)
    pool.resize(1, THREADS + 2)
    yield
    pool.resize(*before)


@pytest.fixture
def aurora(db):
    """Eight accelerators of each model in all; each of three projects may have them."""
    tenant = house.found("aurora", projects=(A, B, C))
    with house.an_act(), tenant.scope():
        audit.record(house.SYSTEM, "quota.defined", tenant.organization.ref, now=timezone.now())
        Quota.objects.bulk_create(
            Quota(organization=tenant.organization, project=place, resource=model, limit=GPUS)
            for model in MODELS
            for place in (None, *tenant.projects.values())
        )
    return tenant


class Look:
    """Every snapshot, as one statement sees it, while others work: what quotas say is used, and what is held."""

    def __init__(self, tenant, pool):
        self.tenant, self.over = tenant, Event()
        self.seen = pool.submit(self.look)

    def look(self):
        seen = set()
        while not self.over.wait(0.005):
            with self.tenant.scope(), connection.cursor() as cursor:
                cursor.execute(_SNAPSHOT)
                seen |= {(used, int(held)) for used, held in cursor.fetchall()}
        connection.close()
        return seen

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()


def ask(tenant, project, model, freed):
    """Ask for all eight until they are given, or refused although they were free."""
    mine = holder()
    while True:
        last = freed.is_set()
        try:
            with tenant.scope():
                quotas.take(
                    project=tenant.projects[project], claim=Claim(((model, GPUS),)), holder=mine, now=timezone.now()
                )
        except Refused as refused:
            if last:
                reason = refused.reasons[0]
                assert (reason.level, reason.asked, reason.used, reason.limit) == ("organization", 8, 8, 8)
                return None
            freed.wait(PATIENCE)
        else:
            return project, mine


class Lane:
    """A and B of one model of accelerators, which C holds whole and lets go in the instant in which both ask."""

    def __init__(self, tenant, model):
        self.tenant, self.model = tenant, model
        self.meet = Barrier(2)
        self.freed = Event()

    def a(self):
        given = []
        for _ in range(ROUNDS // len(MODELS)):
            self.freed.clear()
            held = take(self.tenant, C, GPUS, resource=self.model)
            self.meet.wait(PATIENCE)
            give_back(self.tenant, C, held)
            self.freed.set()
            given.append(self.round(A))
        connection.close()
        return given

    def b(self):
        given = []
        for _ in range(ROUNDS // len(MODELS)):
            self.meet.wait(PATIENCE)
            given.append(self.round(B))
        connection.close()
        return given

    def round(self, project):
        found = ask(self.tenant, project, self.model, self.freed)
        self.meet.wait(PATIENCE)
        if found is not None:
            give_back(self.tenant, *found)
        self.meet.wait(PATIENCE)
        return found is not None


def test_c16_of_a_and_b_that_ask_for_all_eight_in_the_same_instant_exactly_one_gets_them_two_hundred_times(aurora):
    lanes = [Lane(aurora, model) for model in MODELS]
    with ThreadPoolExecutor(THREADS + 1) as pool:
        with Look(aurora, pool) as look:
            pairs = [(pool.submit(lane.a), pool.submit(lane.b)) for lane in lanes]
            rounds = [
                admitted for a, b in pairs for admitted in zip(a.result(PATIENCE), b.result(PATIENCE), strict=True)
            ]
        seen = look.seen.result(PATIENCE)

    assert len(rounds) == ROUNDS
    assert {sum(admitted) for admitted in rounds} == {1}
    assert seen <= {(0, 0), (GPUS, GPUS)}
    check_that_used_is_what_is_held(aurora)


def test_c16_of_nineteen_that_ask_together_exactly_one_gets_them(aurora):
    def one(number):
        try:
            start.wait(PATIENCE)
            return ask(aurora, (A, B)[number % 2], MODELS[0], freed)
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(5):
            held, freed, start = take(aurora, C, GPUS, resource=MODELS[0]), Event(), Barrier(THREADS)
            asking = [pool.submit(one, number) for number in range(THREADS - 1)]
            start.wait(PATIENCE)
            give_back(aurora, C, held)
            freed.set()
            [found] = [found for each in asking if (found := each.result(PATIENCE)) is not None]
            check_that_used_is_what_is_held(aurora)
            give_back(aurora, *found)

"""One month of two people: they sign in, launch, work, stop and start; the month turns in Berlin; the bill adds up."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from django.core.cache import cache
from django.test import Client

from billing.selectors import draft_invoice, month_to_date
from billing.selectors.workloads import cost_so_far
from provisioning.drivers.registry import using
from provisioning.enums import State
from provisioning.models import Workload
from tests import house
from tests.provisioning import stage

pytestmark = pytest.mark.django_db
BERLIN = ZoneInfo("Europe/Berlin")
MINUTE = timedelta(minutes=1)
GPU, DISK = Fraction("2.95"), Fraction("0.0001")


@pytest.fixture
def clock(monkeypatch):
    made = stage.Clock(datetime(2026, 10, 24, 9, tzinfo=BERLIN).astimezone(UTC))
    monkeypatch.setattr("django.utils.timezone.now", made)
    return made


@pytest.fixture
def machine(clock, db):
    stage.open_shop()
    made = stage.Machine(clock)
    with using("local", made):
        yield made


def sign_in(person: str) -> Client:
    cache.clear()
    client = Client(raise_request_exception=False)
    response = client.post("/accounts/login/", {"login": f"{person}@aurora.example", "password": house.PASSWORD})
    assert response.status_code == 302, response.content
    return client


def launch(client: Client, project: str, name: str, shape: str, disk_gib: int) -> str:
    """By the form; gives the workload's id."""
    form = {"project": project, "image": "jupyterlab", "kind": "workspace", "idempotency_key": name}
    response = client.post("/launch", {**form, "name": name, "shape": shape, "disk_gib": disk_gib})
    assert response.status_code == 302, response.content
    return response.headers["Location"].rpartition("/")[2]


class Life:
    """A workload as its owner and its machine see it."""

    def __init__(self, tenant, client, machine, clock, workload_id):
        self.tenant, self.client, self.machine, self.clock = tenant, client, machine, clock
        with tenant.scope():
            self.row = Workload.objects.get(pk=workload_id)

    def reach(self, state):
        for _ in range(4):
            stage.turn(self.tenant, self.row, self.machine, self.clock)
        assert stage.fresh(self.tenant, self.row).state == state

    def wish(self, word, state):
        assert self.client.post(f"/workspaces/{self.row.pk}/{word}").status_code == 302
        self.reach(state)


def test_two_people_work_through_a_month_and_its_invoice_sums_to_the_cent(clock, machine, aurora):
    alice, bob = sign_in("alice"), sign_in("bob")
    first = Life(aurora, alice, machine, clock, launch(alice, "vision", "notes", "h100-1", 10))
    first.reach(State.RUNNING)
    began = clock.now

    clock.pass_(minutes=90)
    first.wish("stop", State.STOPPED)
    clock.now = datetime(2026, 10, 24, 22, tzinfo=BERLIN).astimezone(UTC)
    first.wish("start", State.RUNNING)  # the night in which an hour repeats
    clock.now = datetime(2026, 10, 25, 6, tzinfo=BERLIN).astimezone(UTC)
    first.wish("stop", State.STOPPED)
    clock.now = datetime(2026, 10, 31, 20, tzinfo=BERLIN).astimezone(UTC)
    second = Life(aurora, bob, machine, clock, launch(bob, "vision", "night", "h100-4", 20))
    second.reach(State.RUNNING)
    night = clock.now
    clock.now = datetime(2026, 11, 1, 4, tzinfo=BERLIN).astimezone(UTC)
    second.wish("delete", State.DELETED)
    midnight = datetime(2026, 11, 1, tzinfo=BERLIN).astimezone(UTC)

    october = {
        "gpu": Fraction(90, 60) + 9 + 4 * hours(night, midnight),
        "disk": 10 * hours(began, midnight) + 20 * hours(night, midnight),
    }
    november = {"gpu": Fraction(4 * 4), "disk": 10 * hours(midnight, clock.now) + 20 * 4}
    for month, held in (("2026-10", october), ("2026-11", november)):
        check(aurora, month, held, clock.now)
    with aurora.scope():
        own = cost_so_far([first.row.pk], clock.now)[first.row.pk]
    assert own.exact == (Fraction(90, 60) + 9) * GPU + 10 * hours(began, clock.now) * DISK
    check_pages(aurora, clock)


def hours(start: datetime, end: datetime) -> Fraction:
    return Fraction((end - start) // timedelta(microseconds=1), 3_600_000_000)


def check(tenant, month: str, held: dict[str, Fraction], now: datetime) -> None:
    """The draft's lines are what was held, and they, the projects and the people sum to the same cent."""
    with tenant.scope():
        draft = draft_invoice(tenant.actor("billie"), month, now)
        so_far = month_to_date(tenant.actor("olivia"), now, month=month)
    quantities = {entry.line.sku_code.partition("-")[0]: entry.line.quantity for entry in draft.lines}
    assert quantities == held
    exact = held["gpu"] * GPU + held["disk"] * DISK
    cents = (Decimal(exact.numerator) / exact.denominator).quantize(Decimal("0.01"))
    assert draft.subtotal.amount == cents
    assert sum(entry.amount.amount for entry in draft.lines) == cents
    assert so_far.total.amount == cents
    assert sum(row.amount.amount for row in so_far.by_user.rows) == cents


def check_pages(tenant, clock) -> None:
    """The page and the file that finance gets say the same."""
    billie = sign_in("billie")
    with tenant.scope():
        draft = draft_invoice(tenant.actor("billie"), "2026-10", clock.now)
    page = billie.get("/invoice?month=2026-10").content.decode()
    api = house.api_for(tenant, "billie")
    rows = list(csv.reader(io.StringIO(api.get("/api/v1/invoices/2026-10.csv").content.decode())))

    assert str(draft.subtotal.amount) in page
    assert any(str(draft.subtotal.amount) in row for row in rows)

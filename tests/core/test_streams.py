"""Streams deliver every sealed entry, in order and signed, to a real receiver; and say why where they can not."""

from __future__ import annotations

import base64
import hmac
import ipaddress
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from core import audit
from core.audit_verifier import verify
from core.models import AuditEvent, AuditStream
from core.retention import cut
from core.sealing import seal
from core.streams import LEASE, PAUSE_AFTER, Outcome, apply, call, claim, deliver, due_streams, wait_after
from core.types import ObjectRef
from tenants.services import audit_log
from tests.core.receiver import receiving
from tests.house import an_act
from tests.proof import stream_and_secret

pytestmark = pytest.mark.django_db


class Clock:
    def __init__(self):
        self.now = timezone.now()

    def __call__(self):
        return self.now

    def pass_(self, **span):
        self.now += timedelta(**span)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(autouse=True)
def loopback(settings):
    settings.STEELYARD = {**settings.STEELYARD, "OUTGOING_NETWORKS": (ipaddress.ip_network("127.0.0.0/8"),)}


def act(tenant, count=1):
    for number in range(count):
        with an_act(), tenant.scope():
            ref = ObjectRef("project", str(number))
            audit.record(tenant.actor("olivia"), "project.renamed", ref, now=timezone.now())
    while seal(tenant.organization.pk):
        pass


def send(tenant, stream, clock):
    return deliver(organization_id=tenant.organization.pk, stream_id=stream.pk, clock=clock)


def fresh(tenant, stream):
    with tenant.scope():
        return AuditStream.objects.get(pk=stream.pk)


def fits(secret, got):
    headers = got["headers"]
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{got['body']}".encode()
    key = base64.b64decode(secret.removeprefix("whsec_"))
    wanted = "v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode()
    return wanted in headers["webhook-signature"].split(" ")


class TestDelivery:
    def test_carries_the_whole_chain_in_order_signed_and_verifiable(self, aurora, clock, tmp_path, monkeypatch):
        monkeypatch.setattr("core.streams.AT_ONCE", 3)
        with receiving(tmp_path) as receiver:
            stream, secret = stream_and_secret(aurora, url=receiver.url, from_start=True)
            act(aurora, 8)
            clock.pass_(seconds=1)

            taken = send(aurora, stream, clock)

            entries = receiver.entries()
            assert taken == len(entries) > 8
            assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
            assert verify(entries).faults == ()
            assert all(fits(secret, got) for got in receiver.got())
            assert len({got["headers"]["webhook-id"] for got in receiver.got()}) == len(receiver.got()) > 2
        assert fresh(aurora, stream).cursor == taken
        assert due_streams(now=clock.now) == []

    def test_begins_with_what_comes_after_unless_the_start_is_asked_for(self, aurora, clock, tmp_path):
        act(aurora)
        with receiving(tmp_path) as receiver:
            stream, _ = stream_and_secret(aurora, url=receiver.url)
            act(aurora)
            clock.pass_(seconds=1)

            send(aurora, stream, clock)

            assert [entry["verb"] for entry in receiver.entries()] == ["audit_stream.created", "project.renamed"]

    def test_of_another_organisation_stays_there(self, aurora, borealis, clock, tmp_path):
        with receiving(tmp_path) as receiver:
            stream, _ = stream_and_secret(aurora, url=receiver.url, from_start=True)
            act(aurora)
            seal(borealis.organization.pk)
            clock.pass_(seconds=1)

            send(aurora, stream, clock)

            assert {entry["organization_id"] for entry in receiver.entries()} == {str(aurora.organization.pk)}


class TestFailure:
    def test_waits_longer_each_time_and_then_repeats_the_same_call(self, aurora, clock, tmp_path):
        with receiving(tmp_path, 500, 302, 204) as receiver:
            stream, _ = stream_and_secret(aurora, url=receiver.url, from_start=True)
            act(aurora, 3)
            clock.pass_(seconds=1)

            assert send(aurora, stream, clock) == 0
            failed = fresh(aurora, stream)
            assert (failed.failures, failed.last_error) == (1, "127.0.0.1 answered 500.")
            assert due_streams(now=clock.now) == []
            act(aurora)  # does not join the batch that is on its way
            clock.pass_(seconds=6)
            assert due_streams(now=clock.now) == [(aurora.organization.pk, stream.pk)]
            send(aurora, stream, clock)
            clock.pass_(seconds=11)
            send(aurora, stream, clock)

            calls = receiver.got()
            assert [got["answer"] for got in calls] == [500, 302, 204, 204]
            assert len({got["headers"]["webhook-id"] for got in calls[:3]}) == 1
            assert len({got["body"] for got in calls[:3]}) == 1
            assert [entry["seq"] for entry in receiver.entries()] == list(range(1, len(receiver.entries()) + 1))
        after = fresh(aurora, stream)
        assert (after.failures, after.last_error, after.failing_since) == (0, "", None)

    def test_waits_5_seconds_at_first_and_15_minutes_at_most(self):
        assert [int(wait_after(n).total_seconds()) for n in (1, 2, 3, 8, 9, 500)] == [5, 10, 20, 640, 900, 900]

    def test_pauses_after_three_days_says_why_and_goes_on_where_it_stopped(self, aurora, clock, tmp_path):
        with receiving(tmp_path, 503, 503, 204) as receiver:
            stream, _ = stream_and_secret(aurora, url=receiver.url, from_start=True)
            act(aurora)
            clock.pass_(seconds=1)
            send(aurora, stream, clock)
            clock.now += PAUSE_AFTER
            send(aurora, stream, clock)

            paused = fresh(aurora, stream)
            assert paused.paused_reason == "Nothing was taken for 3 days. 127.0.0.1 answered 503."
            clock.pass_(days=1)
            assert send(aurora, stream, clock) == 0
            with aurora.scope():
                assert AuditEvent.objects.latest("pk").verb == "audit_stream.paused"

            with an_act(), aurora.scope():
                audit_log.change_stream(actor=aurora.actor("olivia"), stream_id=stream.pk, enabled=True, now=clock.now)
            send(aurora, stream, clock)
            assert receiver.entries()[0]["seq"] == 1

    def test_stops_at_once_where_the_receiver_is_gone(self, aurora, clock, tmp_path):
        with receiving(tmp_path, 410) as receiver:
            stream, _ = stream_and_secret(aurora, url=receiver.url, from_start=True)
            act(aurora)
            clock.pass_(seconds=1)
            send(aurora, stream, clock)

        assert fresh(aurora, stream).paused_reason.startswith("It wants no more (410).")

    def test_is_not_sent_into_our_own_network(self, aurora, clock, settings):
        stream, _ = stream_and_secret(aurora, url="http://127.0.0.1:9/in", from_start=True)
        settings.STEELYARD = {**settings.STEELYARD, "OUTGOING_NETWORKS": ()}
        act(aurora)
        clock.pass_(seconds=1)

        send(aurora, stream, clock)

        assert "https" in fresh(aurora, stream).last_error

    def test_a_worker_that_died_on_the_way_leaves_the_batch_to_the_next(self, aurora, clock, tmp_path):
        with receiving(tmp_path) as receiver:
            stream, _ = stream_and_secret(aurora, url=receiver.url, from_start=True)
            act(aurora)
            clock.pass_(seconds=1)
            lost = claim(organization_id=aurora.organization.pk, stream_id=stream.pk, now=clock.now)
            assert lost is not None
            call(lost, now=clock.now)

            assert send(aurora, stream, clock) == 0  # the lease holds
            clock.now += LEASE
            send(aurora, stream, clock)

            ids = [got["headers"]["webhook-id"] for got in receiver.got()]
            assert ids == [lost.id, lost.id]
            assert not apply(lost, Outcome(), now=clock.now)


class TestSecret:
    def test_after_a_change_both_sign_for_a_day(self, aurora, clock, tmp_path):
        with receiving(tmp_path) as receiver:
            stream, old = stream_and_secret(aurora, url=receiver.url, from_start=True)
            with an_act(), aurora.scope():
                _, new = audit_log.rotate_secret(actor=aurora.actor("olivia"), stream_id=stream.pk, now=clock.now)
            act(aurora)
            clock.pass_(seconds=1)
            send(aurora, stream, clock)
            clock.pass_(days=1)
            act(aurora)
            send(aurora, stream, clock)

            first, *_, last = receiver.got()
            assert (fits(old, first), fits(new, first)) == (True, True)
            assert (fits(old, last), fits(new, last)) == (False, True)

    def test_is_nowhere_in_the_database(self, aurora):
        stream, secret = stream_and_secret(aurora)

        kept = fresh(aurora, stream)
        with aurora.scope():
            events = [json.dumps([event.before, event.after]) for event in AuditEvent.objects.all()]
        assert secret not in kept.secret
        assert not any("whsec_" in event for event in events)


def test_what_a_stream_has_not_delivered_is_not_cut_away(aurora, clock):
    stream, _ = stream_and_secret(aurora, from_start=True)
    act(aurora)
    with an_act(), aurora.scope():
        audit_log.keep_for(actor=aurora.actor("olivia"), days=30, now=clock.now)
    later = clock.now + timedelta(days=60)

    assert cut(aurora.organization.pk, now=later) == 0
    with an_act(), aurora.scope():
        audit_log.remove_stream(actor=aurora.actor("olivia"), stream_id=stream.pk, now=clock.now)
    assert cut(aurora.organization.pk, now=later) > 0

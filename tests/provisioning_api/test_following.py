"""`follow=true`: a log and a timeline lead to their streams, for whoever may look."""

from __future__ import annotations

import re

import pytest

from provisioning.models import EntryCode
from tests import house
from tests.api.ask import UNKNOWN, is_problem, send
from tests.provisioning_api.asking import WORKLOADS, address, events

STREAMS = ["logs", "events"]


@pytest.mark.parametrize("stream", STREAMS)
class TestFollow:
    @pytest.mark.parametrize("person", ["alice", "bob", "victor", "olivia"])
    def test_leads_to_the_stream_once(self, aurora, running, stream, person):
        answer = house.api_for(aurora, person).get(address(running, stream) + "?follow=true")

        assert answer.status_code == 307, answer.content
        place = rf"https?://{running.label}\.[^/]+/_steelyard/{stream}\?code=[\w-]{{43}}"
        assert re.fullmatch(place, answer.headers["Location"])
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert set(answer.json()) == {"expires_at"}
        [event] = events(aurora, verb="workload.followed")
        assert (event.outcome, event.after) == ("done", {"stream": stream})
        assert (event.object_id, event.actor_id) == (str(running.pk), aurora.people[person].pk)

    def test_writes_nothing_without_it(self, aurora, alice, running, stream):
        before = len(events(aurora))

        assert alice.get(address(running, stream) + "?follow=false").status_code == 200

        assert len(events(aurora)) == before

    def test_a_waiting_one_is_followed_too(self, alice, queued, stream):
        assert alice.get(address(queued, stream) + "?follow=true").status_code == 307

    def test_strangers_find_nothing(self, aurora, borealis, running, stream):
        answer = house.api_for(borealis, "boris").get(address(running, stream) + "?follow=true")

        is_problem(answer, 404, "not_found")
        with aurora.scope():
            assert not EntryCode.objects.exists()

    def test_nobodys_workload_is_404(self, alice, stream):
        is_problem(alice.get(f"{WORKLOADS}/{UNKNOWN}/{stream}?follow=true"), 404, "not_found")

    def test_without_a_credential_it_is_401(self, client, running, stream):
        assert client.get(address(running, stream) + "?follow=true").status_code == 401

    def test_nothing_but_true_or_false_is_meant(self, alice, running, stream):
        is_problem(alice.get(address(running, stream) + "?follow=maybe"), 400, "invalid")

    def test_every_question_makes_a_new_code(self, alice, running, stream):
        first, second = (send(alice, "get", address(running, stream) + "?follow=true") for _ in range(2))

        assert first.headers["Location"] != second.headers["Location"]


def test_the_tail_goes_with_a_log(aurora, alice, running):
    alice.get(address(running, "logs") + "?follow=true&tail=5")

    with aurora.scope():
        assert EntryCode.objects.get().tail == 5


def test_a_stream_of_events_is_paged_by_nobody(alice, running):
    assert alice.get(address(running, "events") + "?follow=true&limit=3").status_code == 307

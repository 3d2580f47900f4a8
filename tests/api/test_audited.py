"""C123: each mutating route writes exactly one event for what was done, for what failed and for what was denied."""

from __future__ import annotations

from functools import wraps

import pytest
from django.test import Client

from core.masking import masked
from core.models import AuditEvent
from tests import house
from tests.api.ask import UNKNOWN, send
from tests.api.routes import ApiRoute, mutating
from tests.api.scenarios import SCENARIOS

pytestmark = pytest.mark.django_db
known = [route for route in mutating() if str(route) in SCENARIOS]


def events_after(tenant, ask):
    with tenant.scope():
        before = set(AuditEvent.objects.values_list("pk", flat=True))
    response = ask()
    with tenant.scope():
        return response, list(AuditEvent.objects.exclude(pk__in=before))


def test_every_mutating_route_has_a_scenario():
    assert [str(route) for route in mutating() if str(route) not in SCENARIOS] == []


@pytest.mark.parametrize("route", known, ids=str)
class TestEveryMutatingRoute:
    def test_writes_one_event_when_the_act_is_done(self, aurora, route: ApiRoute):
        act = SCENARIOS[str(route)](aurora)
        client = house.api_for(aurora, act.person)

        response, events = events_after(aurora, lambda: send(client, route.method, route.address(**act.ids), act.body))

        assert response.status_code == route.contract.status, response.content
        [event] = events
        assert (event.verb, event.outcome) == (route.route.verb, "done")
        assert (event.actor_kind, event.actor_id) == ("user", aurora.people[act.person].pk)
        assert event.token_id is not None
        assert (event.source_kind, event.source_address) == ("api", "127.0.0.1")
        assert event.request_id == response.headers["X-Request-Id"]
        assert event.object_kind
        assert event.object_id
        for fields in (event.before, event.after):
            assert fields is None or fields == masked(fields)

    def test_writes_one_event_when_the_act_fails_at_its_end(self, aurora, route: ApiRoute, monkeypatch):
        act = SCENARIOS[str(route)](aurora)
        client = house.api_for(aurora, act.person)
        done = route.handler

        @wraps(done)
        def fails(*args, **kwargs):
            done(*args, **kwargs)
            raise ZeroDivisionError

        monkeypatch.setattr(route.view, route.method, fails)

        response, events = events_after(aurora, lambda: send(client, route.method, route.address(**act.ids), act.body))

        assert response.status_code == 500
        [event] = events
        assert (event.verb, event.outcome) == (route.route.verb, "failed")
        assert event.reason["code"] == "crashed"
        assert event.actor_id == aurora.people[act.person].pk

    def test_writes_one_event_when_a_stranger_is_denied(self, aurora, borealis, route: ApiRoute):
        if not route.parameters:
            pytest.skip("names no object")
        act = SCENARIOS[str(route)](aurora)
        client = house.api_for(borealis, "boris")

        response, events = events_after(
            borealis, lambda: send(client, route.method, route.address(**act.ids), act.body)
        )

        assert response.status_code == 404, response.content
        [event] = events
        assert (event.verb, event.outcome) == (route.route.verb, "denied")
        assert event.actor_id == borealis.people["boris"].pk
        assert event.object_id in {str(value) for value in act.ids.values()}

    def test_writes_one_event_when_nothing_is_there(self, aurora, route: ApiRoute):
        if not route.parameters:
            pytest.skip("names no object")
        act = SCENARIOS[str(route)](aurora)
        client = house.api_for(aurora, act.person)
        ids = dict.fromkeys(route.parameters, UNKNOWN)

        response, events = events_after(aurora, lambda: send(client, route.method, route.address(**ids), act.body))

        assert response.status_code == 404, response.content
        assert [(event.outcome, event.object_id) for event in events] == [("denied", UNKNOWN)]

    def test_writes_none_when_the_caller_is_unknown(self, aurora, route: ApiRoute):
        act = SCENARIOS[str(route)](aurora)

        response, events = events_after(
            aurora, lambda: send(Client(), route.method, route.address(**act.ids), act.body)
        )

        assert response.status_code == 401
        assert events == []

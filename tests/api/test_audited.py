"""C123: each mutating route writes exactly one event for what was done, for what failed and for what was denied."""

from __future__ import annotations

from functools import wraps

import pytest
from django.test import Client

from core import scope
from core.masking import masked
from core.models import AuditEvent
from core.types import PLATFORM_ORGANIZATION_ID
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
def test_every_route_writes_one_event_for_what_was_done_denied_and_failed(
    aurora, borealis, route: ApiRoute, monkeypatch
):
    """One scene for all of them: what comes first leaves nothing behind."""
    act = SCENARIOS[str(route)](aurora)
    client = house.api_for(aurora, act.person)

    an_unknown_caller_writes_none(aurora, route, act)
    if route.parameters:
        a_stranger_writes_one_in_their_own_chain(borealis, route, act)
        what_is_not_there_is_denied_once(aurora, route, act, client)
    if route.route.scoped:  # else what it has done in a scope of its own is done
        with monkeypatch.context() as patch:
            a_failure_at_the_end_is_one_failure(aurora, route, act, client, patch)
    the_act_is_done_once(aurora, route, act, client)


def the_act_is_done_once(aurora, route: ApiRoute, act, client):
    response, events = events_after(aurora, lambda: send(client, route.method, route.address(**act.ids), act.body))

    assert response.status_code == route.contract.status, response.content
    [event] = in_the_platforms_chain(response) if act.platform else events
    assert (event.verb, event.outcome) == (route.route.verb, "done")
    assert (event.actor_kind, event.actor_id) == ("user", aurora.people[act.person].pk)
    assert event.token_id is not None
    assert (event.source_kind, event.source_address) == ("api", "127.0.0.1")
    assert event.request_id == response.headers["X-Request-Id"]
    assert event.object_kind
    assert event.object_id
    for fields in (event.before, event.after):
        assert fields is None or fields == masked(fields)


def in_the_platforms_chain(response) -> list[AuditEvent]:
    with scope.of_platform():
        found = AuditEvent.objects.filter(organization_id=PLATFORM_ORGANIZATION_ID)
        return list(found.filter(request_id=response.headers["X-Request-Id"]))


def a_failure_at_the_end_is_one_failure(aurora, route: ApiRoute, act, client, patch):
    done = route.handler

    @wraps(done)
    def fails(*args, **kwargs):
        done(*args, **kwargs)
        raise ZeroDivisionError

    patch.setattr(route.view, route.method, fails)
    response, events = events_after(aurora, lambda: send(client, route.method, route.address(**act.ids), act.body))

    assert response.status_code == 500
    [event] = events
    assert (event.verb, event.outcome) == (route.route.verb, "failed")
    assert event.reason["code"] == "crashed"
    assert event.actor_id == aurora.people[act.person].pk


def a_stranger_writes_one_in_their_own_chain(borealis, route: ApiRoute, act):
    client = house.api_for(borealis, "boris")

    response, events = events_after(borealis, lambda: send(client, route.method, route.address(**act.ids), act.body))

    assert response.status_code == 404, response.content
    [event] = events
    assert (event.verb, event.outcome) == (route.route.verb, "denied")
    assert event.actor_id == borealis.people["boris"].pk
    assert event.object_id in {str(value) for value in act.ids.values()}


def what_is_not_there_is_denied_once(aurora, route: ApiRoute, act, client):
    ids = dict.fromkeys(route.parameters, UNKNOWN)

    response, events = events_after(aurora, lambda: send(client, route.method, route.address(**ids), act.body))

    assert response.status_code == 404, response.content
    assert [(event.outcome, event.object_id) for event in events] == [("denied", UNKNOWN)]


def an_unknown_caller_writes_none(aurora, route: ApiRoute, act):
    response, events = events_after(aurora, lambda: send(Client(), route.method, route.address(**act.ids), act.body))

    assert response.status_code == 401
    assert events == []

"""C123 for pages and sign-ins: each act, denial and failure writes exactly one event. The API has tests of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import get_resolver

from core import scope
from core.models import AuditEvent
from core.routes import ANONYMOUS
from core.types import PLATFORM_ORGANIZATION_ID
from portal.isolation.routes import Address, patterns
from tenants.models import Project, Quota
from tenants.services import quotas
from tests import house
from tests.api.ask import UNKNOWN, send
from tests.cases.pages import SCENARIOS
from tests.cases.pages.acts import Act, Stage
from tests.house import Tenant
from tests.isolation.walk import addresses
from tests.oidc import running_name_server
from tests.provisioning import stage

T = TypeVar("T")
PAGES = [one for one in addresses() if one.method == "post" and not one.is_api]


@pytest.fixture(scope="module")
def named():
    """The records of a name server, and its address."""
    records: dict[str, str] = {}
    with running_name_server(records) as address:
        yield records, address


@pytest.fixture
def found(aurora, named, settings):
    stage.open_shop()
    clock = stage.Clock()
    settings.STEELYARD = {**settings.STEELYARD, "DNS_SERVERS": (named[1],)}
    return Stage(aurora, clock, stage.Machine(clock), named[0])


def events_of(organization_id) -> list[AuditEvent]:
    with scope.of_organization(organization_id):
        return list(AuditEvent.objects.all())


def during(tenant: Tenant, act: Callable[[], T]) -> tuple[T, list[AuditEvent]]:
    known = {event.pk for event in events_of(tenant.organization.pk)}
    answer = act()
    return answer, [event for event in events_of(tenant.organization.pk) if event.pk not in known]


def in_every_chain(*, of: str) -> list[AuditEvent]:
    """The events of one request, wherever they went."""
    with scope.of_platform():
        return list(AuditEvent.objects.filter(request_id=of))


def post(client: Client, one: Address, act: Act, ids: dict[str, object] | None = None):
    if act.session:
        session = client.session
        session.update(act.session)
        session.save()
    return client.post(one.of(ids if ids is not None else act.ids), act.form)


def test_every_page_that_changes_something_has_a_scenario():
    assert {one.path for one in PAGES} == set(SCENARIOS)


@pytest.mark.django_db
@pytest.mark.parametrize("one", PAGES, ids=lambda one: one.path)
def test_every_page_writes_one_event_for_what_was_done_denied_and_failed(found, borealis, one, monkeypatch):
    """One scene for all of them: what comes first leaves nothing behind."""
    act = SCENARIOS[one.path](found)

    a_visitor_writes_none(found, one, act)
    if one.parameters:
        a_stranger_writes_one_in_their_own_chain(found, borealis, one, act)
        what_is_not_there_is_denied_once(found, one, act)
    if one.route.scoped:  # else what it has done in a scope of its own is done
        with monkeypatch.context() as patch:
            a_crash_is_one_failure(found, one, act, patch)
    the_act_is_done_once(found, one, act)


def its_browser(found, act) -> Client:
    """A new one for each attempt: what one does to its session is no matter of the next."""
    return house.client_for(found.tenant, act.person)


def the_act_is_done_once(found, one, act):
    response, events = during(found.tenant, lambda: post(its_browser(found, act), one, act))

    assert response.status_code in (200, 302), response.content
    [event] = in_every_chain(of=response.headers["X-Request-Id"]) if act.founds else events
    assert (event.verb, event.outcome) == (one.route.verb, "done")
    assert (event.actor_kind, event.actor_id) == ("user", found.tenant.people[act.person].pk)
    assert (event.source_kind, event.source_address) == ("portal", "127.0.0.1")
    assert event.request_id == response.headers["X-Request-Id"]
    assert event.on_behalf_of == act.behalf
    assert event.object_kind
    assert event.object_id
    if act.changes:
        assert event.after
        assert event.before != event.after


def a_crash_is_one_failure(found, one, act, patch):
    entry = next(entry for path, entry in patterns(get_resolver()) if f"/{path}" == one.path)
    view = entry.callback

    @wraps(view)
    def crashes(*arguments, **words):
        view(*arguments, **words)
        raise ZeroDivisionError

    patch.setattr(entry, "callback", crashes)
    response, events = during(found.tenant, lambda: post(its_browser(found, act), one, act))

    assert response.status_code == 500
    [event] = events
    assert event.reason
    assert (event.verb, event.outcome, event.reason["code"]) == (one.route.verb, "failed", "crashed")
    assert event.actor_id == found.tenant.people[act.person].pk


def a_visitor_writes_none(found, one, act):
    response, events = during(found.tenant, lambda: Client().post(one.of(act.ids), act.form))

    assert events == []
    assert response.status_code == 302 or one.route.permission == ANONYMOUS


def a_stranger_writes_one_in_their_own_chain(found, borealis, one, act):
    client = house.client_for(borealis, "boris")
    before = len(events_of(found.tenant.organization.pk))

    response, events = during(borealis, lambda: post(client, one, act))

    assert response.status_code == 404
    [event] = events
    assert (event.verb, event.outcome) == (one.route.verb, "denied")
    assert event.object_id in {str(value) for value in act.ids.values()}
    assert event.actor_id == borealis.people["boris"].pk
    assert len(events_of(found.tenant.organization.pk)) == before


def what_is_not_there_is_denied_once(found, one, act):
    nowhere: dict[str, object] = dict.fromkeys(one.parameters, UNKNOWN)

    response, events = during(found.tenant, lambda: post(its_browser(found, act), one, act, nowhere))

    assert response.status_code == 404
    assert [(event.outcome, event.object_id) for event in events] == [("denied", UNKNOWN)]


@pytest.mark.django_db
class TestNoEvent:
    """What is malformed, stale, throttled or repeated is counted, not chained."""

    def test_for_what_is_malformed(self, found):
        alice, pages = house.api_for(found.tenant, "alice"), house.client_for(found.tenant, "alice")

        def act():
            return [
                send(alice, "post", "/api/v1/tokens", {"name": 7}).status_code,
                alice.post("/api/v1/tokens", "{", content_type="application/json").status_code,
                pages.post("/tokens", {"name": ""}).status_code,
                pages.post("/launch", {"project": "vision"}).status_code,
            ]

        assert during(found.tenant, act) == ([400, 400, 400, 400], [])

    def test_for_what_is_stale(self, found):
        olivia, act = house.api_for(found.tenant, "olivia"), SCENARIOS["/quotas/<uuid:quota_id>/limit"](found)
        path = f"/api/v1/quotas/{act.ids['quota_id']}"

        response, events = during(found.tenant, lambda: send(olivia, "put", path, {"limit": 1}, If_Match='"999"'))

        assert (response.status_code, events) == (412, [])

    def test_for_what_is_throttled(self, found, settings):
        cache.clear()
        settings.API_RATE_LIMIT_PER_MINUTE = 1
        alice = house.api_for(found.tenant, "alice")
        alice.get("/api/v1/me")

        response, events = during(found.tenant, lambda: send(alice, "post", "/api/v1/tokens", {"name": "ci"}))

        assert (response.status_code, events) == (429, [])

    def test_for_what_is_repeated(self, found):
        alice = house.api_for(found.tenant, "alice")
        send(alice, "post", "/api/v1/tokens", {"name": "ci"}, Idempotency_Key="one")

        response, events = during(
            found.tenant, lambda: send(alice, "post", "/api/v1/tokens", {"name": "ci"}, Idempotency_Key="one")
        )

        assert (response.status_code, events) == (201, [])


@pytest.mark.django_db(transaction=True)
class TestCommits:
    def test_an_act_whose_commit_is_refused_leaves_one_event_and_nothing_else(self, aurora, monkeypatch):
        """The database looks at the end of the transaction, after the view has answered."""
        with aurora.scope():
            quota = Quota.objects.earliest("pk")
        olivia = house.client_for(aurora, "olivia")
        real = quotas.set_limit

        def also_renames(**words):
            changed = real(**words)
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('steelyard.act', '', true)")
            Project.objects.update(name="Unaudited")
            return changed

        monkeypatch.setattr(quotas, "set_limit", also_renames)

        response, events = during(aurora, lambda: olivia.post(f"/quotas/{quota.pk}/limit", {"limit": "11"}))

        assert response.status_code == 500
        assert [(event.verb, event.outcome) for event in events] == [("quota.limit_set", "failed")]
        with aurora.scope():
            assert not Project.objects.filter(name="Unaudited").exists()
            assert Quota.objects.get(pk=quota.pk).limit == quota.limit


@pytest.mark.django_db
class TestSigning:
    @pytest.fixture(autouse=True)
    def unthrottled(self):
        cache.clear()

    def sign_in(self, email, password):
        client = Client()
        return client, client.post("/accounts/login/", {"login": email, "password": password})

    def test_in_and_out_is_one_event_each_in_the_persons_organisation(self, aurora):
        (client, response), entered = during(aurora, lambda: self.sign_in("alice@aurora.example", house.PASSWORD))
        _, left = during(aurora, lambda: client.post("/accounts/logout/"))

        assert response.status_code == 302
        for events, verb in ((entered, "person.signed_in"), (left, "person.signed_out")):
            [event] = events
            assert (event.verb, event.outcome, event.actor_id) == (verb, "done", aurora.people["alice"].pk)
            assert event.object_id == str(aurora.people["alice"].pk)
            assert (event.source_kind, event.source_address) == ("portal", "127.0.0.1")

    def test_a_wrong_password_is_denied_in_the_organisation_of_whom_it_was_tried_for(self, aurora):
        _, events = during(aurora, lambda: self.sign_in("alice@aurora.example", "wrong"))

        [event] = events
        assert (event.verb, event.outcome, event.actor_kind) == ("person.signed_in", "denied", "anonymous")
        assert event.reason
        assert (event.object_id, event.reason["code"]) == (str(aurora.people["alice"].pk), "wrong_credentials")

    def test_an_unknown_address_is_denied_in_the_platforms_chain_and_not_kept(self, aurora):
        before = len(events_of(PLATFORM_ORGANIZATION_ID))

        _, events = during(aurora, lambda: self.sign_in("my-password-123@typo.example", "wrong"))

        assert events == []
        [event] = events_of(PLATFORM_ORGANIZATION_ID)[before:]
        assert (event.outcome, event.object_id) == ("denied", "unknown")
        assert "my-password" not in repr(vars(event))

    def test_what_is_throttled_is_not_chained(self, aurora):
        """The throttle counts within spans of the clock: a new one may begin on the way, but not twice."""
        tries = (during(aurora, lambda: self.sign_in("alice@aurora.example", "wrong"))[1] for _ in range(12))

        assert any(events == [] for events in tries)

    def test_a_person_without_an_organisation_signs_in_to_the_platforms_chain(self, db):
        person = get_user_model().objects.create_user("nobody@nowhere.example", house.PASSWORD)

        self.sign_in(person.email, house.PASSWORD)

        assert [event.verb for event in events_of(PLATFORM_ORGANIZATION_ID) if event.actor_id == person.pk] == [
            "person.signed_in"
        ]

    def test_a_new_password_and_the_end_of_other_sessions_are_one_event_each(self, aurora):
        one, _ = self.sign_in("alice@aurora.example", house.PASSWORD)
        self.sign_in("alice@aurora.example", house.PASSWORD)

        _, ended = during(aurora, lambda: one.post("/accounts/sessions/"))
        new = "a longer and better pass phrase"
        _, changed = during(
            aurora,
            lambda: one.post(
                "/accounts/password/change/", {"oldpassword": house.PASSWORD, "password1": new, "password2": new}
            ),
        )

        assert [event.verb for event in ended] == ["person.sessions_ended"]
        assert [event.verb for event in changed] == ["person.password_changed"]

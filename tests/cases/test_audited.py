"""C123 for pages and sign-ins: each act, denial and failure writes exactly one event. The API has tests of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import wraps
from typing import TypeVar
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from core import scope
from core.models import AuditEvent
from core.routes import ANONYMOUS
from core.types import PLATFORM_ORGANIZATION_ID
from portal.identity import SESSION_IMPERSONATION
from provisioning.models import Workload
from provisioning.services import wishes
from tenants.enums import PlatformRole
from tenants.models import AccessToken, Membership, Project, Quota
from tenants.services import arrivals, email_domains, impersonations, memberships, quotas, sign_in, standing
from tenants.services.sign_in import MappingDraft, ProviderDraft
from tests import governed, house, places
from tests.api.ask import UNKNOWN, send
from tests.architecture.test_routes import patterns
from tests.house import Tenant
from tests.isolation.walk import Address, addresses
from tests.oidc import running_name_server
from tests.proof import ADDRESS, saved_view, stream
from tests.provisioning import stage

T = TypeVar("T")
PAGES = [one for one in addresses() if one.method == "post" and not one.is_api]


@dataclass(frozen=True)
class Act:
    """What a person sends to a page, and the object that the event must name."""

    person: str
    ids: dict[str, object] = field(default_factory=dict)
    form: dict[str, object] = field(default_factory=dict)
    changes: bool = False
    session: dict[str, object] = field(default_factory=dict)
    behalf: UUID | None = None
    founds: bool = False


@dataclass
class Stage:
    tenant: Tenant
    clock: stage.Clock
    machine: stage.Machine
    records: dict[str, str] = field(default_factory=dict)

    def running(self):
        workload = stage.launch(self.tenant, shape="cpu-4", now=self.clock.now)
        return stage.settle(self.tenant, workload, self.machine, self.clock, seconds=3)

    def hanging(self):
        workload = self.running()
        stage.wish(self.tenant, "alice", wishes.delete, workload, self.clock.now)
        return workload

    def stopped(self):
        workload = self.running()
        stage.wish(self.tenant, "alice", wishes.stop, workload, self.clock.now)
        return stage.settle(self.tenant, workload, self.machine, self.clock, seconds=3)


def _launch(_: Stage) -> Act:
    form = {"project": "vision", "image": "jupyterlab", "name": "mine", "disk_gib": 1, "kind": "workspace"}
    return Act("alice", form={**form, "shape": "cpu-4"}, changes=True)


def _wish(on: Callable[[Stage], Workload], *, changes: bool = True) -> Callable[[Stage], Act]:
    return lambda found: Act("alice", {"workload_id": on(found).pk}, changes=changes)


def _limit(found: Stage) -> Act:
    with found.tenant.scope():
        return Act("olivia", {"quota_id": Quota.objects.earliest("pk").pk}, {"limit": "11"}, changes=True)


def _ask_for_quota(found: Stage) -> Act:
    with found.tenant.scope():
        quotas_of = Quota.objects.filter(project=found.tenant.projects["vision"])
        ids: dict[str, object] = {"quota_id": quotas_of.earliest("pk").pk}
    return Act("alice", ids, {"limit": "99", "justification": "The benchmark of the new encoder."}, changes=True)


def _define_quota(found: Stage) -> Act:
    place = f"user:{found.tenant.people['alice'].pk}"
    return Act("olivia", form={"place": place, "resource": "vcpus", "limit": "8"}, changes=True)


def _revoke(found: Stage) -> Act:
    house.token_for(found.tenant, "alice")
    with found.tenant.scope():
        return Act("alice", {"token_id": AccessToken.objects.latest("pk").pk})


def _decide(found: Stage) -> Act:
    return Act("olivia", {"approval_id": governed.asked(found.tenant).pk}, {"comment": "Go on."}, changes=True)


def _withdraw(found: Stage) -> Act:
    return Act("alice", {"approval_id": governed.asked(found.tenant).pk}, changes=True)


def _act_for(found: Stage) -> Act:
    house.platform_person(found.tenant, "paula", PlatformRole.OPERATOR)
    ids = {"slug": "aurora", "person_id": found.tenant.people["alice"].pk}
    return Act("paula", ids, {"reason": "She asked us to look at her form.", "minutes": "5"})


def _governor(found: Stage) -> str:
    house.platform_person(found.tenant, "pilar", PlatformRole.ADMIN)
    return "pilar"


_CYGNUS: dict[str, object] = {"name": "Cygnus", "slug": "cygnus", "currency": "EUR", "time_zone": "Europe/Oslo"}


def _invite_owner(found: Stage) -> Act:
    """While the organisation has none."""
    with found.tenant.scope():
        owner = Membership.objects.get(role="owner")
        with house.an_act():
            memberships.revoke(actor=house.SYSTEM, membership=owner, now=timezone.now())
    return Act(_governor(found), {"slug": "aurora"}, {"email": "olga@aurora.example"}, changes=True)


def _suspend(found: Stage) -> Act:
    return Act(_governor(found), {"slug": "aurora"}, {"reason": "Unpaid since May."}, changes=True)


def _restore(found: Stage) -> Act:
    with house.an_act(), found.tenant.scope():
        standing.suspend(
            actor=house.SYSTEM, organization=found.tenant.organization, reason="Unpaid.", now=timezone.now()
        )
    return Act(_governor(found), {"slug": "aurora"}, changes=True)


def _set_quota(found: Stage) -> Act:
    with house.an_act(), found.tenant.scope():
        place = found.tenant.organization
        quotas.define_one(actor=house.SYSTEM, place=place, resource="vcpus", terms=quotas.Terms(64), now=timezone.now())
    return Act(_governor(found), {"slug": "aurora"}, {"resource": "vcpus", "limit": "32"}, changes=True)


def _decide_for_the_platform(found: Stage) -> Act:
    approval = governed.asked(found.tenant, decider="platform")
    return Act(_governor(found), {"slug": "aurora", "approval_id": approval.pk}, changes=True)


def _platform_rule(found: Stage, **form: object) -> Act:
    with house.an_act(), scope.of_platform():
        policy = governed.platform_rule()
    return Act(_governor(found), {"policy_id": policy.pk}, form, changes=True, founds=True)


def _end_acting(found: Stage) -> Act:
    house.platform_person(found.tenant, "paula", PlatformRole.OPERATOR)
    alice = found.tenant.people["alice"]
    with house.an_act(), found.tenant.scope():
        begun = impersonations.begin(
            actor=found.tenant.actor("paula"),
            person_id=alice.pk,
            reason="She asked us to look at her form.",
            lasts=timedelta(minutes=5),
            now=timezone.now(),
        )
    session: dict[str, object] = {SESSION_IMPERSONATION: [str(begun.pk), str(found.tenant.organization.pk)]}
    return Act("paula", session=session, behalf=alice.pk)


def _facts(name: str = "Seeing", **more: object) -> dict[str, object]:
    return {"name": name, "environment": "prod", "data_class": "restricted", "cost_centre": "CC-2", "team": "", **more}


def _on_bob() -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"member_id": found.tenant.people["bob"].pk})


def _on_vision(form: dict[str, object] | None = None) -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"project_id": found.tenant.projects["vision"].pk}, form or {}, changes=True)


def _on_team(form: dict[str, object] | None = None, *, changes: bool = False) -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"team_id": places.team(found.tenant).pk}, form or {}, changes=changes)


def _give(found: Stage) -> Act:
    place = f"project:{found.tenant.projects['language'].pk}"
    return Act("olivia", {"member_id": found.tenant.people["bob"].pk}, {"place": place, "role": "viewer"}, changes=True)


def _invite(found: Stage) -> Act:
    place = f"project:{found.tenant.projects['language'].pk}"
    form: dict[str, object] = {"email": "nora@new.example", "place": place, "role": "viewer"}
    return Act("olivia", form=form, changes=True)


def _on_invitation(*, changes: bool) -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"invitation_id": places.invited(found.tenant)[0].pk}, changes=changes)


def _join(found: Stage) -> Act:
    aurora = found.tenant
    alice = aurora.people["alice"].email
    _, secret = places.invited(aurora, alice, role="auditor", place=aurora.organization)
    return Act("alice", form={"code": secret}, changes=True)


def _provider(found: Stage):
    """Aurora's identity provider, as its owner has saved it."""
    return ruled(found, sign_in.save_provider, draft=ProviderDraft("Aurora", "https://a.example", "c", "s", "g", True))


def ruled(found: Stage, call: Callable[..., T], **words: object) -> T:
    tenant = found.tenant
    with house.an_act(), tenant.scope():
        return call(actor=tenant.actor("olivia"), organization=tenant.organization, now=timezone.now(), **words)


def _save_provider(_: Stage) -> Act:
    form: dict[str, object] = {
        "name": "Aurora",
        "issuer": "https://a.example",
        "client_id": "c",
        "group_claim": "groups",
        "version": "0",
    }
    return Act("olivia", form=form, changes=True)


def _remove_provider(found: Stage) -> Act:
    _provider(found)
    return Act("olivia")


def _map_group(found: Stage) -> Act:
    _provider(found)
    return Act("olivia", form={"group": "leads", "role": "admin", "place": "here"}, changes=True)


def _unmap_group(found: Stage) -> Act:
    _provider(found)
    made = ruled(found, sign_in.map_group, mapping=MappingDraft("leads", "admin", found.tenant.organization))
    return Act("olivia", {"mapping_id": made.pk})


def _domain(found: Stage) -> Act:
    return Act("olivia", {"domain_id": ruled(found, email_domains.add, domain="aurora.example").pk})


def _check_domain(found: Stage) -> Act:
    row = ruled(found, email_domains.add, domain="aurora.example")
    found.records[email_domains.record_name(row.domain)] = email_domains.record_value(row)
    return Act("olivia", {"domain_id": row.pk}, changes=True)


def _link(found: Stage) -> Act:
    """Alice has come by the provider, and has signed in by her own means since."""
    provider, alice, now = _provider(found), found.tenant.people["alice"], time.time()
    claims = {"issuer": provider.issuer, "subject": "1", "email": alice.email, "email_verified": True, "name": ""}
    return Act(
        "alice",
        session={
            "sso_to_link": {
                "organization_id": str(found.tenant.organization.pk),
                "organization_name": "Aurora",
                "provider_id": str(provider.pk),
                "claims": {**claims, "groups": []},
                "at": now,
            },
            "account_authentication_methods": [{"method": "password", "at": now}],
            "account_authentication_methods_user": str(alice.pk),
        },
        changes=True,
    )


def _unlink(found: Stage) -> Act:
    tenant, provider = found.tenant, _provider(found)
    with house.an_act(), tenant.scope():
        arrivals.link(
            actor=tenant.actor("alice"),
            provider_id=provider.pk,
            claims=arrivals.claims_of(
                {
                    "issuer": provider.issuer,
                    "subject": "1",
                    "email": tenant.people["alice"].email,
                    "email_verified": True,
                    "name": "",
                    "groups": [],
                }
            ),
            now=timezone.now(),
        )
    return Act("alice")


def _take_back(found: Stage) -> Act:
    return Act("olivia", {"membership_id": places.membership_of(found.tenant, "bob").pk})


def _disable(found: Stage) -> Act:
    return Act("olivia", {"account_id": places.account(found.tenant).pk}, changes=True)


def _transfer(found: Stage) -> Act:
    heir = str(found.tenant.people["alice"].pk)
    form = {"to": heir, "then": "admin", "confirmed": "aurora", "password": house.PASSWORD}
    return Act("olivia", form=dict(form), changes=True)


_SETTINGS: dict[str, object] = {"name": "Aurora Labs", "time_zone": "Europe/Paris"}
_TEAM: dict[str, object] = {"name": "Seeing", "slug": "seeing"}
_CLOSE: dict[str, object] = {"confirmed": "aurora", "password": house.PASSWORD}

_SIGN_IN = "/organization/sign-in"


def _on_stream(form: dict[str, object], *, changes: bool = False) -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"stream_id": stream(found.tenant).pk}, form, changes=changes)


def _rule_form(**more: object) -> dict[str, object]:
    return {"kind": "accelerators", "title": "No accelerators", "models": [], **more}


def _ruled(**form: object) -> Callable[[Stage], Act]:
    return lambda found: Act("olivia", {"policy_id": governed.ruled(found.tenant).pk}, dict(form), changes=True)


SCENARIOS: dict[str, Callable[[Stage], Act]] = {
    "/policies/new": lambda _: Act("olivia", form=_rule_form(slug="no-gpus", mode="observe"), changes=True),
    "/policies/preview": lambda _: Act("olivia", form=_rule_form()),
    "/policies/<uuid:policy_id>": _ruled(title="Large", accelerators="2", mode="enforce"),
    "/policies/<uuid:policy_id>/retire": _ruled(),
    "/audit/views": lambda _: Act("olivia", form={"name": "Mine", "query": '{"q": "x"}'}, changes=True),
    "/audit/views/<uuid:view_id>/remove": lambda found: Act("olivia", {"view_id": saved_view(found.tenant).pk}),
    "/audit/streams/new": lambda _: Act("olivia", form={"name": "lake", "url": ADDRESS}, changes=True),
    "/audit/streams/<uuid:stream_id>/change": _on_stream({"name": "lake", "url": ADDRESS}, changes=True),
    "/audit/streams/<uuid:stream_id>/switch": _on_stream({}, changes=True),
    "/audit/streams/<uuid:stream_id>/rotate": _on_stream({}),
    "/audit/streams/<uuid:stream_id>/test": _on_stream({}),
    "/audit/streams/<uuid:stream_id>/remove": _on_stream({}),
    "/audit/keeping/set": lambda _: Act("olivia", form={"keep_days": "400"}, changes=True),
    "/join": _join,
    "/organization/settings/change": lambda _: Act("olivia", form=_SETTINGS, changes=True),
    "/organization/leave": lambda _: Act("victor"),
    "/organization/transfer": _transfer,
    "/organization/close": lambda _: Act("olivia", form=_CLOSE, changes=True),
    "/organization/members/<uuid:member_id>/give": _give,
    "/organization/members/<uuid:member_id>/remove": _on_bob(),
    "/organization/memberships/<uuid:membership_id>/take-back": _take_back,
    "/organization/invitations": _invite,
    "/organization/invitations/<uuid:invitation_id>/resend": _on_invitation(changes=True),
    "/organization/invitations/<uuid:invitation_id>/revoke": _on_invitation(changes=False),
    "/organization/teams/new": lambda _: Act("olivia", form=_TEAM, changes=True),
    "/organization/teams/<uuid:team_id>/rename": _on_team({"name": "Other"}, changes=True),
    "/organization/teams/<uuid:team_id>/delete": _on_team(),
    "/organization/projects/new": lambda _: Act("olivia", form=_facts(slug="robots"), changes=True),
    "/organization/projects/<uuid:project_id>/change": _on_vision(_facts()),
    "/organization/projects/<uuid:project_id>/close": _on_vision(),
    "/organization/service-accounts/new": lambda _: Act("olivia", form={"name": "nightly"}, changes=True),
    "/organization/service-accounts/<uuid:account_id>/disable": _disable,
    "/approvals/<uuid:approval_id>/approve": _decide,
    "/approvals/<uuid:approval_id>/refuse": _decide,
    "/approvals/<uuid:approval_id>/withdraw": _withdraw,
    "/launch": _launch,
    "/tokens": lambda _: Act("alice", form={"name": "script", "expires": "30"}),
    "/tokens/<uuid:token_id>/revoke": _revoke,
    "/tokens/<uuid:token_id>/rotate": _revoke,
    "/organization/service-accounts/<uuid:account_id>/tokens": lambda found: Act(
        "olivia", {"account_id": places.account(found.tenant).pk}, {"name": "nightly", "expires": "30"}, changes=False
    ),
    "/quotas/<uuid:quota_id>/limit": _limit,
    "/quotas/<uuid:quota_id>/ask": _ask_for_quota,
    "/quotas/define": _define_quota,
    "/console/tenants/<slug:slug>/act-for/<uuid:person_id>": _act_for,
    "/acting/end": _end_acting,
    f"{_SIGN_IN}/second-factor": lambda _: Act("olivia", form={"required": "no"}),
    f"{_SIGN_IN}/provider": _save_provider,
    f"{_SIGN_IN}/provider/remove": _remove_provider,
    f"{_SIGN_IN}/groups": _map_group,
    f"{_SIGN_IN}/groups/<uuid:mapping_id>/remove": _unmap_group,
    f"{_SIGN_IN}/domains": lambda _: Act("olivia", form={"domain": "aurora.example"}, changes=True),
    f"{_SIGN_IN}/domains/<uuid:domain_id>/check": _check_domain,
    f"{_SIGN_IN}/domains/<uuid:domain_id>/remove": _domain,
    "/sign-in/link": _link,
    "/sign-in/unlink": _unlink,
    "/console/found": lambda found: Act(_governor(found), form=_CYGNUS, founds=True),
    "/console/tenants/<slug:slug>/owner": _invite_owner,
    "/console/tenants/<slug:slug>/suspend": _suspend,
    "/console/tenants/<slug:slug>/restore": _restore,
    "/console/tenants/<slug:slug>/quota": _set_quota,
    "/console/policies/new": lambda found: Act(
        _governor(found), form=_rule_form(slug="no-gpus", mode="observe"), changes=True, founds=True
    ),
    "/console/policies/preview": lambda found: Act(_governor(found), form=_rule_form(), founds=True),
    "/console/policies/<uuid:policy_id>": lambda found: _platform_rule(
        found, title="Here", confidential="here", mode="off"
    ),
    "/console/policies/<uuid:policy_id>/retire": _platform_rule,
    "/console/approvals/<slug:slug>/<uuid:approval_id>/approve": _decide_for_the_platform,
    "/console/approvals/<slug:slug>/<uuid:approval_id>/refuse": _decide_for_the_platform,
    "/switch/organization/<slug:slug>": lambda _: Act("alice", {"slug": "aurora"}),
    "/switch/project/<slug:slug>": lambda _: Act("alice", {"slug": "language"}),
    "/workspaces/<uuid:workload_id>/open": _wish(Stage.running, changes=False),
    "/workspaces/<uuid:workload_id>/stop": _wish(Stage.running),
    "/workspaces/<uuid:workload_id>/start": _wish(Stage.stopped),
    "/workspaces/<uuid:workload_id>/keep": _wish(Stage.running),
    "/workspaces/<uuid:workload_id>/delete": _wish(Stage.running),
    "/workspaces/<uuid:workload_id>/force-delete": lambda found: Act(
        "olivia", {"workload_id": found.hanging().pk}, changes=True
    ),
}


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
        olivia, act = house.api_for(found.tenant, "olivia"), _limit(found)
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

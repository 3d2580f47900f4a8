"""With every filter and permission check of Python gone, nobody sees or changes a foreign row: pages, API, tasks."""

from __future__ import annotations

from contextlib import suppress

import psycopg
import pytest
from django.apps import apps
from django.core.exceptions import MultipleObjectsReturned
from django.test import Client
from django.utils import timezone

from core import scope
from core.errors import ScopeRequired
from portal.celery import app as celery
from portal.isolation.routes import Address
from provisioning import tasks
from provisioning.services import entries
from tests import house
from tests.isolation import hostile, walk
from tests.isolation.hostile import Dropped
from tests.isolation.web_role import django_logged_in_as, owner_login
from tests.isolation.world import forget_denials, rows_of, words_of

CALLERS = [("olivia", "aurora", "borealis", False), ("charlie", "borealis", "aurora", True)]
VARIANTS = [*Dropped]


ENDS_THE_CALLER = {"organization.closed", "organization.transferred", "member.left"}
"""Acts on the caller's own standing: after them nothing more would be tried."""


ACROSS_ORGANIZATIONS = {"/account/erase"}
"""A person is in every organisation at once: what stands against the end of their account is asked in the platform's
scope, where the database keeps nobody apart. Left out below, since there the filter is all there is."""


def _inside() -> list[Address]:
    return [one for one in walk.addresses() if one.path not in ACROSS_ORGANIZATIONS]


def _writes() -> list[Address]:
    return [one for one in walk.writes() if one.route.verb not in ENDS_THE_CALLER]


@pytest.fixture(autouse=True)
def clean_chains(world):
    forget_denials()


def client(world, person, name, *, token):
    tenant = world.tenant(name)
    return house.api_for(tenant, person) if token else house.client_for(tenant, person)


def seen(world, asker: Client, foreign: str) -> dict[str, set[str]]:
    """Which answers give the foreign organisation away, and by what.

    What the caller asked with gives nothing, now or, where it was denied, in the caller's own audit log.
    """
    ids, words = world.ids[foreign], words_of(world.tenant(foreign))
    known = {str(value) for value in ids.values()}
    found = {}
    for one in (each for each in walk.reads() if each.path not in ACROSS_ORGANIZATIONS):
        for query in walk.queries(one, ids):
            response = walk.ask(asker, one, world.tenant(foreign), ids, query)
            pieces = getattr(response, "streaming_content", None) or [response.content]
            body = b"".join(pieces).decode(errors="replace") + str(dict(response.headers))
            asked = one.of(ids) + query
            telling = words - known if "audit" in one.path else words
            shown = {word for word in telling if word in body and word not in asked}
            if shown:
                found[f"{one}{query}"] = shown
    return found


@pytest.mark.parametrize("dropped", VARIANTS)
@pytest.mark.parametrize(("person", "own", "foreign", "token"), CALLERS, ids=["owner-session", "developer-token"])
class TestWeb:
    def test_shows_no_foreign_row(self, world, person, own, foreign, token, dropped):
        asker = client(world, person, own, token=token)

        with hostile.build(dropped):
            assert seen(world, asker, foreign) == {}


class TestTheBuildIsHostile:
    """Where the database does not help, the same build gives everything away: else the tests above prove nothing."""

    def test_without_row_level_security_foreign_rows_show(self, world, monkeypatch):
        monkeypatch.setattr(scope, "_set", lambda *_: None)
        with django_logged_in_as(owner_login()):
            asker = house.client_for(world.aurora, "olivia")
            with hostile.build(Dropped.TENANCY):
                found = seen(world, asker, "borealis")

        telling = {
            name for name in found if name in ("GET /workspaces", "GET /audit", "GET /disks", "GET /api/v1/workloads")
        }
        assert telling == {"GET /workspaces", "GET /audit", "GET /disks", "GET /api/v1/workloads"}, sorted(found)


class TestTasks:
    @pytest.mark.parametrize("dropped", VARIANTS)
    def test_a_task_of_one_organisation_leaves_anothers_workload_alone(self, world, dropped):
        before, world.machine.calls = rows_of(world.borealis), []

        with hostile.build(dropped), suppress(MultipleObjectsReturned):
            tasks.reconcile_workload(
                organization_id=str(world.aurora.organization.pk), workload_id=str(world.ids["borealis"]["workload_id"])
            )

        assert rows_of(world.borealis) == before

    def test_every_task_that_names_a_tenant_names_its_organisation(self):
        """By sight of the registry: a task is either a sweep without arguments or carries `organization_id`."""
        celery.loader.import_default_modules()
        ours = {str(name): task for name, task in celery.tasks.items() if not name.startswith("celery.")}
        named = {name for name, task in ours.items() if set(task.run.__annotations__) - {"_", "return"}}

        named -= {"provisioning.check_cluster", "provisioning.list_nodes"}  # they name a cluster, the platform's
        assert named == {
            "billing.approval_settled",
            "core.deliver_audit",
            "provisioning.approval_settled",
            "provisioning.quota_returned",
            "provisioning.reconcile_workload",
            "tenants.check_domain",
            "tenants.mail_invitation",
            "tenants.mail_letter",
        }
        for name in named:
            assert "organization_id" in ours[name].run.__annotations__

    def test_sweeps_run_under_the_web_role_and_mix_nothing_up(self, world):
        for task in (tasks.sweep_workloads, tasks.sweep_activity, tasks.sweep_strays, tasks.sweep_volumes):
            task()

        for tenant in (world.aurora, world.borealis):
            with tenant.scope():
                for model in apps.get_app_config("provisioning").get_models():
                    if hasattr(model, "organization_id"):
                        found = model._base_manager.values_list("organization_id", flat=True)
                        assert set(found) <= {tenant.organization.pk}


class TestWaysIn:
    """A code or a cookie is presented before anybody knows whose it is."""

    def test_a_cookie_of_one_workspace_opens_no_other(self, world):
        with world.borealis.scope():
            label = apps.get_model("provisioning.Workload")._base_manager.latest("pk").label

        with hostile.build(Dropped.TENANCY):
            found = entries.admit(
                label=label,
                cookie=str(world.ids["aurora"]["cookie"]),
                drivers=lambda _: world.machine,
                now=timezone.now(),
            )

        assert isinstance(found, entries.Denied)

    def test_a_pass_of_one_organisation_holds_in_no_other(self, world):
        with world.borealis.scope():
            entry = apps.get_model("provisioning.WorkspaceEntry")._base_manager.latest("pk").pk

        with hostile.build(Dropped.TENANCY):
            assert entries.recheck([f"{world.aurora.organization.pk}/{entry}"], timezone.now()) == set()


class TestContext:
    """Nothing that a request carries becomes the database's idea of who asks."""

    FORGED = (
        {"X-Steelyard-Organization": "{id}", "X-Organization": "{id}", "X-Tenant": "{id}", "Forwarded": "org={id}"},
        {"Cookie": "steelyard.organization={id}; organization_id={id}"},
        {"PGOPTIONS": "-c steelyard.organization={id}", "X-Forwarded-Host": "'; SET steelyard.organization='{id}"},
    )
    WORDS = (
        "?organization={id}",
        "?organization_id={id}",
        "?steelyard.organization={id}",
        "?actor=%27%29%3B+SELECT+set_config%28%27steelyard.organization%27%2C%27{id}%27%2Ctrue%29%3B--",
        "?project=%27%3B+SET+steelyard.organization%3D%27{id}",
    )

    @pytest.fixture
    def contexts(self, monkeypatch):
        """What the database is told, each time."""
        told, tell = [], scope._set

        def note(role, organization, user):
            told.append((role, organization))
            tell(role, organization, user)

        monkeypatch.setattr(scope, "_set", note)
        return told

    def test_no_route_lets_a_caller_choose_another(self, world, contexts):
        theirs = str(world.borealis.organization.pk)
        asker = house.client_for(world.aurora, "alice")
        session = asker.session
        session["organization_id"] = theirs
        session.save()
        contexts.clear()

        for one in _inside():
            walk.ask(asker, one, world.borealis, world.ids["borealis"])
        for path in ("/workspaces", "/audit", "/usage", "/launch", "/api/v1/workloads", "/api/v1/audit-events"):
            for headers in self.FORGED:
                asker.get(path, headers={name: value.format(id=theirs) for name, value in headers.items()})
            for words in self.WORDS:
                asker.get(path + words.format(id=theirs))
        asker.post(f"/switch/organization/{world.borealis.organization.slug}")
        asker.get("/workspaces")

        assert set(contexts) == {("steelyard_app", str(world.aurora.organization.pk))}

    def test_a_query_outside_a_scope_is_an_error_in_python_and_empty_in_sql(self, world, web):
        with pytest.raises(ScopeRequired):
            apps.get_model("provisioning.Workload").objects.count()
        assert web.execute("SELECT count(*) FROM provisioning_workload").fetchone() == (0,)
        assert isinstance(web, psycopg.Connection)


@pytest.mark.parametrize("dropped", VARIANTS)
@pytest.mark.parametrize(("person", "own", "foreign", "token"), CALLERS, ids=["owner-session", "developer-token"])
class TestChanges:
    """Last, since the callers change what is their own meanwhile."""

    def test_changes_no_foreign_row(self, world, person, own, foreign, token, dropped):
        before, ids = rows_of(world.tenant(foreign)), world.ids[foreign]
        asker = client(world, person, own, token=token)

        with hostile.build(dropped):
            answers = {str(one): walk.ask(asker, one, world.tenant(foreign), ids).status_code for one in _writes()}

        assert rows_of(world.tenant(foreign)) == before, answers
        assert answers

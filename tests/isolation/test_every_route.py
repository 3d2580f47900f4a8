"""Every route of the URL map, asked by everybody: what it declares holds, and strangers find nothing."""

from __future__ import annotations

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import path

from core.routes import ANONYMOUS, AUTHENTICATED, route
from portal.isolation.routes import PACKAGES, Address, patterns
from portal.middleware.door import FOREIGN_ROUTES
from portal.urls import handler404, handler500
from portal.urls import urlpatterns as portals
from tenants.enums import Permission, PlatformPermission
from tenants.roles import permissions_of
from tests import house
from tests.isolation import walk

ADDRESSES = [pytest.param(one, id=str(one)) for one in walk.addresses()]
ROLES = {"victor": "viewer", "alice": "developer", "olivia": "owner"}
OWNERS_ALONE = {
    "/tokens/<uuid:token_id>/revoke",
    "/tokens/<uuid:token_id>/rotate",
    "/api/v1/tokens/<uuid:token_id>/rotate",
    "/api/v1/tokens/<uuid:token_id>",
    "/workspaces/<uuid:workload_id>/open",
    "/api/v1/workloads/<uuid:workload_id>/open",
}
"""What belongs to one person: a token, and the inside of a workspace."""


@pytest.fixture(scope="module")
def callers(world):
    people = dict.fromkeys(ROLES, world.aurora) | {"boris": world.borealis}
    return {
        name: {True: house.api_for(tenant, name), False: house.client_for(tenant, name)}
        for name, tenant in people.items()
    } | {"anonymous": {True: Client(), False: Client()}}


@pytest.fixture
def ask(world, callers):
    """Ask about aurora's things. Whatever it does is undone, so that each route finds the world as it was built."""

    def answer(person: str, one: Address) -> HttpResponse:
        client = callers[person][one.is_api]
        cookies = client.cookies.copy()
        with transaction.atomic():
            response = walk.ask(client, one, world.aurora, _ids(world, one))
            transaction.set_rollback(True)
        client.cookies = cookies
        return response

    return answer


def _ids(world, one: Address) -> dict[str, object]:
    ids = world.ids["aurora"]
    return {**ids, "slug": ids["project_slug"]} if "switch/project" in one.path else ids


def may(person: str, one: Address) -> bool:
    permission = one.route.permission
    if permission == ANONYMOUS:
        return True
    if permission in PlatformPermission.values:
        return False
    if one.path in OWNERS_ALONE:
        return person == "alice"
    return permission == AUTHENTICATED or Permission(permission) in permissions_of(ROLES[person])


ASKS_FOR_ONES_OWN_ADDRESS = {"/api/v1/me", "/account/erase"}
"""The end of an account: let in, and told that the address typed is not one's own."""


def whole(response: HttpResponse) -> str:
    """What is told, also where it is told piece by piece."""
    pieces = getattr(response, "streaming_content", None) or [response.content]
    return b"".join(pieces).decode()


@pytest.mark.parametrize("one", ADDRESSES)
class TestEveryRoute:
    def test_of_a_visitor_asks_to_sign_in(self, ask, one):
        response = ask("anonymous", one)

        if one.route.permission == ANONYMOUS and one.path != "/":
            assert response.status_code in ({200} if one.route.scoped else {200, 302})
        elif one.is_api:
            assert response.status_code == 401
            assert response.headers["WWW-Authenticate"].startswith("Bearer")
        else:
            assert response.status_code == 302
            assert response.headers["Location"].startswith("/accounts/login/?next=")

    def test_of_a_stranger_is_not_there(self, ask, one):
        """An owner elsewhere; what strangers with less meet is asked by `tests/isolation/test_proof.py`."""
        response = ask("boris", one)

        if one.names_an_object:
            assert response.status_code == 404
            assert "permission" not in response.content.decode()
        assert "aurora-notes" not in whole(response)

    @pytest.mark.parametrize("person", ROLES)
    def test_of_a_member_is_as_declared(self, ask, one, person):
        status = ask(person, one).status_code

        if may(person, one):
            assert status < 400 or status == 409 or (status == 400 and one.path in ASKS_FOR_ONES_OWN_ADDRESS), status
        else:
            assert status in {403, 404}, status


def forgotten(request):
    raise AssertionError("reached")


@route(permission=Permission.VIEW_WORKLOAD, verb="thing.viewed")
def declared_view(request):
    return HttpResponse("here")


urlpatterns = [*portals, path("forgotten", forgotten), path("declared", declared_view)]
__all__ = ["handler404", "handler500"]


@pytest.mark.urls(__name__)
class TestTheDoor:
    def test_denies_a_page_that_declares_nothing(self, callers):
        for person in ("olivia", "anonymous"):
            assert callers[person][False].get("/forgotten").status_code == 404
        assert callers["olivia"][False].get("/declared").status_code == 200

    @pytest.mark.parametrize("where", ["/accounts/email/", "/accounts/confirm-email/", "/accounts/login/code/confirm/"])
    def test_denies_what_a_package_brings_and_nobody_listed(self, callers, where):
        assert callers["olivia"][False].get(where).status_code == 404

    def test_sends_a_part_of_a_page_to_the_sign_in_page_as_a_whole(self, callers):
        response = callers["anonymous"][False].get("/declared", headers={"HX-Request": "true"})

        assert response.headers["HX-Redirect"] == "/accounts/login/"
        assert b"here" not in response.content

    def test_sends_those_without_an_organisation_home(self, world):
        nobody = world.aurora.people["olivia"].__class__.objects.create_user("nobody@nowhere.example", house.PASSWORD)
        client = Client()
        client.force_login(nobody, backend="allauth.account.auth_backends.AuthenticationBackend")

        assert client.get("/workspaces").headers["Location"] == "/"
        assert client.get("/").status_code == 200


def test_the_routes_of_packages_are_a_listed_set():
    theirs = {entry.name for _, entry in patterns() if PACKAGES.match(entry.callback.__module__)}

    assert theirs - FOREIGN_ROUTES == {
        "account_email",
        "account_email_verification_sent",
        "account_confirm_email",
        "account_confirm_login_code",
        "account_request_reauthentication_code",
        "account_confirm_reauthentication_code",
        "mfa_download_recovery_codes",
    }
    assert theirs >= FOREIGN_ROUTES

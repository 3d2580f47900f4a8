"""A person who is erased leaves an id and nothing that names them; audit entries never held more."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from core import scope
from core.errors import Conflict, Forbidden, NotFound
from core.models import AuditEvent
from tenants.models import Membership, User
from tenants.services.erasure import erase_person
from tests import house
from tests.house import SYSTEM, an_act

pytestmark = pytest.mark.django_db


def erase(user_id, actor=SYSTEM):
    with an_act(), scope.of_platform():
        erase_person(actor=actor, user_id=user_id, now=timezone.now())


class TestErasure:
    def test_replaces_what_names_them_and_ends_all_they_hold(self, aurora):
        alice = aurora.people["alice"]
        browser = house.client_for(aurora, "alice")
        script = house.api_for(aurora, "alice")
        assert (browser.get("/").status_code, script.get("/api/v1/me").status_code) == (200, 200)

        erase(alice.pk)

        gone = User.objects.get(pk=alice.pk)
        assert (gone.full_name, gone.email) == ("Erased person", f"erased-{alice.pk}@erased.invalid")
        assert not gone.is_active
        assert not gone.has_usable_password()
        assert browser.get("/").status_code == 302
        assert script.get("/api/v1/me").status_code == 401
        with aurora.scope():
            assert not Membership.objects.filter(user=alice).exists()
        with scope.of_platform():
            event = AuditEvent.objects.get(verb="person.erased")
        assert event.object_id == str(alice.pk)
        assert event.after is not None
        assert (event.after["tokens"], event.after["roles"], event.after["sessions"]) == (1, 2, 1)

    def test_the_log_shows_the_placeholder_afterwards(self, aurora):
        house.api_for(aurora, "alice")
        erase(aurora.people["alice"].pk)

        text = house.client_for(aurora, "olivia").get("/audit").content.decode()

        assert "Erased person" in text
        assert "alice@aurora.example" not in text

    def test_of_a_last_owner_is_refused(self, aurora):
        with pytest.raises(Conflict, match="left without an owner"):
            erase(aurora.people["olivia"].pk)

    def test_is_the_platforms_alone(self, aurora):
        with pytest.raises(NotFound):
            erase(aurora.people["bob"].pk, aurora.actor("olivia"))
        User.objects.filter(pk=aurora.people["victor"].pk).update(platform_role="platform_auditor")
        aurora.people["victor"].refresh_from_db()
        with pytest.raises(Forbidden):
            erase(aurora.people["bob"].pk, aurora.actor("victor"))

    def test_by_command(self, aurora):
        out = StringIO()

        call_command("erase_person", str(aurora.people["bob"].pk), stdout=out)

        assert "is erased" in out.getvalue()
        with pytest.raises(CommandError, match="There is no person"):
            call_command("erase_person", str(aurora.organization.pk))


class TestPersonalData:
    def test_no_entry_holds_an_address_or_a_full_name(self, aurora, borealis):
        """People with names of their own do what people do, and are refused."""
        for index, person in enumerate(User.objects.all()):
            User.objects.filter(pk=person.pk).update(full_name=f"Zebediah{index} Quux")
        olivia, alice = house.client_for(aurora, "olivia"), house.client_for(aurora, "alice")
        Client().post("/accounts/login/", {"login": "alice@aurora.example", "password": "wrong"})
        alice.post("/tokens", {"name": "script", "expires": "30"})
        alice.get("/audit")
        olivia.post("/audit/views", {"name": "One", "query": '{"q": "Zebediah1 Quux bob@aurora.example"}'})
        olivia.get("/audit/export?format=csv&actor=bob@aurora.example")
        olivia.post("/organization/invitations", {"email": "nora@new.example", "place": "", "role": "viewer"})
        house.api_for(borealis, "boris").get("/api/v1/workloads/alice@aurora.example")

        with scope.of_platform():
            events = list(AuditEvent.objects.values())
        text = repr(events)
        assert len(events) > 15
        assert "@" not in text
        assert "Quux" not in text

"""Members: roles given, changed, taken back; leaving; and guardian's rows proven equal to all of it."""

from __future__ import annotations

import pytest
from django.utils import timezone

from core.errors import Conflict, Forbidden, NotFound
from core.models import AuditEvent
from tenants.enums import Permission
from tenants.models import Membership, OrganizationGrant, ProjectGrant
from tenants.permissions import holds
from tenants.selectors.places import people_of
from tenants.services import grants_sweep, memberships
from tests import house

pytestmark = pytest.mark.django_db


def give(tenant, by, name, place, role):
    with house.an_act(), tenant.scope():
        return memberships.give(
            actor=tenant.actor(by), place=place, user=tenant.people[name], role=role, now=timezone.now()
        )


def take_back(tenant, by, membership):
    with house.an_act(), tenant.scope():
        memberships.take_back(actor=tenant.actor(by), membership_id=membership.pk, now=timezone.now())


def remove(tenant, by, name):
    with house.an_act(), tenant.scope():
        memberships.remove_person(actor=tenant.actor(by), user_id=tenant.people[name].pk, now=timezone.now())


def held_by(tenant, name, **on):
    with tenant.scope():
        return Membership.objects.get(user=tenant.people[name], **on)


class TestRoles:
    def test_are_changed_with_what_they_allow(self, aurora):
        vision = aurora.projects["vision"]

        give(aurora, "olivia", "victor", vision, "developer")

        with aurora.scope():
            assert holds(aurora.actor("victor"), Permission.LAUNCH_WORKLOAD, vision)
            event = AuditEvent.objects.filter(verb="membership.granted").latest("at")
            assert event.before == {"role": "viewer"}
            assert (event.after or {})["role"] == "developer"

    def test_are_given_to_members_alone(self, aurora, borealis):
        with pytest.raises(NotFound), house.an_act(), aurora.scope():
            memberships.give(
                actor=aurora.actor("olivia"),
                place=aurora.projects["vision"],
                user=borealis.people["charlie"],
                role="viewer",
                now=timezone.now(),
            )

    def test_a_projects_admin_gives_on_the_project_and_nowhere_else(self, aurora):
        give(aurora, "olivia", "alice", aurora.projects["vision"], "project_admin")

        give(aurora, "alice", "bob", aurora.projects["vision"], "viewer")

        with pytest.raises(Forbidden):
            give(aurora, "alice", "bob", aurora.projects["language"], "viewer")
        with pytest.raises(Forbidden):
            give(aurora, "alice", "bob", aurora.organization, "auditor")

    def test_an_admin_makes_no_owner_and_unmakes_none(self, aurora):
        house.join(aurora, "adam", "admin")
        house.join(aurora, "oscar", "owner")

        with pytest.raises(Forbidden):
            give(aurora, "adam", "bob", aurora.organization, "owner")
        with pytest.raises(Forbidden):
            give(aurora, "adam", "oscar", aurora.organization, "auditor")
        with pytest.raises(Forbidden):
            take_back(aurora, "adam", held_by(aurora, "oscar"))
        with pytest.raises(Forbidden):
            remove(aurora, "adam", "oscar")

    def test_taken_back_end_at_once(self, aurora):
        take_back(aurora, "olivia", held_by(aurora, "bob"))

        with aurora.scope():
            assert not ProjectGrant.objects.filter(user=aurora.people["bob"]).exists()

    def test_of_others_are_seen_by_those_who_lead_the_place(self, aurora):
        give(aurora, "olivia", "alice", aurora.projects["vision"], "project_admin")

        with aurora.scope():
            seen = {row.user.full_name for row in people_of(aurora.actor("alice")) if row.project is not None}
            own = {row.user_id for row in people_of(aurora.actor("victor"))}
        assert seen == {"Alice", "Bob", "Victor"}
        assert own == {aurora.people["victor"].pk}


class TestLeaving:
    def test_is_anybodys_own_to_do(self, aurora):
        remove(aurora, "victor", "victor")

        with aurora.scope():
            assert not Membership.objects.filter(user=aurora.people["victor"]).exists()
            assert AuditEvent.objects.filter(verb="member.left").count() == 1

    def test_ends_the_tokens_for_good(self, aurora):
        gone, left = house.api_for(aurora, "bob"), house.api_for(aurora, "victor")
        take_back(aurora, "olivia", held_by(aurora, "bob"))
        remove(aurora, "victor", "victor")
        house.join(aurora, "bob", "developer", projects=("vision",))

        assert [api.get("/api/v1/projects").status_code for api in (gone, left)] == [401, 401]

    def test_the_last_owner_stays(self, aurora):
        for act in (
            lambda: remove(aurora, "olivia", "olivia"),
            lambda: take_back(aurora, "olivia", held_by(aurora, "olivia")),
            lambda: give(aurora, "olivia", "olivia", aurora.organization, "admin"),
        ):
            with pytest.raises(Conflict) as refusal:
                act()
            assert refusal.value.code == "last_owner"

    def test_an_owner_who_cannot_sign_in_does_not_count(self, aurora):
        oscar = house.join(aurora, "oscar", "owner")
        oscar.is_active = False
        oscar.save()

        with pytest.raises(Conflict):
            remove(aurora, "olivia", "olivia")

    def test_one_of_two_owners_may_go(self, aurora):
        house.join(aurora, "oscar", "owner")

        remove(aurora, "oscar", "olivia")

        assert held_by(aurora, "oscar").role == "owner"


class TestSweep:
    def test_finds_guardians_rows_equal_after_every_kind_of_act(self, aurora, borealis):
        give(aurora, "olivia", "victor", aurora.projects["vision"], "developer")
        take_back(aurora, "olivia", held_by(aurora, "bob"))
        remove(aurora, "olivia", "billie")

        with house.an_act():
            assert grants_sweep.sweep(now=timezone.now()) == 0

    def test_mends_what_drifted_and_says_so_once(self, aurora):
        """A row too few and a row too many, as no service would write them."""
        with aurora.scope():
            ProjectGrant.objects.filter(user=aurora.people["bob"]).earliest("pk").delete()
            row = OrganizationGrant.objects.filter(user=aurora.people["olivia"]).earliest("pk")
            OrganizationGrant.objects.create(
                organization=aurora.organization,
                content_object=aurora.organization,
                user=aurora.people["victor"],
                permission=row.permission,
            )

        assert grants_sweep.sweep(now=timezone.now()) == 2
        assert grants_sweep.sweep(now=timezone.now()) == 0

        with aurora.scope():
            [event] = AuditEvent.objects.filter(verb="grants.mended")
            assert (event.actor_kind, len((event.after or {})["drift"])) == ("system", 2)
            assert not OrganizationGrant.objects.filter(user=aurora.people["victor"]).exists()
            assert holds(aurora.actor("bob"), Permission.VIEW_PROJECT, aurora.projects["vision"])

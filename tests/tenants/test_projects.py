"""Teams and projects: made, changed, moved, closed; and the names that they take outside."""

from __future__ import annotations

import pytest
from django.utils import timezone

from core import scope
from core.errors import Forbidden, Invalid, NotFound, Refused, Stale
from tenants.enums import Permission
from tenants.models import Membership, Project, Quota, TeamGrant, UsedName
from tenants.permissions import holds
from tenants.services import memberships, organizations, projects, quotas, teams
from tenants.services.projects import ProjectFacts
from tenants.types import Claim, Holder
from tests import house
from tests.api.ask import is_problem, send

pytestmark = pytest.mark.django_db


def create(tenant, name, slug, **facts):
    with house.an_act(), tenant.scope():
        return projects.create(
            actor=tenant.actor(name),
            organization=tenant.organization,
            slug=slug,
            facts=ProjectFacts(name=slug.title(), **facts),
            now=timezone.now(),
        )


def change(tenant, person, project, **changes):
    expected = changes.pop("expected_version", None)
    with house.an_act(), tenant.scope():
        return projects.change(
            actor=tenant.actor(person),
            project_id=project.pk,
            changes=changes,
            expected_version=expected,
            now=timezone.now(),
        )


def close(tenant, name, project):
    with house.an_act(), tenant.scope():
        return projects.close(actor=tenant.actor(name), project_id=project.pk, now=timezone.now())


def team_of(tenant, slug, *, by="olivia"):
    with house.an_act(), tenant.scope():
        return teams.create(
            actor=tenant.actor(by),
            organization=tenant.organization,
            slug=slug,
            name=slug.title(),
            now=timezone.now(),
        )


def give(tenant, name, place, role):
    with house.an_act(), tenant.scope():
        return memberships.give(
            actor=tenant.actor("olivia"), place=place, user=tenant.people[name], role=role, now=timezone.now()
        )


def hold(tenant, project):
    with tenant.scope():
        holder = Holder(kind="workload", id=tenant.people["alice"].pk, label="notes")
        quotas.take(project=project, claim=Claim.of(workloads=1), holder=holder, now=timezone.now())


class TestProjects:
    def test_their_data_class_is_raised_by_their_admin_and_lowered_by_the_organisations(self, aurora):
        project = aurora.projects["vision"]
        give(aurora, "alice", project, "project_admin")

        assert change(aurora, "alice", project, data_class="confidential").data_class == "confidential"
        with pytest.raises(Forbidden) as refusal:
            change(aurora, "alice", project, data_class="public")
        api = house.api_for(aurora, "alice")
        is_problem(
            send(api, "patch", f"/api/v1/projects/{project.pk}", {"data_class": "internal"}), 403, "permission_denied"
        )
        facts = {"name": "Vision", "environment": "dev", "data_class": "public"}
        page = house.client_for(aurora, "alice").post(f"/organization/projects/{project.pk}/change", facts)
        assert (page.status_code, b"manage_organization" in page.content) == (403, True)

        assert refusal.value.permission == Permission.MANAGE_ORGANIZATION
        assert change(aurora, "olivia", project, data_class="public").data_class == "public"

    def test_are_made_with_what_governs_them_and_may_hold_nothing_yet(self, aurora):
        project = create(aurora, "olivia", "robots", environment="prod", data_class="restricted", cost_centre="CC-9")

        assert (project.environment, project.data_class, project.cost_centre) == ("prod", "restricted", "CC-9")
        with aurora.scope():
            assert set(Quota.objects.filter(project=project).values_list("limit", flat=True)) == {0}
            with pytest.raises(Refused) as refusal:
                hold(aurora, project)
        assert refusal.value.code == "over_quota"

    @pytest.mark.parametrize("name", ["alice", "victor", "billie"])
    def test_are_made_by_nobody_without_the_right(self, aurora, name):
        with pytest.raises(Forbidden):
            create(aurora, name, "robots")

    @pytest.mark.parametrize("slug", ["api", "www", "steelyard", "kube-public", "Robots", "-", "a" * 41])
    def test_are_not_made_under_a_reserved_or_malformed_slug(self, aurora, slug):
        with pytest.raises(Invalid) as refusal:
            create(aurora, "olivia", slug)

        assert refusal.value.errors[0].field == "slug"

    def test_change_by_version(self, aurora):
        vision = aurora.projects["vision"]

        changed = change(aurora, "olivia", vision, data_class="confidential", expected_version=1)

        assert (changed.data_class, changed.version, changed.cost_centre) == ("confidential", 2, "CC-1")
        with pytest.raises(Stale):
            change(aurora, "olivia", vision, name="Other", expected_version=1)
        with pytest.raises(Invalid):
            change(aurora, "olivia", vision, environment="moon")

    def test_of_strangers_do_not_exist(self, aurora, borealis):
        with pytest.raises(NotFound):
            change(borealis, "boris", aurora.projects["vision"], name="Mine")

    def test_are_not_closed_while_something_lives_in_them(self, aurora):
        vision = aurora.projects["vision"]
        hold(aurora, vision)

        with pytest.raises(Refused) as refusal:
            close(aurora, "olivia", vision)

        assert [reason.code for reason in refusal.value.reasons] == ["still_living"]
        assert "notes" in refusal.value.reasons[0].message
        with aurora.scope():
            assert Project.objects.get(pk=vision.pk).closed_at is None

    def test_that_are_closed_take_nothing_and_keep_their_slug(self, aurora):
        vision = aurora.projects["vision"]
        close(aurora, "olivia", vision)

        with pytest.raises(Refused):
            hold(aurora, vision)
        with pytest.raises(Invalid):
            create(aurora, "olivia", "vision")
        with pytest.raises(Refused) as refusal:
            change(aurora, "olivia", vision, name="Again")
        assert refusal.value.code == "project_closed"


class TestNames:
    def test_of_organisations_and_namespaces_are_kept(self, aurora):
        with aurora.scope():
            names = set(UsedName.objects.values_list("name", flat=True))

        assert names == {"aurora", "aurora-vision", "aurora-language"}

    def test_once_used_by_another_organisation_are_refused(self, aurora):
        """`aurora-vision` as an organisation's slug, and `lab` + `one-two` where `lab-one` had `two`."""
        with pytest.raises(Invalid) as refusal:
            house.found("aurora-vision", projects=())
        assert refusal.value.errors[0].code == "used_elsewhere"

        house.found("lab-one", projects=("two",))
        lab = house.found("lab", projects=())
        house.join(lab, "lena", "owner")
        with pytest.raises(Invalid) as refusal:
            create(lab, "lena", "one-two")
        assert refusal.value.errors[0].code == "used_elsewhere"
        assert "another organisation" in refusal.value.message

    @pytest.mark.parametrize("slug", ["admin", "console", "health"])
    def test_that_are_reserved_found_no_organisation(self, db, slug):
        with pytest.raises(Invalid):
            organizations.found_organization(
                actor=house.SYSTEM, slug=slug, name="X", currency="USD", time_zone="UTC", now=timezone.now()
            )


class TestTeams:
    def test_give_their_roles_on_each_of_their_projects(self, aurora):
        team, vision, bob = team_of(aurora, "perception"), aurora.projects["language"], aurora.actor("bob")
        give(aurora, "bob", team, "developer")
        with aurora.scope():
            assert not holds(bob, Permission.LAUNCH_WORKLOAD, vision)

        moved = change(aurora, "olivia", vision, team_id=team.pk)

        with aurora.scope():
            assert holds(bob, Permission.LAUNCH_WORKLOAD, moved)

    def test_that_lose_a_project_lose_what_they_gave_on_it(self, aurora):
        team, bob = team_of(aurora, "perception"), aurora.actor("bob")
        give(aurora, "bob", team, "developer")
        change(aurora, "olivia", aurora.projects["language"], team_id=team.pk)

        moved = change(aurora, "olivia", aurora.projects["language"], team_id=None)

        with aurora.scope():
            assert not holds(bob, Permission.LAUNCH_WORKLOAD, moved)

    def test_a_projects_admin_does_not_move_it(self, aurora):
        team = team_of(aurora, "perception")
        give(aurora, "alice", aurora.projects["vision"], "project_admin")

        with pytest.raises(Invalid) as refusal:
            change(aurora, "alice", aurora.projects["vision"], team_id=team.pk)

        assert refusal.value.errors[0].field == "team"

    def test_are_deleted_when_empty_with_the_roles_on_them(self, aurora):
        team = team_of(aurora, "perception")
        give(aurora, "bob", team, "viewer")
        change(aurora, "olivia", aurora.projects["vision"], team_id=team.pk)
        with pytest.raises(Refused) as refusal, house.an_act(), aurora.scope():
            teams.delete(actor=aurora.actor("olivia"), team_id=team.pk, now=timezone.now())
        assert [reason.resource for reason in refusal.value.reasons] == ["vision"]
        change(aurora, "olivia", aurora.projects["vision"], team_id=None)

        with house.an_act(), aurora.scope():
            teams.delete(actor=aurora.actor("olivia"), team_id=team.pk, now=timezone.now())

        with aurora.scope():
            assert not Membership.objects.filter(team_id=team.pk).exists()
            assert not TeamGrant.objects.exists()

    def test_are_renamed_and_their_slug_is_used_once(self, aurora):
        team = team_of(aurora, "perception")
        with house.an_act(), aurora.scope():
            renamed = teams.rename(
                actor=aurora.actor("olivia"), team_id=team.pk, name="Seeing", expected_version=1, now=timezone.now()
            )

        assert (renamed.name, renamed.version) == ("Seeing", 2)
        with pytest.raises(Invalid):
            team_of(aurora, "perception")

    def test_of_strangers_do_not_exist(self, aurora, borealis):
        team = team_of(aurora, "perception")

        with pytest.raises(NotFound), scope.of_organization(borealis.organization.pk):
            teams.rename(actor=borealis.actor("boris"), team_id=team.pk, name="Mine", now=timezone.now())

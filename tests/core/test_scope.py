"""A scope is a transaction that knows its tenant."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.utils import DatabaseError
from django.utils import timezone

from core import scope
from core.errors import ScopeMismatch, ScopeRequired
from core.ids import uuid7
from core.types import system_actor
from tenants.models import Project
from tenants.services.organizations import create_project, found_organization

pytestmark = pytest.mark.django_db(transaction=True)


def found(slug):
    now = timezone.now()
    actor = system_actor("test", None)
    organization = found_organization(actor=actor, slug=slug, name=slug, currency="USD", time_zone="UTC", now=now)
    with scope.of_organization(organization.pk):
        create_project(
            actor=actor,
            organization=organization,
            slug="vision",
            name="Vision",
            environment="dev",
            data_class="internal",
            cost_centre="",
            now=now,
        )
    return organization


class TestScope:
    def test_a_query_outside_a_scope_raises(self):
        with pytest.raises(ScopeRequired):
            Project.objects.count()

    def test_each_organisation_sees_its_own_rows_only(self):
        aurora, borealis = found("aurora"), found("borealis")

        for organization in (aurora, borealis):
            with scope.of_organization(organization.pk):
                assert [row.organization_id for row in Project._base_manager.all()] == [organization.pk]

    def test_the_platform_sees_all(self):
        found("aurora"), found("borealis")

        with scope.of_platform():
            assert Project.objects.count() == 2

    def test_another_organisations_scope_inside_one_raises(self):
        with scope.of_organization(uuid7()), pytest.raises(ScopeMismatch), scope.of_organization(uuid7()):
            pass

    def test_no_context_means_no_rows_even_for_raw_sql(self):
        found("aurora")

        with connection.cursor() as cursor:
            cursor.execute("BEGIN; SET LOCAL ROLE steelyard_app")
            cursor.execute("SELECT count(*) FROM tenants_project")
            counted = cursor.fetchone()
            cursor.execute("ROLLBACK")

        assert counted == (0,)

    def test_a_write_without_an_audit_event_is_refused_by_the_database(self):
        aurora = found("aurora")

        with pytest.raises(DatabaseError, match="without an audit event"), scope.of_organization(aurora.pk):
            Project.objects.filter(slug="vision").update(name="Renamed")

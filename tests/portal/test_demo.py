"""The demo is made once, by the services that people use, and its prices are the published ones."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.utils import timezone

from billing.selectors import price_of
from core import scope
from core.models import AuditEvent
from provisioning.models import Shape
from tenants.models import Membership, Organization, Quota

pytestmark = pytest.mark.django_db


@pytest.fixture
def people(tmp_path):
    call_command("seed_demo", credentials_file=tmp_path / "people.json")
    return json.loads((tmp_path / "people.json").read_text())


class TestDemo:
    def test_two_organisations_with_the_people_that_the_contract_names(self, people):
        assert [(person["organization"], person["role"]) for person in people] == [
            ("aurora", "platform_admin"),
            ("aurora", "owner"),
            ("aurora", "developer"),
            ("aurora", "viewer"),
            ("aurora", "billing"),
            ("borealis", "owner"),
            ("borealis", "developer"),
        ]
        assert len({person["password"] for person in people} | {person["token"] for person in people}) == 14

    def test_a_second_run_changes_nothing(self, people, tmp_path):
        with scope.of_platform():
            before = (Organization.objects.count(), Membership.objects.count(), Quota.objects.count())

        call_command("seed_demo", credentials_file=tmp_path / "people.json")

        with scope.of_platform():
            assert (Organization.objects.count(), Membership.objects.count(), Quota.objects.count()) == before
        assert json.loads((tmp_path / "people.json").read_text()) == people

    def test_an_hour_of_eight_h100_costs_what_its_provider_publishes(self, people):
        with scope.of_platform():
            shape = Shape.objects.get(slug="8x-h100")
            price = price_of(shape.sku_code, timezone.now(), "USD")

        assert price.unit_price * shape.sku_quantity == Decimal("23.60")

    def test_everything_that_was_made_is_in_the_audit_log(self, people):
        with scope.of_platform():
            verbs = set(AuditEvent.objects.values_list("verb", flat=True))

        assert {
            "catalogue.published",
            "membership.granted",
            "organization.founded",
            "person.created",
            "price_book.published",
            "project.created",
            "quota.defined",
            "sku.defined",
            "token.created",
        } <= verbs

"""Domains that are proven, and what an owner sets up."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from core.errors import Conflict, NotFound, Refused
from core.models import AuditEvent
from tenants.models import EmailDomain, IdentityProvider
from tenants.services import email_domains, sign_in
from tenants.services.sign_in import MappingDraft
from tests import house
from tests.portal.single_sign_on.ways import act, draft, prove

pytestmark = pytest.mark.django_db


class TestDomains:
    def test_count_for_nothing_until_the_record_is_there(self, aurora, records):
        row = act(aurora, "olivia", email_domains.add, domain="Nordlicht.Example.")

        with house.an_act(), pytest.raises(Refused) as caught:
            email_domains.check(actor=aurora.actor("olivia"), domain_id=row.pk, now=timezone.now())
        assert caught.value.reasons[0].code == "dns_record_missing"

        records["_steelyard-challenge.nordlicht.example"] = "steelyard-domain=guessed"
        with house.an_act(), pytest.raises(Refused):
            email_domains.check(actor=aurora.actor("olivia"), domain_id=row.pk, now=timezone.now())

        records["_steelyard-challenge.nordlicht.example"] = email_domains.record_value(row)
        with house.an_act():
            proven = email_domains.check(actor=aurora.actor("olivia"), domain_id=row.pk, now=timezone.now())
        assert proven.proven_at is not None

    def test_one_organisation_alone_holds_the_proof(self, aurora, borealis, records):
        prove(aurora, "olivia", "shared.example", records)
        theirs = act(borealis, "boris", email_domains.add, domain="shared.example")
        records[email_domains.record_name("shared.example")] = email_domains.record_value(theirs)

        with house.an_act(), pytest.raises(Refused) as caught:
            email_domains.check(actor=borealis.actor("boris"), domain_id=theirs.pk, now=timezone.now())

        assert caught.value.reasons[0].code == "domain_taken"

    def test_a_record_that_is_gone_for_days_takes_the_proof_along(self, aurora, records):
        row = prove(aurora, "olivia", "fading.example", records)
        del records[email_domains.record_name("fading.example")]
        now = timezone.now()
        place = {"organization_id": aurora.organization.pk, "domain_id": row.pk}

        assert email_domains.recheck(**place, now=now + timedelta(days=1))
        assert not email_domains.recheck(**place, now=now + timedelta(days=4, hours=1))

        with aurora.scope():
            assert EmailDomain.objects.get(pk=row.pk).proven_at is None
            assert AuditEvent.objects.filter(verb="email_domain.lapsed", outcome="done").count() == 1

    def test_a_silent_name_server_changes_nothing(self, aurora, records, settings):
        row = prove(aurora, "olivia", "quiet.example", records)
        settings.STEELYARD = {**settings.STEELYARD, "DNS_SERVERS": ("127.0.0.1:9",)}

        assert email_domains.recheck(
            organization_id=aurora.organization.pk, domain_id=row.pk, now=timezone.now() + timedelta(days=9)
        )

    @pytest.mark.parametrize("word", ["", "example", "http://example.com", "a b.com", "-a.com", "x" * 64 + ".com"])
    def test_what_is_no_domain_is_refused(self, aurora, word):
        with pytest.raises(Exception, match="looks like"):
            act(aurora, "olivia", email_domains.add, domain=word)


class TestRules:
    def test_the_secret_is_encrypted_and_never_in_the_log(self, joined):
        with joined.scope():
            row = IdentityProvider.objects.get()
            logged = [event.after for event in AuditEvent.objects.filter(verb="identity_provider.saved")]

        assert row.client_secret.startswith("gAAAAA")
        assert "hush" not in repr(logged)

    def test_owners_are_never_mapped(self, joined):
        with pytest.raises(Exception, match="Owners are named by owners"):
            act(joined, "olivia", sign_in.map_group, mapping=MappingDraft("x", "owner", joined.organization))

    def test_one_role_a_group_and_place(self, joined):
        with pytest.raises(Conflict):
            act(
                joined,
                "olivia",
                sign_in.map_group,
                mapping=MappingDraft("scientists", "viewer", joined.projects["vision"]),
            )

    def test_a_developer_rules_nothing(self, joined, idp):
        with pytest.raises(Exception, match="manage_sign_in"):
            act(joined, "alice", sign_in.save_provider, draft=draft(idp))
        with pytest.raises(Exception, match="manage_sign_in"):
            act(joined, "alice", email_domains.add, domain="alice.example")

    def test_a_strangers_domain_is_not_there(self, joined, borealis):
        with joined.scope():
            row = EmailDomain.objects.get()

        with house.an_act(), pytest.raises(NotFound):
            email_domains.check(actor=borealis.actor("boris"), domain_id=row.pk, now=timezone.now())

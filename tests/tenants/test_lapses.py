"""Roles that the provider gave end when it has not confirmed the person for a week."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from core.models import AuditEvent
from tenants.enums import Permission
from tenants.models import ExternalIdentity, Membership
from tenants.permissions import holds
from tenants.services import lapses, memberships, sign_in
from tenants.services.lapses import CONFIRMED_FOR, end_unconfirmed
from tests import house

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture
def nora(aurora):
    """Developer of vision by the provider, viewer of language by a grant; she has a password too."""
    draft = sign_in.ProviderDraft("House", "https://id.example", "steelyard", "secret", "groups", enabled=True)
    with house.an_act(), aurora.scope():
        provider = sign_in.save_provider(
            actor=aurora.actor("olivia"), organization=aurora.organization, draft=draft, now=NOW
        )
    user = house.join(aurora, "nora", "viewer", projects=("language",))
    with house.an_act(), aurora.scope():
        memberships.grant(
            actor=house.SYSTEM,
            organization=aurora.organization,
            user=user,
            role="developer",
            project=aurora.projects["vision"],
            now=NOW,
            origin="sso",
        )
        ExternalIdentity.objects.create(
            organization=aurora.organization,
            provider=provider,
            user=user,
            issuer="https://id.example",
            subject="nora",
            linked_at=NOW - timedelta(days=90),
            last_used_at=NOW,
        )
    return user


def may_launch(tenant, place):
    with tenant.scope():
        return holds(tenant.actor("nora"), Permission.LAUNCH_WORKLOAD, tenant.projects[place])


def test_what_was_confirmed_this_week_stays(aurora, nora):
    assert end_unconfirmed(now=NOW + CONFIRMED_FOR - timedelta(seconds=1)) == 0
    assert may_launch(aurora, "vision")


def test_what_was_not_ends_once_and_grants_stay(aurora, nora):
    later = NOW + CONFIRMED_FOR

    assert [end_unconfirmed(now=later), end_unconfirmed(now=later)] == [1, 0]

    assert not may_launch(aurora, "vision")
    with aurora.scope():
        assert [row.origin for row in Membership.objects.filter(user=nora)] == ["granted"]
        event = AuditEvent.objects.get(verb="membership.lapsed")
    project = aurora.projects["vision"].pk
    assert (event.object_id, event.before) == (str(nora.pk), {"roles": [f"developer on {project}"]})


def test_a_provider_that_is_removed_leaves_its_roles_as_granted_ones(aurora, nora):
    with house.an_act(), aurora.scope():
        sign_in.remove_provider(actor=aurora.actor("olivia"), organization=aurora.organization, now=NOW)

    assert lapses.end_unconfirmed(now=NOW + timedelta(days=90)) == 0
    assert may_launch(aurora, "vision")

"""Service accounts: they act by tokens alone, and never sign in."""

from __future__ import annotations

from functools import partial

import pytest
from django.contrib.auth import authenticate
from django.core import mail
from django.test import Client
from django.utils import timezone

from core.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from tenants.enums import Permission
from tenants.models import AccessToken, Membership
from tenants.permissions import holds
from tenants.services import memberships, service_accounts, tokens
from tests import house, places
from tests.house import actor_for

pytestmark = pytest.mark.django_db


def disable(tenant, account, by="olivia"):
    with house.an_act(), tenant.scope():
        return service_accounts.disable(actor=tenant.actor(by), account_id=account.pk, now=timezone.now())


def give(tenant, account, role="developer"):
    with house.an_act(), tenant.scope():
        return memberships.give(
            actor=tenant.actor("olivia"),
            place=tenant.projects["vision"],
            user=account.user,
            role=role,
            now=timezone.now(),
        )


class TestServiceAccounts:
    def test_may_do_nothing_until_they_have_a_role(self, aurora):
        account = places.account(aurora)
        actor = actor_for(account.user, aurora.organization)

        with aurora.scope():
            assert not holds(actor, Permission.VIEW_PROJECT, aurora.projects["vision"])
        give(aurora, account)
        with aurora.scope():
            assert holds(actor, Permission.LAUNCH_WORKLOAD, aurora.projects["vision"])

    def test_never_sign_in_and_get_no_new_password(self, aurora):
        account = places.account(aurora)

        assert account.user.email.endswith("@service.invalid")
        assert not account.user.has_usable_password()
        for password in ("", "!", account.user.password):
            assert authenticate(None, email=account.user.email, password=password) is None
        client = Client()
        client.post("/accounts/login/", {"login": account.user.email, "password": "!"})
        assert "_auth_user_id" not in client.session
        client.post("/accounts/password/reset/", {"email": account.user.email})
        assert [letter for letter in mail.outbox if account.user.email in letter.to] == []

    def test_are_made_and_seen_by_those_who_manage_them(self, aurora):
        account = places.account(aurora)
        with pytest.raises(Forbidden), house.an_act(), aurora.scope():
            service_accounts.create(
                actor=aurora.actor("alice"), organization=aurora.organization, name="mine", now=timezone.now()
            )
        with pytest.raises(NotFound):
            disable(aurora, account, by="alice")

    def test_bear_a_name_once(self, aurora):
        disable(aurora, places.account(aurora))

        with pytest.raises(Invalid):
            places.account(aurora)

    def test_change_by_version(self, aurora):
        account = places.account(aurora)
        for expected, error in ((1, None), (1, Stale)):
            with house.an_act(), aurora.scope():
                describe = partial(service_accounts.describe, name="daily", expected_version=expected)
                if error is None:
                    changed = describe(actor=aurora.actor("olivia"), account_id=account.pk, now=timezone.now())
                    assert (changed.name, changed.version) == ("daily", 2)
                else:
                    with pytest.raises(error):
                        describe(actor=aurora.actor("olivia"), account_id=account.pk, now=timezone.now())

    def test_that_are_disabled_lose_tokens_and_roles_at_once_and_for_good(self, aurora):
        account = places.account(aurora)
        give(aurora, account)
        with house.an_act(), aurora.scope():
            token, secret = tokens.create(
                actor=actor_for(account.user, aurora.organization),
                organization=aurora.organization,
                name="ci",
                scopes=(),
                expires_at=None,
                now=timezone.now(),
            )
        api = Client(headers={"Authorization": f"Bearer {secret}"})
        assert api.get("/api/v1/projects").status_code == 200

        disable(aurora, account)

        assert api.get("/api/v1/projects").status_code == 401
        with aurora.scope():
            assert AccessToken.objects.get(pk=token.pk).revoked_at
            assert not Membership.objects.filter(user=account.user).exists()
        with pytest.raises(NotFound):
            give(aurora, account)
        with pytest.raises(Conflict):
            disable(aurora, account)


class TestOwning:
    """An owner is a person; what an account holds is taken by those who hold as much."""

    def own(self, tenant, account, role="owner"):
        """As no service writes it any more."""
        with house.an_act(), tenant.scope():
            return memberships.grant(
                actor=house.SYSTEM,
                organization=tenant.organization,
                user=account.user,
                role=role,
                project=None,
                now=timezone.now(),
            )

    def test_is_no_service_accounts(self, aurora):
        account = places.account(aurora)

        with pytest.raises(Invalid), house.an_act(), aurora.scope():
            memberships.give(
                actor=aurora.actor("olivia"),
                place=aurora.organization,
                user=account.user,
                role="owner",
                now=timezone.now(),
            )

    def test_a_service_account_does_not_count_as_the_owner_who_stays(self, aurora):
        self.own(aurora, places.account(aurora))

        with pytest.raises(Conflict) as refused, house.an_act(), aurora.scope():
            memberships.remove_person(
                actor=aurora.actor("olivia"), user_id=aurora.people["olivia"].pk, now=timezone.now()
            )
        assert refused.value.code == "last_owner"

    @pytest.mark.parametrize("role", ["owner", "billing"])
    def test_an_admin_disables_none_that_holds_more(self, aurora, role):
        account = places.account(aurora)
        self.own(aurora, account, role)
        house.join(aurora, "adam", "admin")

        with pytest.raises(Forbidden):
            disable(aurora, account, by="adam")
        with pytest.raises(Forbidden), house.an_act(), aurora.scope():
            memberships.remove_person(actor=aurora.actor("adam"), user_id=account.user_id, now=timezone.now())
        assert disable(aurora, account).disabled_at

    def test_an_admin_disables_one_that_holds_as_much(self, aurora):
        account = places.account(aurora)
        give(aurora, account)
        house.join(aurora, "adam", "admin")

        assert disable(aurora, account, by="adam").disabled_at

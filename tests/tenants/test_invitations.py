"""Invitations: a role offered to an address, for seven days, once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from core import scope
from core.errors import Conflict, Forbidden, Invalid, NotFound, Refused
from core.models import AuditEvent
from tenants.drivers import mail
from tenants.enums import Permission
from tenants.models import Invitation, Membership
from tenants.permissions import holds
from tenants.services import invitation_mail, invitations, memberships
from tenants.services.invitations import InvitationGone
from tests import house

pytestmark = pytest.mark.django_db
NOW = timezone.now


def invite(tenant, by="olivia", *, place=None, email="nora@new.example", role=None, now=None):
    place = place or tenant.projects["vision"]
    with house.an_act(), tenant.scope():
        return invitations.create(
            actor=tenant.actor(by), place=place, email=email, role=role or "developer", now=now or NOW()
        )


def register(secret, *, now=None, password="a much better pass phrase"):
    with house.an_act():
        return invitations.register(secret=secret, full_name="Nora New", password=password, now=now or NOW())


def accept(user, secret, *, now=None):
    with house.an_act():
        return invitations.accept(user=user, secret=secret, now=now or NOW())


def may_launch(tenant, user):
    with tenant.scope():
        return holds(house.actor_for(user, tenant.organization), Permission.LAUNCH_WORKLOAD, tenant.projects["vision"])


class TestAccepting:
    def test_makes_an_account_for_an_address_without_one(self, aurora):
        _, secret = invite(aurora, email="Nora@New.example")

        user = register(secret)

        assert (user.email, user.full_name) == ("nora@new.example", "Nora New")
        assert user.check_password("a much better pass phrase")
        assert may_launch(aurora, user)
        with aurora.scope():
            event = AuditEvent.objects.get(verb="invitation.accepted")
            assert event.actor_id == user.pk
            assert (event.after or {})["role"] == "developer"
            assert "nora" not in repr(vars(event)).lower()

    def test_brings_a_person_of_another_organisation_in(self, aurora, borealis):
        charlie = borealis.people["charlie"]
        _, secret = invite(aurora, email=charlie.email, role="viewer")

        assert accept(charlie, secret) == aurora.organization.pk

        with aurora.scope():
            assert Membership.objects.get(user=charlie).role == "viewer"

    def test_is_for_the_address_alone(self, aurora, borealis):
        _, secret = invite(aurora, email="nora@new.example")

        with pytest.raises(NotFound):
            accept(borealis.people["charlie"], secret)
        assert invitations.offered(secret=secret, now=NOW()).email == "nora@new.example"

    def test_works_once(self, aurora):
        _, secret = invite(aurora)
        register(secret)

        with pytest.raises(InvitationGone):
            register(secret)

    def test_gives_one_answer_to_whatever_is_no_good(self, aurora):
        _, used = invite(aurora, email="one@new.example")
        register(used)
        revoked, second = invite(aurora, email="two@new.example")
        with house.an_act(), aurora.scope():
            invitations.revoke(actor=aurora.actor("olivia"), invitation_id=revoked.pk, now=NOW())
        _, old = invite(aurora, email="three@new.example", now=NOW() - timedelta(days=7, seconds=1))
        again, replaced = invite(aurora, email="four@new.example")
        with house.an_act(), aurora.scope():
            _, fresh = invitations.resend(actor=aurora.actor("olivia"), invitation_id=again.pk, now=NOW())

        said = set()
        for secret in (used, second, old, replaced, "x" * 43, "", "short"):
            with pytest.raises(InvitationGone) as gone:
                invitations.offered(secret=secret, now=NOW())
            said.add(gone.value.message)
        assert len(said) == 1
        assert invitations.offered(secret=fresh, now=NOW()).place == "Vision"

    def test_needs_an_inviter_who_still_may(self, aurora):
        """Alice leads vision when she invites, and no more when it is taken up."""
        vision = aurora.projects["vision"]
        house.join(aurora, "alice", "project_admin", projects=("vision",))
        _, secret = invite(aurora, "alice")
        house.join(aurora, "alice", "developer", projects=("vision",))

        with pytest.raises(InvitationGone):
            register(secret)

        assert not get_user_model().objects.filter(email="nora@new.example").exists()
        house.join(aurora, "alice", "project_admin", projects=("vision",))
        assert may_launch(aurora, register(secret))
        assert vision.slug == "vision"

    def test_changes_no_role_that_is_held_already(self, aurora, borealis):
        charlie = borealis.people["charlie"]
        _, secret = invite(aurora, email=charlie.email, role="viewer")
        with house.an_act(), aurora.scope():
            memberships.grant(
                actor=house.SYSTEM,
                organization=aurora.organization,
                user=charlie,
                role="developer",
                project=aurora.projects["vision"],
                now=NOW(),
            )

        accept(charlie, secret)

        assert may_launch(aurora, charlie)

    def test_asks_for_a_good_password_and_a_name(self, aurora):
        _, secret = invite(aurora)

        with pytest.raises(Invalid) as refusal:
            register(secret, password="short")

        assert {error.field for error in refusal.value.errors} == {"password"}
        assert register(secret).full_name == "Nora New"

    def test_of_an_address_that_has_an_account_asks_to_sign_in(self, aurora, borealis):
        _, secret = invite(aurora, email=borealis.people["charlie"].email)

        with pytest.raises(Conflict) as refusal:
            register(secret)

        assert refusal.value.code == "has_account"
        assert invitations.offered(secret=secret, now=NOW()).has_account


class TestInviting:
    @pytest.mark.parametrize(
        ("by", "role"),
        [("alice", "viewer"), ("victor", "viewer"), ("billie", "viewer")],
    )
    def test_is_for_those_who_manage_the_place(self, aurora, by, role):
        with pytest.raises(Forbidden):
            invite(aurora, by, role=role)

    def test_offers_no_more_than_the_inviter_holds(self, aurora):
        house.join(aurora, "adam", "admin")

        with pytest.raises(Forbidden):
            invite(aurora, "adam", place=aurora.organization, role="owner")
        with pytest.raises(Forbidden):
            invite(aurora, "adam", place=aurora.organization, role="billing")
        invitation, _ = invite(aurora, "adam", place=aurora.organization, role="auditor")
        assert invitation.role == "auditor"

    def test_a_projects_admin_invites_to_the_project(self, aurora):
        house.join(aurora, "alice", "project_admin", projects=("vision",))

        invitation, _ = invite(aurora, "alice", role="viewer")

        assert invitation.place == aurora.projects["vision"]
        with pytest.raises(Forbidden):
            invite(aurora, "alice", place=aurora.projects["language"], role="viewer")

    def test_twice_is_refused_until_the_first_is_over(self, aurora):
        invite(aurora, now=NOW() - timedelta(days=8))
        invite(aurora)

        with pytest.raises(Conflict) as refusal:
            invite(aurora)

        assert refusal.value.code == "invited"

    @pytest.mark.parametrize("email", ["", "nora", "nora@", "x@service.invalid", "bob@aurora.example"])
    def test_reaches_no_address_that_is_wrong_or_a_member(self, aurora, email):
        with pytest.raises(Invalid):
            invite(aurora, email=email)

    def test_is_bounded(self, aurora, monkeypatch):
        monkeypatch.setattr(invitations, "MOST_A_DAY", 1)
        invite(aurora, email="one@new.example")

        with pytest.raises(Refused) as refusal:
            invite(aurora, email="two@new.example")

        assert (refusal.value.reasons[0].used, refusal.value.reasons[0].limit) == (1, 1)

    def test_of_strangers_does_not_exist(self, aurora, borealis):
        invitation, _ = invite(aurora)

        with pytest.raises(NotFound), scope.of_organization(borealis.organization.pk):
            invitations.revoke(actor=borealis.actor("boris"), invitation_id=invitation.pk, now=NOW())


def deliver(invitation, now=None):
    invitation_mail.send_one(
        organization_id=invitation.organization_id, invitation_id=invitation.pk, send=mail.send, now=now or NOW()
    )


def fresh(tenant, invitation):
    with tenant.scope():
        return Invitation.objects.get(pk=invitation.pk)


class TestMail:
    def test_brings_the_link_in_html_and_text_once(self, aurora, letterbox):
        invitation, secret = invite(aurora)

        for _ in range(3):
            deliver(invitation)

        [letter] = letterbox.letters
        assert letter.rcpt_tos == ["nora@new.example"]
        text = letter.content.decode().replace("=\r\n", "").replace("=3D", "=")
        assert text.count(f"/join?code={secret}") == 2
        assert "text/plain" in text
        assert "text/html" in text
        assert "Olivia invites you" in text
        row = fresh(aurora, invitation)
        assert row.mailed_at
        assert (row.mail_secret, row.mail_due_at) == ("", None)

    def test_that_is_refused_is_tried_again_and_says_why_meanwhile(self, aurora, letterbox):
        letterbox.refuse = 1
        invitation, secret = invite(aurora)

        deliver(invitation)
        deliver(invitation)

        row = fresh(aurora, invitation)
        assert (letterbox.letters, row.mail_error) == ([], "The mail server answered 451.")
        assert secret not in row.mail_secret
        deliver(invitation, NOW() + invitation_mail.TRY_AGAIN)
        assert len(letterbox.letters) == 1
        assert fresh(aurora, invitation).mail_error == ""

    def test_of_what_was_taken_back_is_never_sent(self, aurora, letterbox):
        invitation, _ = invite(aurora)
        with house.an_act(), aurora.scope():
            invitations.revoke(actor=aurora.actor("olivia"), invitation_id=invitation.pk, now=NOW())

        deliver(invitation)

        assert letterbox.letters == []

    def test_goes_out_again_with_a_new_link_when_it_is_sent_again(self, aurora, letterbox):
        invitation, old = invite(aurora)
        deliver(invitation)
        olivia, later = aurora.actor("olivia"), NOW() + invitations.BETWEEN_MAILS
        with pytest.raises(Conflict), house.an_act(), aurora.scope():
            invitations.resend(actor=olivia, invitation_id=invitation.pk, now=NOW())
        with house.an_act(), aurora.scope():
            again, new = invitations.resend(actor=olivia, invitation_id=invitation.pk, now=later)

        deliver(again, later)

        assert len(letterbox.letters) == 2
        assert old != new
        assert letterbox.letters[0].content.split(b"Message-ID: ")[1][:60] not in letterbox.letters[1].content

    def test_that_nobody_takes_is_said_without_address_or_secret(self, aurora, settings):
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", 1, 1
        settings.EMAIL_USE_TLS = False
        invitation, _ = invite(aurora)

        deliver(invitation)

        assert fresh(aurora, invitation).mail_error == "The mail server could not be reached (ConnectionRefusedError)."

    def test_is_kept_in_a_private_file_where_there_is_no_server(self, aurora, settings, tmp_path):
        settings.EMAIL_BACKEND, settings.EMAIL_FILE_PATH = "portal.mail.PrivateFileBackend", tmp_path / "mail"
        invitation, secret = invite(aurora)

        deliver(invitation)

        [letter] = (tmp_path / "mail").iterdir()
        assert secret in letter.read_text().replace("=\n", "")
        assert (tmp_path / "mail").stat().st_mode & 0o777 == 0o700

"""Letters about approvals: to those who may decide, to the asker, once each."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenants.drivers import mail
from tenants.models import ApprovalLetter
from tenants.services import approval_mail, approvals
from tests import house
from tests.tenants.test_approvals import NOW, ask, decide

pytestmark = pytest.mark.django_db


def send_all(now=NOW):
    approval_mail.send_due(send=mail.send, now=now)


def to_whom(letterbox):
    return sorted(address for letter in letterbox.letters for address in letter.rcpt_tos)


def text_of(letter):
    return letter.content.decode().replace("=\r\n", "").replace("=3D", "=")


class TestAsking:
    def test_tells_those_who_may_decide_alone_and_once(self, aurora, letterbox):
        house.join(aurora, "lea", "project_admin", projects=("vision",))
        house.join(aurora, "leo", "project_admin", projects=("language",))

        ask(aurora)
        for _ in range(2):
            send_all()
        send_all(NOW + approval_mail.TRY_AGAIN)

        assert to_whom(letterbox) == ["lea@aurora.example", "olivia@aurora.example"]
        text = text_of(letterbox.letters[0])
        assert text.count("/approvals") == 2
        assert text.count("The big run.") == 2
        assert "Subject: Alice asks for your approval: training" in text

    def test_tells_nobody_about_their_own_request_nor_who_left_meanwhile(self, aurora, letterbox):
        house.join(aurora, "oscar", "owner")
        ask(aurora, "olivia")
        oscar = aurora.people["oscar"]
        oscar.is_active = False
        oscar.save()

        send_all()

        assert letterbox.letters == []

    def test_of_the_platform_tells_its_people(self, aurora, letterbox):
        house.platform_person(aurora, "paula", "platform_admin")

        ask(aurora, decider="platform")
        send_all()

        assert to_whom(letterbox) == ["paula@aurora.example"]
        assert "/console/approvals" in text_of(letterbox.letters[0])

    def test_of_what_is_settled_already_is_not_sent(self, aurora, letterbox):
        decide(aurora, "alice", ask(aurora), approvals.void)

        send_all()

        assert letterbox.letters == []


class TestSettling:
    @pytest.mark.parametrize(
        ("settle", "said"),
        [
            (lambda tenant, asked: decide(tenant, "olivia", asked, comment="Go on."), "training is approved"),
            (lambda tenant, asked: decide(tenant, "olivia", asked, approvals.refuse), "training is refused"),
            (lambda *_: approvals.expire_due(now=NOW + timedelta(days=8)), "training has expired"),
        ],
    )
    def test_tells_the_asker_once(self, aurora, letterbox, settle, said):
        asked = ask(aurora)
        settle(aurora, asked)

        for _ in range(2):
            send_all(NOW + timedelta(days=9))

        [letter] = letterbox.letters
        assert letter.rcpt_tos == ["alice@aurora.example"]
        assert f"Subject: {said}" in text_of(letter)

    def test_what_is_refused_by_the_server_is_tried_again(self, aurora, letterbox):
        letterbox.refuse = 1
        ask(aurora)
        send_all()

        with aurora.scope():
            assert ApprovalLetter.objects.get().error == "The mail server answered 451."
        send_all(NOW + approval_mail.TRY_AGAIN)

        assert to_whom(letterbox) == ["olivia@aurora.example"]

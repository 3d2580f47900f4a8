"""Every name that a person gives goes through the same check, and a letter that fails holds no other up."""

from __future__ import annotations

import pytest
from django.core import mail as outbox
from django.utils import timezone

from tenants import tasks
from tenants.drivers import mail
from tenants.models import Invitation, Organization
from tenants.services import invitation_mail
from tests import house
from tests.tenants.test_invitations import invite

pytestmark = pytest.mark.django_db
BAD = ("Aur\nBcc: evil@x.example", "Aur\u202eora", "Aur\u200bora", "\u3164")


@pytest.mark.parametrize("bad", BAD)
def test_the_api_refuses_a_name_that_is_not_one_visible_line(aurora, bad):
    client = house.api_for(aurora, "olivia")

    def api(method, path, body):
        return getattr(client, method)(f"/api/v1/{path}", body, content_type="application/json")

    organization, project = aurora.organization.pk, aurora.projects["vision"].pk
    provider = {"name": bad, "issuer": "https://id.example", "client_id": "x", "enabled": False, "mappings": []}
    answers = {
        "organization": api("patch", f"organizations/{organization}", {"name": bad}),
        "project": api("patch", f"projects/{project}", {"name": bad}),
        "team": api("post", "teams", {"slug": "seeing", "name": bad}),
        "account": api("post", "service-accounts", {"name": bad}),
        "token": api("post", "tokens", {"name": bad}),
        "view": api("post", "audit-views", {"name": bad, "query": {"verb": "x"}}),
        "stream": api("post", "audit-streams", {"name": bad, "url": "https://siem.example/"}),
        "provider": api("put", "identity-provider", provider),
        "policy": api(
            "post",
            "policies",
            {"slug": "a", "title": bad, "kind": "approval_above", "terms": {"accelerators": 4}},
        ),
    }
    told = {name: (answer.status_code, str(answer.json().get("errors"))) for name, answer in answers.items()}
    assert {name: status for name, (status, _) in told.items()} == dict.fromkeys(told, 400), told
    assert all("name" in errors or "title" in errors for _, errors in told.values()), told


def test_a_letter_that_cannot_be_made_is_noted_and_the_others_go_out(aurora, borealis, monkeypatch):
    broken, _ = invite(aurora)
    fine, _ = invite(borealis, by="boris", place=borealis.organization, email="new@fine.example", role="auditor")

    really = mail.send

    def send(letter):
        if letter.to == "nora@new.example":
            raise ValueError("no such header")
        really(letter)

    monkeypatch.setattr(mail, "send", send)
    outbox.outbox = []
    tasks.sweep_invitations()

    with aurora.scope():
        row = Invitation.objects.get(pk=broken.pk)
        assert (row.mailed_at, row.mail_error) == (None, "The letter could not be written.")
        assert row.mail_due_at is not None
        assert row.mail_due_at > timezone.now()
    with borealis.scope():
        assert Invitation.objects.get(pk=fine.pk).mailed_at is not None


def test_a_subject_is_one_line_whatever_the_organisation_was_called(aurora):
    with house.an_act(), aurora.scope():
        Organization.objects.filter(pk=aurora.organization.pk).update(name="Aur\nBcc: evil@x.example")
    invitation, _ = invite(aurora)
    outbox.outbox = []

    invitation_mail.send_one(
        organization_id=aurora.organization.pk, invitation_id=invitation.pk, send=mail.send, now=timezone.now()
    )

    [letter] = outbox.outbox
    assert letter.subject == "You are invited to Aur Bcc: evil@x.example on Steelyard"
    assert letter.recipients() == ["nora@new.example"]

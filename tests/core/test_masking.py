"""No secret and no name of a person is ever kept in an audit entry."""

from __future__ import annotations

import re
import time

import pytest
from django.conf import settings
from django.utils import timezone

from core import audit
from core.masking import ADDRESS, MASK, clean, is_secret, masked
from core.models import AuditEvent
from core.types import ObjectRef
from tests.house import an_act


class TestNames:
    @pytest.mark.parametrize(
        "name",
        [
            *("secret", "client_secret", "secretHash", "password", "password_hash", "api_key", "apiKey", "private_key"),
            *("token", "access_token", "Authorization", "session_key", "kubeconfig", "recovery_codes", "totp"),
            *("signing-key", "database_url", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY"),
        ],
    )
    def test_of_secrets_are_known(self, name):
        assert is_secret(name)

    @pytest.mark.parametrize(
        "name",
        [
            *("name", "limit", "tokens_per_minute", "token_id", "password_changed", "key", "keep_days", "secret_at"),
            *("content_hash", "token_prefix", "pinned", "tokens", "monkey"),
        ],
    )
    def test_of_other_things_are_left(self, name):
        assert not is_secret(name)


class TestValues:
    def test_below_environment_and_headers_keep_their_names_alone(self):
        assert masked({"spec": {"env": {"MODE": "fast", "EMPTY": ""}}}) == {
            "spec": {"env": {"MODE": MASK, "EMPTY": ""}}
        }

    def test_that_tell_only_whether_a_secret_is_there_stay(self):
        assert masked({"secret": True, "password": None, "token": ""}) == {
            "secret": True,
            "password": None,
            "token": "",
        }

    @pytest.mark.parametrize(
        "text",
        [
            "sty_abcdefgh12345678",
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
            "Bearer abcdefghijkl",
            "argon2$argon2id$v=19$m=64,t=1,p=4$c2FsdA$aGFzaA",
            "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4",
        ],
    )
    def test_that_look_like_secrets_are_masked_wherever_they_stand(self, text):
        assert clean(f"before {text}") == f"before {MASK}"
        assert masked({"rules": [{"note": text}]}) == {"rules": [{"note": MASK}]}

    def test_passwords_in_addresses_are_masked(self):
        assert clean("https://user:hunter2@example.com/x") == f"https://{MASK}@example.com/x"

    def test_e_mail_addresses_give_way(self):
        assert clean("invited zoë.o'hara+x@mail.example.com today") == f"invited {ADDRESS} today"
        assert masked({"to": ["a@b.example"]}) == {"to": [ADDRESS]}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text", ["x" * 200_000, "a.b-" * 50_000, "eyJaaaaaaaa-" * 5_000], ids=["word", "dots", "tokens"]
)
def test_a_text_of_any_length_is_cleaned_in_no_time(text):
    started = time.process_time()

    assert clean(text) == text
    assert time.process_time() - started < 5


def test_a_long_word_before_an_address_does_not_hide_it():
    assert "@" not in clean("x" * 500 + "alice@aurora.example")


def test_every_entry_passes_the_mask(aurora):
    with an_act(), aurora.scope():
        audit.record(
            aurora.actor("olivia"),
            "project.renamed",
            ObjectRef("invitation", "1", "new@person.example"),
            now=timezone.now(),
            before={"client_secret": "hunter2"},
            after={"client_secret": "hunter3", "note": "from sty_abcdefgh12345678"},
        )

    with aurora.scope():
        event = AuditEvent.objects.latest("pk")
    assert event.before == {"client_secret": MASK}
    assert event.after == {"client_secret": MASK, "note": f"from {MASK}"}
    assert event.object_label == ADDRESS


def test_nothing_else_writes_entries():
    """One door, so that one mask is enough."""
    writes = re.compile(r"AuditEvent\(|AuditEvent\.objects\.(create|bulk_create|update_or_create|get_or_create)")
    apps = ("core", "tenants", "billing", "provisioning", "mlops", "inference", "portal")
    places = {
        str(path.relative_to(settings.BASE_DIR))
        for app in apps
        for path in (settings.BASE_DIR / app).rglob("*.py")
        if writes.search(path.read_text()) and "migrations" not in path.parts
    }

    assert places == {"core/audit.py", "core/models.py"}

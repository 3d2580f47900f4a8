"""A change of the installation's key: every stored secret moves under the new one, and the old one may go."""

from __future__ import annotations

import ast
from io import StringIO
from pathlib import Path

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from cryptography.fernet import Fernet
from django.conf import settings as house_settings
from django.core.management import call_command
from django.utils import timezone

from core import scope
from core.encryption import Undecipherable, decrypted
from provisioning.drivers.places import Connection
from provisioning.models import ClusterAccess
from provisioning.services.clusters import Registration, register
from tenants.models import IdentityProvider
from tenants.services import sign_in
from tenants.services.sign_in import ProviderDraft
from tests import house
from tests.provisioning.stage import open_shop

ROOT = Path(house_settings.BASE_DIR)
ENCRYPTING = {
    "core/encryption.py",
    "portal/accounts.py",
    "portal/web/organization/join.py",
    "provisioning/models/clusters.py",
    "tenants/services/audit_log.py",
    "tenants/services/invitations.py",
    "tenants/services/sign_in.py",
}
"""`portal.keys.COLUMNS` knows what these store; a session's secret ends with the session."""


@pytest.mark.django_db
def test_secrets_move_under_the_new_key_and_the_old_one_may_go(aurora, settings):
    draft = ProviderDraft("Aurora", "https://a.example", "c", "hush", "groups", True)
    with house.an_act(), aurora.scope():
        sign_in.save_provider(
            actor=aurora.actor("olivia"), organization=aurora.organization, draft=draft, now=timezone.now()
        )
    totp.TOTP.activate(aurora.people["alice"], "SECRETSECRET")
    open_shop()
    with house.an_act(), scope.of_platform():
        reached = Connection("https://k.example", token="tok")
        register(actor=house.SYSTEM, registration=Registration("lab", "Lab", "here", reached), now=timezone.now())
    new = Fernet.generate_key().decode()
    settings.FIELD_KEYS = [new, *settings.FIELD_KEYS]
    said = StringIO()

    call_command("rotate_field_keys", stdout=said)

    settings.FIELD_KEYS = [new]
    assert said.getvalue().startswith("3 secrets")
    with aurora.scope():
        assert decrypted(IdentityProvider.objects.get().client_secret) == "hush"
    assert decrypted(Authenticator.objects.get().data["secret"]) == "SECRETSECRET"
    with scope.of_platform():
        assert ClusterAccess.objects.get().connection == reached


@pytest.mark.django_db
def test_nothing_moves_where_a_key_is_missing(aurora, settings):
    totp.TOTP.activate(aurora.people["alice"], "SECRETSECRET")
    before = Authenticator.objects.get().data
    settings.FIELD_KEYS = [Fernet.generate_key().decode()]

    with pytest.raises(Undecipherable):
        call_command("rotate_field_keys")

    assert Authenticator.objects.get().data == before


def test_nothing_else_encrypts():
    """Whoever stores another secret adds it to `portal.keys.COLUMNS`, and itself here."""
    found = {
        str(path.relative_to(ROOT))
        for app in ("core", "tenants", "billing", "provisioning", "mlops", "inference", "portal")
        for path in (ROOT / app).rglob("*.py")
        if any(
            isinstance(node, ast.Name) and node.id == "encrypted" and isinstance(node.ctx, ast.Load)
            for node in ast.walk(ast.parse(path.read_text()))
        )
    }

    assert found <= ENCRYPTING

"""Accounts are made by invitation, never by a visitor; sessions can be ended from another one.

Second factors: what a thief of the database could use is encrypted there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.usersessions.adapter import DefaultUserSessionsAdapter
from allauth.usersessions.models import UserSession
from django.http import HttpRequest

from core.encryption import decrypted, encrypted
from portal import signing
from tenants.services.service_accounts import DOMAIN

if TYPE_CHECKING:
    from tenants.models import User


class InvitedOnlyAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def send_mail(self, template_prefix: str, email: str, context: dict[str, object]) -> None:
        """Service accounts have no letterbox, and so get no way to a password."""
        if not email.endswith(f"@{DOMAIN}"):
            super().send_mail(template_prefix, email, context)


class AuditedSessionsAdapter(DefaultUserSessionsAdapter):  # type: ignore[misc]
    def end_sessions(self, sessions: Sequence[UserSession]) -> None:
        ended = list(sessions)
        super().end_sessions(ended)
        if ended:
            signing.record(ended[0].user, "person.sessions_ended")


class EncryptedFactorsAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    def encrypt(self, text: str) -> str:
        return encrypted(text)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypted(encrypted_text)

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        number = Authenticator.objects.filter(user_id=user.pk, type=type).count() + 1
        return "Security key" if number == 1 else f"Security key {number}"

    def _get_site_name(self) -> str:
        return "Steelyard"

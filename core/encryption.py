"""Secrets in the database, encrypted at rest by the installation's own keys.

The first key of `FIELD_KEYS` encrypts, all of them decrypt: a new key goes in front, the former one stays behind it
until `reencrypted` has been over every secret (`manage.py rotate_field_keys`).
"""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Undecipherable(RuntimeError):
    """A secret was written under a key that this installation no longer has."""


def encrypted(plain: str) -> str:
    return _keys().encrypt(plain.encode()).decode()


def decrypted(stored: str) -> str:
    try:
        return _keys().decrypt(stored.encode()).decode()
    except InvalidToken:
        raise Undecipherable("A stored secret was written under a key that is not among FIELD_KEYS.") from None


def reencrypted(stored: str) -> str:
    """The same secret under the first key."""
    try:
        return _keys().rotate(stored.encode()).decode()
    except InvalidToken:
        raise Undecipherable("A stored secret was written under a key that is not among FIELD_KEYS.") from None


def _keys() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.FIELD_KEYS])

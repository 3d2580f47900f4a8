"""Secrets of tokens and one-time codes: made here, hashed here, never stored."""

from __future__ import annotations

import hashlib
import secrets
import zlib

TOKEN_PREFIX = "sty_"
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


def new_secret() -> str:
    """A token: prefix for secret scanners, 160 random bits, six letters of checksum."""
    body = "".join(secrets.choice(_ALPHABET) for _ in range(32))
    return f"{TOKEN_PREFIX}{body}{_checksum(body)}"


def is_well_formed(secret: str) -> bool:
    """Whether the checksum fits, so that a mistyped token costs no look-up."""
    body = secret[len(TOKEN_PREFIX) : -6]
    return secret.startswith(TOKEN_PREFIX) and len(body) == 32 and secret[-6:] == _checksum(body)


def shown_prefix(secret: str) -> str:
    """What may be shown of a secret later."""
    return secret[: len(TOKEN_PREFIX) + 6]


def new_code() -> str:
    """A one-time code of 256 random bits, safe in an address."""
    return secrets.token_urlsafe(32)


def new_challenge() -> str:
    """What a DNS record must say: 160 random bits, in letters that every zone file takes."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(32))


def hash_secret(secret: str) -> bytes:
    """SHA-256: secrets of full entropy need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    letters = ""
    for _ in range(6):
        number, index = divmod(number, 36)
        letters = _ALPHABET[index] + letters
    return letters[-6:]

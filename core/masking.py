"""What an audit entry must never hold: secrets, and what names a person. One place, passed by every entry.

A field is masked for its name (`_SECRET` words, such as `api_token` or `secretHash`), everything below a field whose
values are people's own secrets (`env`, `headers`), and any text for how it looks: our tokens, keys in PEM, bearer
words, addresses with a password in them. E-mail addresses give way to `[address]`: entries hold ids, names live in a
table that can be erased.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from core.types import Json

MASK: Final = "•••"
ADDRESS: Final = "[address]"

_SECRET = frozenset(
    {"secret", "password", "passwd", "passphrase", "token", "hash", "digest", "credential", "credentials"}
    | {"authorization", "cookie", "apikey", "signature", "otp", "totp", "pin", "kubeconfig", "dsn"}
)
_SECRET_PAIRS = frozenset(
    (word, "key") for word in ("api", "access", "secret", "private", "signing", "encryption", "field", "session", "ssh")
) | frozenset({("recovery", "codes"), ("recovery", "code"), ("connection", "string"), ("database", "url")})
_ABOUT = frozenset({"id", "ids", "at", "name", "prefix", "count", "kind", "type", "state", "changed", "expires"})
"""Last words that make a field tell of a secret without holding it: `token_id`, `password_changed`."""
_OPEN = frozenset({"content_hash", "image_digest", "manifest_hash"})
"""Hashes that name public content."""
_ALL_BELOW = frozenset({"env", "environment_variables", "headers", "secrets"})

_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_LOOKS_SECRET = re.compile(
    r"sty_[A-Za-z0-9_-]{8,}|whsec_[A-Za-z0-9+/=]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*"
    r"|\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
    r"|\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+|\b(?:pbkdf2|argon2|bcrypt|scrypt)[a-z0-9_]*\$\S+"
)
_LOOKS_ADDRESS = re.compile(r"[\w.%+'-]{1,64}@[\w-]+(?:\.[\w-]+)+")
"""At most 64 letters before the @ (RFC 5321). Without a bound a long word costs the square of its length."""


def masked(values: Mapping[str, Json]) -> dict[str, Json]:
    """The same fields, fit for an audit entry. What was empty stays empty, so that setting a secret is visible."""
    return {name: _value(name, value) for name, value in values.items()}


def clean(text: str) -> str:
    """A text without what looks like a secret or an e-mail address."""
    return _LOOKS_ADDRESS.sub(ADDRESS, _LOOKS_SECRET.sub(MASK, text))


def is_secret(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    if name.lower() in _OPEN:
        return False
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT:
        return False
    return bool(_SECRET.intersection(words)) or any(pair in _SECRET_PAIRS for pair in pairwise(words))


def _value(name: str, value: Json) -> Json:
    if is_secret(name):
        return _hidden(value)
    if isinstance(value, dict):
        hide = name.lower() in _ALL_BELOW
        return {clean(key): _hidden(inner) if hide else _value(key, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_value(name, inner) for inner in value]
    return clean(value) if isinstance(value, str) else value


def _hidden(value: Json) -> Json:
    return value if value in (None, "", [], {}) or isinstance(value, bool) else MASK

"""Cookies: ours are taken out on the way in, and none that could reach the portal is let out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache

from portal.proxy.gate import Entry

_VALUE = re.compile(r"[A-Za-z0-9_\-.~=+/:]{1,512}")
_MOST_VALUES = 3


@lru_cache(maxsize=4096)
def values_of(name: str, header: str) -> tuple[str, ...]:
    """Every plausible value under a name. A neighbouring origin may have planted another before ours."""
    found: list[str] = []
    for pair in header.split(";"):
        key, _, value = pair.strip(" \t").partition("=")
        if key == name and value not in found and _VALUE.fullmatch(value):
            found.append(value)
    return tuple(found[:_MOST_VALUES])


@lru_cache(maxsize=4096)
def without(private: frozenset[str], header: str) -> str:
    """A Cookie header without the private names; empty when nothing is left."""
    pairs = (pair.strip(" \t") for pair in header.split(";"))
    return "; ".join(pair for pair in pairs if pair and not _is_private(pair, private))


def may_leave(private: frozenset[str], header: str) -> bool:
    """Whether a workspace may set this cookie: named, host-only, and no name of ours.

    A cookie without a name is sent back as its bare value, which could read `sessionid=…`.
    """
    pair, *attributes = header.split(";")
    name, separator, _ = pair.partition("=")
    if not separator or not name.strip() or _is_private(pair, private):
        return False
    return not any(attribute.strip().lower().startswith("domain") for attribute in attributes)


def entry_cookie(name: str, entry: Entry, *, secure: bool, now: datetime) -> str:
    """The Set-Cookie value that admits a person: host-only, unreadable for scripts."""
    expires = entry.expires_at.astimezone(UTC)
    left = max(0, int((expires - now).total_seconds()))
    cookie = f"{name}={entry.cookie_value}; Path=/; Max-Age={left}; Expires={format_datetime(expires, usegmt=True)}"
    return f"{cookie}; HttpOnly; SameSite=Lax" + ("; Secure" if secure else "")


def _is_private(pair: str, private: frozenset[str]) -> bool:
    return pair.partition("=")[0].strip().lower() in private

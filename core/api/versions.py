"""ETags: the version of a row, in quotes."""

from __future__ import annotations

import re
from hashlib import blake2b

from core.errors import FieldError, Invalid, Stale

_VERSION = re.compile(r'^"([0-9]{1,18})(?:-[0-9a-f]{24})?"$')


def etag(version: int | str) -> str:
    return f'"{version}"'


def fingerprint(content: bytes) -> str:
    """A version for what has none: equal content, equal version."""
    return blake2b(content, digest_size=12).hexdigest()


def with_content(version: int, content: bytes) -> str:
    """For what also changes by itself: other content is another ETag, while If-Match asks for the version alone."""
    return f"{version}-{fingerprint(content)}"


def matches(header: str | None, version: int | str) -> bool:
    """Whether If-None-Match names this version (weakly compared) or any."""
    if not header:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return "*" in tags or etag(version) in tags


def expected(header: str | None) -> int | None:
    """The version that If-Match asks for; None where it asks for none or any. A tag that no row can have is stale."""
    if header is None or header.strip() == "*":
        return None
    if "," in header:
        raise Invalid([FieldError("If-Match", "one_version", "Name one version, the one that you have read.")])
    found = _VERSION.match(header.strip())
    if found is None:
        raise Stale("The object has changed since you read it. Read it again, then send your change.")
    return int(found[1])

"""Ids: UUIDv7, so that they sort by time."""

from __future__ import annotations

from uuid import UUID

import uuid_utils.compat


def uuid7() -> UUID:
    """A new id. Ids made later sort later, to the millisecond and beyond within one process."""
    return uuid_utils.compat.uuid7()

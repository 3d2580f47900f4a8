"""Keyset pages: newest first by UUIDv7, one query each, however deep."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from core.errors import FieldError, Invalid

DEFAULT_LIMIT = 50
LARGEST_LIMIT = 200
_AFTER, _BEFORE, _AT = b"a", b"b", b"n"

M = TypeVar("M", bound=Model)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Asked:
    """Which page: `after` a row (older ones) or `before` it (newer ones)."""

    limit: int = DEFAULT_LIMIT
    anchor: UUID | None = None
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class Page(Generic[R]):
    rows: Sequence[R]
    next_cursor: str | None
    previous_cursor: str | None


def asked(query: Mapping[str, str]) -> Asked:
    """The page that query fields ask for. Raises Invalid."""
    limit = query.get("limit")
    cursor = query.get("cursor")
    size = DEFAULT_LIMIT if limit is None else _limit(limit)
    if cursor is None:
        return Asked(size)
    backwards, anchor = _opened(cursor)
    return Asked(size, anchor, backwards)


def cut(rows: QuerySet[M, R], page: Asked) -> Page[R]:
    """One page of the rows, in one query. Rows are objects, `values()` with an `id`, or tuples that begin with it."""
    if page.backwards:
        found = list(rows.filter(pk__gt=page.anchor).order_by("pk")[: page.limit + 1])
    elif page.anchor is not None:
        found = list(rows.filter(pk__lt=page.anchor).order_by("-pk")[: page.limit + 1])
    else:
        found = list(rows.order_by("-pk")[: page.limit + 1])
    more = len(found) > page.limit
    kept = found[: page.limit]
    if page.backwards:
        kept.reverse()
    if not kept:
        return Page(kept, None, None)
    older = more or page.backwards
    newer = more if page.backwards else page.anchor is not None
    return Page(
        kept,
        next_cursor=_sealed(_AFTER, kept[-1]) if older else None,
        previous_cursor=_sealed(_BEFORE, kept[0]) if newer else None,
    )


def cut_whole(results: Sequence[R], query: Mapping[str, str]) -> Page[R]:
    """One page of a list that is at hand already. Its cursors count rows. Raises Invalid."""
    size = _limit(query["limit"]) if "limit" in query else DEFAULT_LIMIT
    start = _counted(query["cursor"]) if "cursor" in query else 0
    end = start + size
    return Page(
        results[start:end],
        next_cursor=_seal(_AT, end.to_bytes(16)) if end < len(results) else None,
        previous_cursor=_seal(_AT, max(start - size, 0).to_bytes(16)) if start else None,
    )


def envelope(request: HttpRequest, page: Page[R], results: Sequence[object]) -> dict[str, object]:
    return {
        "results": results,
        "next": _address(request, page.next_cursor),
        "previous": _address(request, page.previous_cursor),
    }


def _address(request: HttpRequest, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    query = {name: value for name, value in request.GET.items() if name != "cursor"}
    return request.build_absolute_uri(f"{request.path}?{urlencode({**query, 'cursor': cursor})}")


def _limit(word: str) -> int:
    if not (word.isascii() and word.isdigit()) or len(word) > 4 or not 1 <= int(word) <= LARGEST_LIMIT:
        raise Invalid([FieldError("limit", "out_of_range", f"A page holds 1 to {LARGEST_LIMIT} rows.")])
    return int(word)


def _sealed(direction: bytes, row: object) -> str:
    return _seal(direction, _key(row).bytes)


def _seal(direction: bytes, place: bytes) -> str:
    return urlsafe_b64encode(direction + place).rstrip(b"=").decode()


def _key(row: object) -> UUID:
    if isinstance(row, Mapping):
        return UUID(str(row["id"]))
    found = row[0] if isinstance(row, tuple) else getattr(row, "pk", None)
    return found if isinstance(found, UUID) else UUID(str(found))


def _opened(cursor: str) -> tuple[bool, UUID]:
    """(backwards, id): a direction and an id of version 7, nothing else."""
    direction, place = _unsealed(cursor)
    anchor = UUID(bytes=place)
    if direction not in (_AFTER, _BEFORE) or anchor.version != 7:
        raise _unknown_cursor()
    return direction == _BEFORE, anchor


def _counted(cursor: str) -> int:
    direction, place = _unsealed(cursor)
    if direction != _AT:
        raise _unknown_cursor()
    return int.from_bytes(place)


def _unsealed(cursor: str) -> tuple[bytes, bytes]:
    """17 bytes: one says what the other sixteen mean."""
    try:
        raw = urlsafe_b64decode(cursor.encode("ascii") + b"=")
    except ValueError:
        raw = b""
    if len(cursor) != 23 or len(raw) != 17:
        raise _unknown_cursor()
    return raw[:1], raw[1:]


def _unknown_cursor() -> Invalid:
    return Invalid([FieldError("cursor", "unknown_cursor", "Follow `next` or `previous` of a page.")])

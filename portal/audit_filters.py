"""The filters of the audit log as pages, API, exports and saved views write them: words in, one search out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time
from typing import Final
from uuid import UUID

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from core.acts import SourceKind
from core.audit_search import Found, Search
from core.models import Outcome
from tenants.selectors.names import ids_of_people_named

NAMES: Final = (
    "q",
    "actor",
    "on_behalf_of",
    "verb",
    "object_kind",
    "object",
    "outcome",
    "source",
    "from",
    "to",
)
_WORDS_AT_MOST = 5


def chosen_of(given: Mapping[str, str]) -> dict[str, str]:
    """The filters that are set, cleaned; whatever else is given is left out."""
    words = {name: str(given.get(name, "")).replace("\0", "").strip()[:200] for name in NAMES}
    if words["outcome"] not in Outcome.values:
        words["outcome"] = ""
    if words["source"] not in {kind.value for kind in SourceKind}:
        words["source"] = ""
    return {name: word for name, word in words.items() if word}


def search_of(chosen: Mapping[str, str]) -> Search:
    """What the filters ask for. Days are whole days in the current time zone; people are found by id, name, address."""
    words = chosen.get("q", "").split()[:_WORDS_AT_MOST]
    return Search(
        words=tuple(Found(word, _named(word)) for word in words),
        actors=_people(chosen.get("actor", "")),
        principals=_people(chosen.get("on_behalf_of", "")),
        verb=chosen.get("verb", ""),
        object_kind=chosen.get("object_kind", ""),
        object_id=chosen.get("object", ""),
        outcome=chosen.get("outcome", ""),
        source=chosen.get("source", ""),
        since=_instant(chosen.get("from", ""), time.min),
        until=_instant(chosen.get("to", ""), time.max),
    )


def _named(word: str) -> frozenset[UUID]:
    return ids_of_people_named(word) if as_uuid(word) is None else frozenset()


def _people(words: str) -> frozenset[UUID] | None:
    if not words:
        return None
    exact = as_uuid(words)
    return frozenset({exact}) if exact is not None else ids_of_people_named(words)


def as_uuid(word: str) -> UUID | None:
    try:
        return UUID(word)
    except ValueError:
        return None


def _instant(word: str, edge: time) -> datetime | None:
    """A day's edge, or the very instant that is written."""
    try:
        day = parse_date(word)
        at = None if day else parse_datetime(word)
    except ValueError:
        return None
    if day is not None:
        return timezone.make_aware(datetime.combine(day, edge))
    if at is None:
        return None
    return at if at.tzinfo else timezone.make_aware(at)

"""Billing periods tile time: each starts where the one before ended, whatever happens to the organisation's zone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core.timezones import first_instant, month_of


@dataclass(frozen=True, slots=True)
class Span:
    """A named half-open range [start, end) of instants."""

    name: str
    start: datetime
    end: datetime

    def holds(self, instant: datetime) -> bool:
        return self.start <= instant < self.end


def reaching(known: Sequence[Span], *, instant: datetime, zone: str) -> list[Span]:
    """The spans to add to the known ones (in order, without gaps) so that one holds the instant. None if one does."""
    if not known:
        month = month_of(instant, zone)
        return [Span(month.name, month.start, month.end)]
    added: list[Span] = []
    first, last = known[0], known[-1]
    while instant >= last.end:
        last = _following(last, zone)
        added.append(last)
    while instant < first.start:
        first = _preceding(first, zone)
        added.append(first)
    return added


def holding(spans: Sequence[Span], instant: datetime) -> Span:
    """The span that holds the instant."""
    return next(span for span in spans if span.holds(instant))


def middle_of(name: str) -> datetime:
    """An instant inside the month of that name in every zone. Raises ValueError for what is no month."""
    return datetime.strptime(name, "%Y-%m").replace(day=15, hour=12, tzinfo=UTC)


def _following(span: Span, zone: str) -> Span:
    name = _shift(span.name, 1)
    return Span(name, span.end, first_instant(*_numbers(_shift(name, 1)), zone))


def _preceding(span: Span, zone: str) -> Span:
    name = _shift(span.name, -1)
    return Span(name, first_instant(*_numbers(name), zone), span.start)


def _shift(name: str, months: int) -> str:
    year, month = _numbers(name)
    index = year * 12 + month - 1 + months
    return f"{index // 12:04d}-{index % 12 + 1:02d}"


def _numbers(name: str) -> tuple[int, int]:
    return int(name[:4]), int(name[5:7])

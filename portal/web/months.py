"""The month that a page is about, and its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from core.timezones import Month, month, month_of, parse_month


@dataclass(frozen=True, slots=True)
class Pages:
    """Month names for links; `following` is empty for the month that is under way."""

    month: Month
    title: str
    previous: str
    following: str


def pages_of(asked: str, zone: str, now: datetime) -> Pages | None:
    """The month asked for, or the current one where none is; None for what is no month or has not begun."""
    try:
        found = parse_month(asked, zone) if asked else month_of(now, zone)
        return _pages(found, now) if found.start <= now else None
    except (ValueError, OverflowError):
        return None


def _pages(found: Month, now: datetime) -> Pages:
    return Pages(
        month=found,
        title=found.start.astimezone(ZoneInfo(found.zone)).strftime("%B %Y"),
        previous=_shifted(found, -1).name,
        following=_shifted(found, 1).name if found.end <= now else "",
    )


def _shifted(of: Month, by: int) -> Month:
    number = of.year * 12 + of.month - 1 + by
    return month(number // 12, number % 12 + 1, of.zone)

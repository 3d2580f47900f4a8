"""Calendar periods of a time zone as exact instants."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
"""What people give lies between: at the ends of the calendar no time zone can say what time it is."""
NOT_AN_INSTANT = "Choose an instant between the years 2000 and 2200."


def is_in_reach(instant: datetime) -> bool:
    return EARLIEST <= instant < LATEST


@dataclass(frozen=True, slots=True)
class Month:
    """A calendar month of one time zone: half-open [start, end), both instants in UTC."""

    year: int
    month: int
    zone: str
    start: datetime
    end: datetime

    @property
    def name(self) -> str:
        return f"{self.year:04d}-{self.month:02d}"

    @property
    def seconds(self) -> int:
        """Elapsed seconds: 743 h of them in a Berlin March."""
        return int((self.end - self.start).total_seconds())


def month(year: int, number: int, zone: str) -> Month:
    """The calendar month as people of that zone count it."""
    following = (year + 1, 1) if number == 12 else (year, number + 1)
    return Month(
        year=year,
        month=number,
        zone=zone,
        start=first_instant(year, number, zone),
        end=first_instant(*following, zone),
    )


def month_of(instant: datetime, zone: str) -> Month:
    """The month that an aware instant falls into."""
    local = instant.astimezone(ZoneInfo(zone))
    return month(local.year, local.month, zone)


def first_instant(year: int, number: int, zone: str) -> datetime:
    """Midnight of the first day, in UTC. A midnight that a clock change skips is the instant of the change."""
    return datetime(year, number, 1, tzinfo=ZoneInfo(zone)).astimezone(UTC)


def parse_month(name: str, zone: str) -> Month:
    """`2026-11` → that month. Raises ValueError for anything else."""
    parsed = datetime.strptime(name, "%Y-%m").replace(tzinfo=UTC)
    return month(parsed.year, parsed.month, zone)

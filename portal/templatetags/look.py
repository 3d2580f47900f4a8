"""How numbers, money and times are written for people. Documented in templates/cotton/README.md."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Protocol

from django import template
from django.utils import timezone

register = template.Library()

_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}
_STEPS = ((60, "second"), (60, "minute"), (24, "hour"), (7, "day"))
_PROGRAMS = (r"(Edg)/(\d+)", r"(Firefox)/(\d+)", r"((?:Headless)?Chrome)/(\d+)", r"(Version)/(\d+).* Safari")
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)
_JUST_NOW = 10
"""Seconds for which it is still, or nearly, now."""


class Amount(Protocol):
    """What `core.money.Money` is to a page."""

    @property
    def amount(self) -> Decimal: ...

    @property
    def currency(self) -> str: ...


@register.filter
def money(value: Amount | None) -> str:
    """A settled amount: $4,182.40, €0.10, ¥1,200, 12.500 KWD, −$0.10."""
    return "–" if value is None else _written(value.amount, value.currency)


@register.filter
def rate(value: Amount | None) -> str:
    """A price with the digits that it needs, two at least: $3.10, $0.0041."""
    if value is None:
        return "–"
    digits = max(_places(value.amount.normalize()), 0 if value.currency in {"JPY", "KRW"} else 2)
    return _written(value.amount.quantize(Decimal(1).scaleb(-digits)), value.currency)


@register.filter
def money_exact(value: Amount | None) -> str:
    """Every digit and the currency's code: 12.4311712 EUR."""
    return "" if value is None else f"{value.amount:,f} {value.currency}".replace("-", "−")


@register.filter
def duration(value: timedelta | None) -> str:
    """4 h 0 min 18 s; hours are not turned into days, since prices are by the hour."""
    if value is None:
        return "–"
    hours, rest = divmod(int(value.total_seconds()), 3600)
    minutes, seconds = divmod(rest, 60)
    if hours:
        return f"{hours:,} h {minutes} min {seconds} s"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


@register.filter
def ago(value: datetime | None) -> str:
    """2 minutes ago, in 3 hours, just now."""
    if value is None:
        return "–"
    seconds = (value - timezone.now()).total_seconds()
    distance = abs(seconds)
    if distance < _JUST_NOW:
        return "in a moment" if seconds > 0 else "just now"
    number, unit = _largest(distance)
    words = f"{number} {unit}{'' if number == 1 else 's'}"
    return f"in {words}" if seconds > 0 else f"{words} ago"


@register.filter
def left(limit: int, used: int) -> int:
    """What remains under a limit; never below nothing."""
    return max(limit - used, 0)


@register.filter
def count(value: int) -> str:
    """2,048."""
    return f"{value:,}"


@register.filter
def share(per_mille: int) -> str:
    """A part of a whole: 372 is 37.2 %."""
    return f"{per_mille // 10}.{per_mille % 10} %"


@register.filter
def times(count: int | str) -> range:
    """For loops that only repeat."""
    return range(int(count))


@register.filter
def browser(user_agent: str) -> str:
    """Chrome 156 on Linux; what is not known stands as it came."""
    program = next((found for pattern in _PROGRAMS if (found := re.search(pattern, user_agent))), None)
    system = next((name for word, name in _SYSTEMS if word in user_agent), "")
    if program is None:
        return user_agent or "–"
    name = program.group(1).removeprefix("Headless").replace("Edg", "Edge").replace("Version", "Safari")
    return f"{name} {program.group(2)}" + (f" on {system}" if system else "")


def _written(amount: Decimal, currency: str) -> str:
    minus = "−" if amount < 0 else ""
    digits = f"{abs(amount):,f}"
    sign = _SIGNS.get(currency)
    return f"{minus}{sign}{digits}" if sign else f"{minus}{digits} {currency}"


def _places(amount: Decimal) -> int:
    exponent = amount.as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def _largest(seconds: float) -> tuple[int, str]:
    value = seconds
    for size, unit in _STEPS[:-1]:
        if value < size:
            return round(value), unit
        value /= size
    return round(value), "day"

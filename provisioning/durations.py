"""The installation's times, by the names of its settings."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings


def duration(name: str) -> timedelta:
    """One of the durations of `settings.STEELYARD`. Asked at use, so that tests may shrink them."""
    value = settings.STEELYARD[name]
    if not isinstance(value, timedelta):
        raise TypeError(f"STEELYARD[{name!r}] is not a duration.")
    return value

"""The installation's spans of time, as pages and the API show them."""

from __future__ import annotations

from datetime import timedelta

from provisioning.durations import duration


def volume_kept() -> timedelta:
    """How long a deleted workload's disk can be brought back."""
    return duration("VOLUME_KEPT")


def warning() -> timedelta:
    """How long before a stop by rule its owner is told."""
    return duration("WARN_BEFORE_STOP")


def extension() -> timedelta:
    """What one click on "keep" gives."""
    return duration("EXTEND_BY")

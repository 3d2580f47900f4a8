"""Counts and times of the API, by route and not by address, so that their number stays small."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

_REQUESTS = Counter("steelyard_api_requests_total", "Answered requests.", ["route", "method", "status"])
_SECONDS = Histogram("steelyard_api_seconds", "Seconds from the view's start to its answer.", ["route", "method"])


def observe(*, route: str, method: str, status: int, seconds: float) -> None:
    _REQUESTS.labels(route, method, str(status)).inc()
    _SECONDS.labels(route, method).observe(seconds)

"""How many requests an actor may send in a minute. Counted in Redis; a Redis that is away limits nobody."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

import redis
import structlog
from django.conf import settings

WINDOW_SECONDS = 60
_REST_AFTER_FAILURE_SECONDS = 5
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of the current minute. `reset_seconds`: until the next one begins."""

    limit: int
    used: int
    reset_seconds: int

    @property
    def remaining(self) -> int:
        return max(self.limit - self.used, 0)

    @property
    def exhausted(self) -> bool:
        return self.used > self.limit

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset_seconds),
        }


class Counter:
    """One Redis command per request; after a failure none for a few seconds, so that a dead Redis costs no time."""

    def __init__(self, address: str) -> None:
        self._redis = redis.Redis.from_url(address, socket_timeout=0.25, socket_connect_timeout=0.25)
        self._resting_until = 0.0

    def spend(self, who: str, *, limit: int) -> Allowance | None:
        """Count one request; None where nothing can be counted."""
        if time.monotonic() < self._resting_until:
            return None
        now = time.time()
        window = int(now // WINDOW_SECONDS)
        key = f"steelyard:limit:{who}:{window}"
        try:
            used = int(self._redis.incr(key))
            if used == 1:
                self._redis.expire(key, 2 * WINDOW_SECONDS)
        except redis.RedisError as error:
            log.warning("rate_limit_not_counted", error=str(error))
            self._resting_until = time.monotonic() + _REST_AFTER_FAILURE_SECONDS
            return None
        return Allowance(limit, used, int((window + 1) * WINDOW_SECONDS - now) + 1)


@cache
def counter_at(address: str) -> Counter:
    return Counter(address)


def spend(who: str) -> Allowance | None:
    """Count one request of an actor or an address against the installation's limit."""
    counter = counter_at(settings.CACHES["default"]["LOCATION"])
    return counter.spend(who, limit=settings.API_RATE_LIMIT_PER_MINUTE)

"""A cluster comes round to things in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(ask: Callable[[], T | None], *, seconds: float = 90.0) -> T:
    """The first answer that is true."""
    end = time.monotonic() + seconds
    while not (found := ask()):
        assert time.monotonic() < end, f"not within {seconds:.0f} s"
        time.sleep(0.05)
    return found

"""What the proxy is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

COOKIE_NAME: Final = "steelyard_workspace"
PORTAL_COOKIES: Final = frozenset({"sessionid", "csrftoken", "messages"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Seconds. Tests shrink them."""

    recheck: float = 5.0
    """How old a verdict may be, and how often what is open is asked about again."""
    recheck_grace: float = 30.0
    """How long something open outlives a gatekeeper that does not answer."""
    gate: float = 5.0
    refusal: float = 1.0
    head: float = 10.0
    keep_alive: float = 75.0
    body: float = 60.0
    stall: float = 300.0
    linger: float = 5.0
    connect: float = 5.0
    upstream_idle: float = 30.0
    upstream_fresh: float = 1.0
    """A request that must not be sent twice only uses a connection that answered this recently."""
    drain: float = 10.0
    listen: float = 1.0
    """How often what a workload says is asked for, however many listen."""
    heartbeat: float = 15.0
    sweep: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    target_bytes: int = 16_384
    head_bytes: int = 65_536
    headers: int = 128
    pipelined: int = 128
    connections: int = 8_192
    verdicts: int = 20_000
    streams: int = 8
    """Open at a time for each person."""
    feed_bytes: int = 1_048_576
    """Kept of each source for those who read more slowly than it speaks."""
    feed_items: int = 8_192
    idle_upstreams: int = 32
    """Kept open per workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyConfig:
    """`reentry_url` may hold `{label}` and `{next}`; without it a person is shown the way to `portal_url`."""

    domain: str
    portal_url: str
    reentry_url: str | None = None
    host: str = "127.0.0.1"
    port: int = 8001
    https: bool = False
    """The scheme people see; encryption itself ends in front of the proxy."""
    portal_cookies: frozenset[str] = PORTAL_COOKIES
    clocks: Clocks = field(default_factory=Clocks)
    limits: Limits = field(default_factory=Limits)

    @property
    def scheme(self) -> str:
        return "https" if self.https else "http"

    @property
    def cookie_name(self) -> str:
        return f"__Host-{COOKIE_NAME}" if self.https else COOKIE_NAME

    @property
    def private_cookies(self) -> frozenset[str]:
        """Names, in lower case, that pass neither way."""
        bare = {name.lower().removeprefix("__host-").removeprefix("__secure-") for name in self.portal_cookies}
        bare.add(COOKIE_NAME)
        return frozenset(prefix + name for name in bare for prefix in ("", "__host-", "__secure-"))

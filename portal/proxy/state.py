"""What all connections of one proxy share."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Protocol, TextIO

from portal.proxy.access_log import AccessLog
from portal.proxy.config import ProxyConfig
from portal.proxy.feeds import Feeds
from portal.proxy.gate import Gatekeeper
from portal.proxy.splice import Splice
from portal.proxy.upstream import UpstreamPool
from portal.proxy.verdicts import Verdicts

logger = logging.getLogger(__name__)


class ClientEnd(Protocol):
    """A client's connection as the sweep and the shutdown see it. `deadline` is a monotonic instant."""

    deadline: float

    @property
    def idle(self) -> bool: ...

    def expire(self) -> None: ...

    def stop_when_idle(self) -> None: ...

    def abort(self) -> None: ...


class State:
    def __init__(self, config: ProxyConfig, gate: Gatekeeper, log: TextIO | None) -> None:
        self.config = config
        self.gate = gate
        self.private_cookies = config.private_cookies
        self.verdicts = Verdicts(gate, config.clocks, config.limits)
        self.feeds = Feeds(gate, config.clocks, config.limits)
        self.pool = UpstreamPool(config.clocks, config.limits)
        self.log = AccessLog(log)
        self.clients: set[ClientEnd] = set()
        self.splices: set[Splice] = set()
        self.draining = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def full(self) -> bool:
        return len(self.clients) + len(self.splices) > self.config.limits.connections

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def sweep(self) -> None:
        """One clock for every connection: what is past its deadline ends."""
        while True:
            await asyncio.sleep(self.config.clocks.sweep)
            try:
                self._sweep_once()
            except Exception:
                logger.exception("a sweep failed; the next one follows")

    def _sweep_once(self) -> None:
        now = time.monotonic()
        for client in [client for client in self.clients if client.deadline < now]:
            client.expire()
        for splice in [splice for splice in self.splices if splice.deadline < now]:
            splice.expire()
        self.pool.sweep()
        self.log.flush()

"""Starting and stopping the data plane."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from typing import Final, TextIO

from portal.proxy.client import ClientConnection
from portal.proxy.config import ProxyConfig
from portal.proxy.gate import Gatekeeper
from portal.proxy.splice import GOING_AWAY
from portal.proxy.state import State

_BACKLOG: Final = 1024
_LOOK: Final = 0.05


class WorkspaceProxy:
    """One listening data plane. `port` is the real one once it has started."""

    def __init__(self, config: ProxyConfig, gate: Gatekeeper, *, log: TextIO | None = None) -> None:
        self._state = State(config, gate, log)
        self._config = config
        self._server: asyncio.Server | None = None
        self._loops: tuple[asyncio.Task[None], ...] = ()
        self.port = config.port

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: ClientConnection(self._state), self._config.host, self._config.port, backlog=_BACKLOG
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self._loops = (asyncio.create_task(self._state.sweep()), asyncio.create_task(self._state.verdicts.watch()))

    def revoke(self, pass_key: str) -> None:
        """A hint that a permission has ended: what rests on it closes now instead of at the next recheck."""
        self._state.verdicts.revoke(pass_key)

    async def stop(self) -> None:
        """Accept nothing new, let answers under way finish for a while, tell sockets to come back later."""
        state = self._state
        state.draining = True
        if self._server is not None:
            self._server.close()
        for client in tuple(state.clients):
            client.stop_when_idle()
        state.feeds.close()
        for splice in tuple(state.splices):
            splice.close(GOING_AWAY, "the proxy restarts")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._config.clocks.drain):
                while state.clients or state.splices:
                    await asyncio.sleep(_LOOK)
        for client in tuple(state.clients):
            client.abort()
        for splice in tuple(state.splices):
            splice.expire()
        state.pool.close()
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        state.log.flush()


async def serve(config: ProxyConfig, gate: Gatekeeper, ready: Callable[[WorkspaceProxy], None]) -> None:
    """Serve until SIGTERM or SIGINT, then stop gracefully. `ready` is called once the port listens.

    Run it with `uvloop.run`. The access log goes to standard output.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    proxy = WorkspaceProxy(config, gate, log=sys.stdout)
    await proxy.start()
    ready(proxy)
    await stopped.wait()
    await proxy.stop()

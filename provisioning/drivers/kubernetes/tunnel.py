"""Ways to a pod's loopback: private unix sockets of this process, bridged to the `pods/portforward` subresource.

Each connection that a socket accepts gets a WebSocket of its own to the API server, so that the bytes of HTTP and of
WebSockets pass as they are, and either side's end is the other's. One loop in one thread serves all sockets.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
import yarl

from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.kubernetes.client import tls_context
from provisioning.drivers.kubernetes.guard import guarded_socket
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.reading import name_of, text
from provisioning.drivers.places import Connection

PROTOCOL: Final = "v4.channel.k8s.io"
DATA, ERROR = 0, 1
PORT_BYTES: Final = 2
CHUNK: Final = 64 * 1024
OPEN_S: Final = 10.0
HEARTBEAT_S: Final = 30.0
CLOSE_S: Final = 2.0
SOCKET_S: Final = 5.0
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Way:
    """One pod's port. The connection is replaced when the cluster is reached otherwise."""

    connection: Connection
    url: str
    socket: Path
    server: asyncio.Server | None = None


@dataclass(slots=True)
class _Tunnels:
    """All ways of this process."""

    folder: Path
    loop: asyncio.AbstractEventLoop
    ways: dict[tuple[str, str, int], _Way] = field(default_factory=dict)
    number: int = 0


_lock = threading.Lock()
_by_process: dict[int, _Tunnels] = {}


def socket_to(connection: Connection, pod: Mapping[str, object], port: int) -> Path:
    """A socket that leads to the pod's port, as long as that pod lives. Asked again: the same."""
    with _lock:
        tunnels = _by_process.get(os.getpid()) or _begin()
        key = (connection.server, text(pod, "metadata", "uid"), port)
        way = tunnels.ways.get(key)
        if way is not None:
            way.connection = connection
            return way.socket
        where = path("Pod", text(pod, "metadata", "namespace"), name_of(pod))
        tunnels.number += 1
        way = _Way(
            connection,
            f"{connection.server.rstrip('/')}{where}/portforward?ports={port}",
            tunnels.folder / str(tunnels.number),
        )
        opening = asyncio.run_coroutine_threadsafe(_listen(tunnels, key, way), tunnels.loop)
        try:
            opening.result(SOCKET_S)
        except (OSError, TimeoutError) as error:
            raise DriverUnavailable(f"No way to the pod could be opened: {error}") from error
        tunnels.ways[key] = way
        return way.socket


def _begin() -> _Tunnels:
    """A folder that nobody else may enter, and a loop in a thread that ends with the process."""
    tunnels = _Tunnels(Path(tempfile.mkdtemp(prefix="steelyard-tunnels-")), asyncio.new_event_loop())
    threading.Thread(target=tunnels.loop.run_forever, name="tunnels", daemon=True).start()
    atexit.register(_clear, tunnels.folder, os.getpid())
    _by_process.clear()  # those of a parent, whose thread is not here
    _by_process[os.getpid()] = tunnels
    return tunnels


def _clear(folder: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


async def _listen(tunnels: _Tunnels, key: tuple[str, str, int], way: _Way) -> None:
    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _bridge(way, reader, writer)
        except aiohttp.WSServerHandshakeError as error:
            log.warning("tunnel_refused %s %s", error.status, way.url)
            if error.status == 404:
                _forget(tunnels, key, way)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            log.warning("tunnel_broken %s %r", way.url, error)
        finally:
            writer.close()

    way.server = await asyncio.start_unix_server(accepted, way.socket, limit=CHUNK)
    way.socket.chmod(0o600)


def _forget(tunnels: _Tunnels, key: tuple[str, str, int], way: _Way) -> None:
    """The pod is gone for good: another one has another uid."""
    with _lock:
        tunnels.ways.pop(key, None)
    if way.server is not None:
        way.server.close()
    way.socket.unlink(missing_ok=True)


async def _bridge(way: _Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    connection = way.connection
    headers = {"Authorization": f"Bearer {connection.token}"} if connection.token else {}
    connector = aiohttp.TCPConnector(ssl=tls_context(connection), force_close=True, socket_factory=guarded_socket)
    async with aiohttp.ClientSession(connector=connector, headers=headers, trust_env=False) as session:
        async with asyncio.timeout(OPEN_S):
            remote = await session.ws_connect(
                yarl.URL(way.url, encoded=True),
                protocols=(PROTOCOL,),
                server_hostname=connection.server_name or None,
                heartbeat=HEARTBEAT_S,
                max_msg_size=0,
                timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_S),
            )
        async with remote:
            try:
                await _until_either_ends(_up(reader, remote), _down(remote, writer))
            finally:
                writer.close()  # at once, and not after the other side's farewell


async def _until_either_ends(*ways: Coroutine[None, None, None]) -> None:
    tasks = [asyncio.create_task(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _up(reader: asyncio.StreamReader, remote: aiohttp.ClientWebSocketResponse) -> None:
    while chunk := await reader.read(CHUNK):
        await remote.send_bytes(bytes((DATA,)) + chunk)


async def _down(remote: aiohttp.ClientWebSocketResponse, writer: asyncio.StreamWriter) -> None:
    """The first message of each channel names the port; what follows on the error channel ends the connection."""
    named: set[int] = set()
    async for message in remote:
        if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
            continue
        channel, content = message.data[0], message.data[1:]
        if channel not in named:
            named.add(channel)
            content = content[PORT_BYTES:]
        if channel == ERROR and content:
            raise ConnectionResetError(content[:300].decode(errors="replace"))
        if channel == DATA and content:
            writer.write(content)
            await writer.drain()

"""Connections to API servers go to an address that was looked at, and to no other.

A name is resolved once for each connection, every address that it has must be one that the platform may call, and the
socket goes to one of those; certificates are checked for the name all the same. So a name that leads elsewhere a moment
after it was looked at gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

import urllib3
from aiohttp.connector import AddrInfoType
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.util.connection import create_connection

from core import outgoing

_SECURE: Final = 443


def guarded_pools(**words: object) -> urllib3.PoolManager:
    """A pool manager whose connections are guarded. Its words are those of urllib3's own."""
    pools = urllib3.PoolManager(**words)  # type: ignore[arg-type]
    pools.pool_classes_by_scheme = _POOLS
    return pools


def guarded_socket(info: AddrInfoType) -> socket.socket:
    """For aiohttp: a socket to this address, where it is one that may be called; else OSError, as if none answered."""
    family, kind, protocol, _, place = info
    if not outgoing.is_allowed(ipaddress.ip_address(str(place[0]).partition("%")[0])):
        raise OSError(f"{place[0]} is not an address that the platform calls")
    return socket.socket(family=family, type=kind, proto=protocol)


def _connected(connection: HTTPConnection) -> socket.socket:
    """Raises core.outgoing.NotReached, and urllib3's own errors."""
    host, port = connection.host, connection.port or _SECURE
    refused: OSError = OSError("It has no address.")
    for address in outgoing.addresses_of(host.strip("[]"), port):
        try:
            return create_connection((str(address), port), connection.timeout, socket_options=connection.socket_options)
        except TimeoutError as error:
            raise ConnectTimeoutError(connection, f"{host} does not answer in time") from error
        except OSError as error:
            refused = error
    raise NewConnectionError(connection, f"no connection to {host}: {refused}") from refused


class _Plain(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _connected(self)


class _Secure(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return _connected(self)


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure


_POOLS: Final[dict[str, type]] = {"http": _PlainPool, "https": _SecurePool}

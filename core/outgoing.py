"""Calls to addresses that people give us: identity providers, webhooks. A guard stands between them and our network.

The address is looked at when the connection is made, after the name is resolved, so a name that changes its mind
between a check and the call gains nothing; each redirect is a call of its own. `STEELYARD["OUTGOING_NETWORKS"]` names
networks that are allowed although they are not public: an identity provider in one's own data centre, loopback in
tests. Never called inside a transaction.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from time import monotonic
from typing import TypeAlias
from urllib.parse import urljoin, urlsplit

import httpcore
from django.conf import settings

from core.errors import SteelyardError

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_CONNECT_SECONDS = 5.0
_REDIRECTED = frozenset({301, 302, 303, 307, 308})
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class NotReached(SteelyardError):
    """The call brought no answer: refused by the guard, no such host, too slow, too large."""

    code = "not_reached"


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def fetch(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    seconds: float = 10.0,
    limit_bytes: int = 1_048_576,
    redirects: int = 0,
) -> Fetched:
    """One call, over within `seconds` (and the machine's own patience with names) whatever the other side does.

    Raises NotReached. Redirects are followed for a GET alone, each looked at like the first address; otherwise they
    are the answer.
    """
    deadline = monotonic() + seconds
    address, left = url, redirects
    while True:
        check_url(address)
        answer = _call(address, method, headers or {}, body, deadline=deadline, limit_bytes=limit_bytes)
        target = answer.headers.get("location", "")
        if method != "GET" or answer.status not in _REDIRECTED or not target or left == 0:
            return answer
        address, left = urljoin(address, target), left - 1


def check_url(url: str) -> None:
    """Raise NotReached unless the address may be asked at all: https, or http where loopback is allowed.

    A number for a host must be one that may be called. Where a name leads is looked at when the connection is made.
    """
    if not url.isascii() or not url.isprintable():
        message = "An address is written in plain letters: a name as xn--…, anything else as %XX."
        raise NotReached(message, code="malformed_address")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise NotReached("This is not an address.", code="malformed_address") from None
    if not host or parts.username is not None or parts.password is not None or any(char.isspace() for char in url):
        raise NotReached("This is not an address with a host and without a password.", code="malformed_address")
    if parts.scheme != "https" and not (parts.scheme == "http" and _names_allowed_loopback(host)):
        raise NotReached("The address must begin with https://.", code="insecure_address")
    if not all(is_allowed(address) for address in _literal(host)):
        raise NotReached(f"{host} is not on the public network, so it is not called.", code="address_not_public")


def check_host(url: str) -> None:
    """The same, and the name is resolved now: for what is called by others than `fetch`, before it is kept."""
    check_url(url)
    parts = urlsplit(url)
    addresses_of(parts.hostname or "", parts.port or 443)


def addresses_of(host: str, port: int) -> list[Address]:
    """The addresses of the name, if all of them may be called: a name that leads inside too is not trusted.

    Who makes connections of their own connects to one of these, not to the name: it may lead elsewhere a moment later.
    Raises NotReached.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotReached(f"There is no host {host}.", code="unknown_host") from None
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    if not addresses or not all(is_allowed(address) for address in addresses):
        raise NotReached(f"{host} is not on the public network, so it is not called.", code="address_not_public")
    return addresses


def is_allowed(address: Address) -> bool:
    """Whether a call may go to this address: a public one, or one of a network that the installation allows."""
    plain = _embedded(address)
    if any(plain in network for network in allowed_networks() if network.version == plain.version):
        return True
    return plain.is_global and not plain.is_multicast and not plain.is_reserved


def allowed_networks() -> tuple[Network, ...]:
    found = settings.STEELYARD["OUTGOING_NETWORKS"]
    assert isinstance(found, tuple)
    return found


class _Guard(httpcore.NetworkBackend):
    """Resolves, looks at every address, connects to the first that answers; all before the deadline."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        refused: Exception = httpcore.ConnectError("No address answers.")
        for address in addresses_of(host, port):
            patience = min(_CONNECT_SECONDS, _left(self._deadline))
            try:
                stream = self._sockets.connect_tcp(str(address), port, timeout=patience, socket_options=socket_options)
                return _Bounded(stream, self._deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refused = error
        raise refused


class _Bounded(httpcore.NetworkStream):
    """A stream whose every wait ends at the deadline, so that an answer in drops is no answer."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, timeout=_left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout=_left(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        secured = self._stream.start_tls(ssl_context, server_hostname, timeout=_left(self._deadline))
        return _Bounded(secured, self._deadline)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _call(
    url: str, method: str, headers: Mapping[str, str], body: bytes | None, *, deadline: float, limit_bytes: int
) -> Fetched:
    with httpcore.ConnectionPool(ssl_context=_trust(), network_backend=_Guard(deadline), retries=0) as pool:
        try:
            with pool.stream(method, url, headers=[*_complete(headers, url).items()], content=body) as answer:
                found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
                return Fetched(answer.status, found, _read(answer.iter_stream(), limit_bytes))
        except httpcore.TimeoutException:
            raise NotReached(f"{_host(url)} did not answer in time.", code="too_slow") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise NotReached(f"{_host(url)} cannot be reached: {error or type(error).__name__}.") from None
        except UnicodeError:
            raise NotReached("The address or a header cannot be sent.", code="malformed_address") from None


def _read(pieces: Iterable[bytes], limit_bytes: int) -> bytes:
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > limit_bytes:
            raise NotReached(f"The answer is larger than {limit_bytes} bytes.", code="too_large")
    return bytes(body)


def _complete(headers: Mapping[str, str], url: str) -> dict[str, str]:
    given = {name.lower() for name in headers}
    own = {"Host": urlsplit(url).netloc, "User-Agent": "Steelyard", "Accept": "*/*", "Accept-Encoding": "identity"}
    return {**{name: value for name, value in own.items() if name.lower() not in given}, **headers}


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, where it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else address)


def _literal(host: str) -> list[Address]:
    """The address that the host is a spelling of, `2130706433` and `0x7f.1` included; none for a name."""
    plain = host.rstrip(".")
    if plain == "localhost" or plain.endswith(".localhost"):
        return [ipaddress.IPv4Address("127.0.0.1")]
    try:
        return [ipaddress.ip_address(plain.partition("%")[0])]
    except ValueError:
        pass
    try:
        return [ipaddress.IPv4Address(socket.inet_aton(plain))]
    except OSError:
        return []


def _names_allowed_loopback(host: str) -> bool:
    """Names that cannot lead elsewhere: literal loopback addresses and `localhost`."""
    words = ["127.0.0.1", "::1"] if host == "localhost" else [host]
    try:
        addresses = [ipaddress.ip_address(word) for word in words]
    except ValueError:
        return False
    return all(address.is_loopback for address in addresses) and any(is_allowed(address) for address in addresses)


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("The time is over.")
    return left


def _host(url: str) -> str:
    return urlsplit(url).hostname or "the address"


@cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()

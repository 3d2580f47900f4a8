"""Heads of requests and responses: judged once, written anew for the other side.

Nothing is copied through as it came: each side sees only framing that was written here, so that a message has one
reading and no second request can hide in it.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from typing import Final, NamedTuple

from portal.proxy import cookies

Header = tuple[bytes, bytes]


class Malformed(Exception):
    """A message nobody should guess about."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code


class Body(Enum):
    NONE = auto()
    LENGTH = auto()
    CHUNKED = auto()
    UNTIL_CLOSE = auto()


class RequestHead(NamedTuple):
    """`notable` holds the few headers the proxy itself reads; `headers` all of them, names in lower case."""

    method: bytes
    target: bytes
    version: str
    headers: list[Header]
    notable: dict[bytes, bytes]
    body: Body
    keep_alive: bool
    switches: bool
    """The client asked for another protocol: whatever follows the head is not read as HTTP."""
    websocket: bool

    @property
    def path(self) -> str:
        return self.target.partition(b"?")[0].decode("ascii")

    @property
    def query(self) -> str:
        return self.target.partition(b"?")[2].decode("ascii")

    def text(self, name: bytes) -> str:
        return self.notable.get(name, b"").decode("latin-1")

    @property
    def wants_html(self) -> bool:
        return b"text/html" in self.notable.get(b"accept", b"")

    @property
    def repeatable(self) -> bool:
        return self.body is Body.NONE and self.method in _REPEATABLE and not self.switches


class ResponseHead(NamedTuple):
    """`headers` are those that go on as they are; what the proxy decides about stands apart."""

    status: int
    reason: bytes
    headers: list[Header]
    length: bytes | None
    cookies: list[bytes]
    body: Body


_REPEATABLE: Final = frozenset({b"GET", b"HEAD", b"OPTIONS"})
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_TARGET: Final = re.compile(rb"/[!$-~]*")
_LISTS: Final = frozenset({b"connection", b"cookie", b"accept", b"upgrade"})
_SINGLE: Final = frozenset(
    {
        b"host",
        b"origin",
        b"content-length",
        b"transfer-encoding",
        b"expect",
        b"sec-fetch-site",
        b"sec-fetch-mode",
        b"sec-fetch-dest",
    }
)
_NOTABLE: Final = _LISTS | _SINGLE
_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_NOT_FORWARDED: Final = _HOP | {
    b"authorization",
    b"content-length",
    b"cookie",
    b"expect",
    b"forwarded",
    b"host",
    b"x-real-ip",
}
_PREFIXES_NOT_FORWARDED: Final = (b"x-forwarded", b"x-steelyard", b"x-scheme", b"x-original-")
_NO_NAMES: Final[frozenset[bytes]] = frozenset()
_NOT_RETURNED: Final = _HOP | {b"content-length", b"alt-svc", b"set-cookie"}


def judge_request(
    method: bytes, target: bytes, version: str, headers: list[Header], *, keep_alive: bool
) -> RequestHead:
    """Accept a head that has exactly one reading, or raise Malformed."""
    if version not in _VERSIONS:
        raise Malformed(505, "version_not_supported")
    if method == b"CONNECT":
        raise Malformed(405, "method_not_allowed")
    if not _TARGET.fullmatch(target):
        raise Malformed(400, "bad_target")
    notable = _notable(headers)
    if b"host" not in notable:
        raise Malformed(400, "host_missing")
    if notable.get(b"expect", b"100-continue").lower() != b"100-continue":
        raise Malformed(417, "expectation_failed")
    body = _request_body(notable, version)
    switches = b"upgrade" in notable and b"upgrade" in _tokens(notable.get(b"connection", b""))
    websocket = (
        switches
        and method == b"GET"
        and version == "1.1"
        and body is Body.NONE
        and notable[b"upgrade"].strip().lower() == b"websocket"
    )
    keep_alive = keep_alive and version == "1.1" and not switches
    return RequestHead(method, target, version, headers, notable, body, keep_alive, switches, websocket)


def judge_response(status: int, reason: bytes, headers: list[Header], *, to_head: bool) -> ResponseHead:
    """Tell how the body of an answer ends and which headers are for the browser, or raise Malformed."""
    length = encoding = None
    named: frozenset[bytes] = frozenset()
    set_cookies: list[bytes] = []
    for name, value in headers:
        if name not in _NOT_RETURNED:
            continue
        if name == b"content-length":
            length = value
        elif name == b"transfer-encoding":
            encoding = value.strip().lower()
        elif name == b"set-cookie":
            set_cookies.append(value)
        elif name == b"connection":
            named |= _tokens(value)
    if to_head or status in {204, 304} or status < 200:
        body = Body.NONE
    elif encoding is not None:
        if encoding != b"chunked":
            raise Malformed(502, "bad_upstream_framing")
        body = Body.CHUNKED
    else:
        body = Body.UNTIL_CLOSE if length is None else Body.LENGTH
    kept = [header for header in headers if header[0] not in _NOT_RETURNED and header[0] not in named]
    return ResponseHead(status, reason, kept, length, set_cookies, body)


def request_bytes(head: RequestHead, *, scheme: str, private: frozenset[str]) -> bytes:
    """The head as the workspace sees it: no credential of ours, and only what we ourselves say about the way here."""
    host = head.notable[b"host"]
    named = _tokens(head.notable[b"connection"]) if b"connection" in head.notable else _NO_NAMES
    out = [b"%b %b HTTP/1.1\r\nhost: %b\r\n" % (head.method, head.target, host)]
    out += [b"%b: %b\r\n" % one for one in head.headers if _is_forwarded(one[0]) and one[0] not in named]
    if b"cookie" in head.notable:
        kept = cookies.without(private, head.text(b"cookie"))
        if kept:
            out.append(b"cookie: %b\r\n" % kept.encode("latin-1"))
    if head.body is Body.LENGTH:
        out.append(b"content-length: %b\r\n" % head.notable[b"content-length"])
    elif head.body is Body.CHUNKED:
        out.append(b"transfer-encoding: chunked\r\n")
    if head.websocket:
        out.append(b"connection: Upgrade\r\nupgrade: websocket\r\n")
    out.append(b"x-forwarded-proto: %b\r\nx-forwarded-host: %b\r\n\r\n" % (scheme.encode(), host))
    return b"".join(out)


def response_bytes(head: ResponseHead, *, chunked: bool, close: bool, private: frozenset[str]) -> bytes:
    """The head as the browser sees it."""
    out = [b"HTTP/1.1 %d %b\r\n" % (head.status, head.reason)]
    out += [b"%b: %b\r\n" % header for header in head.headers]
    for cookie in head.cookies:
        if cookies.may_leave(private, cookie.decode("latin-1")):
            out.append(b"set-cookie: %b\r\n" % cookie)
    if head.length is not None and head.status >= 200 and head.status != 204:
        out.append(b"content-length: %b\r\n" % head.length)
    if chunked:
        out.append(b"transfer-encoding: chunked\r\n")
    if head.status == 101:
        out.append(b"connection: Upgrade\r\nupgrade: websocket\r\n")
    elif close:
        out.append(b"connection: close\r\n")
    out.append(b"\r\n")
    return b"".join(out)


@lru_cache(maxsize=2048)
def _is_forwarded(name: bytes) -> bool:
    return not (name in _NOT_FORWARDED or b"_" in name or name.startswith(_PREFIXES_NOT_FORWARDED))


@lru_cache(maxsize=256)
def _tokens(value: bytes) -> frozenset[bytes]:
    return frozenset(token.strip() for token in value.lower().split(b","))


def _notable(headers: list[Header]) -> dict[bytes, bytes]:
    notable: dict[bytes, bytes] = {}
    for name, value in headers:
        if name not in _NOTABLE:
            continue
        if name not in notable:
            notable[name] = value.strip(b" \t")
        elif name in _SINGLE:
            raise Malformed(400, "header_repeated")
        else:
            notable[name] += (b"; " if name == b"cookie" else b", ") + value
    return notable


def _request_body(notable: dict[bytes, bytes], version: str) -> Body:
    encoding, length = notable.get(b"transfer-encoding"), notable.get(b"content-length")
    if encoding is not None:
        if length is not None or version == "1.0" or encoding.lower() != b"chunked":
            raise Malformed(400, "ambiguous_framing")
        return Body.CHUNKED
    if length is None:
        return Body.NONE
    if not length.isdigit() or len(length) > 18:
        raise Malformed(400, "bad_length")
    return Body.LENGTH

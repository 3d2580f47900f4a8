"""The few answers the proxy gives itself: calm pages for people, problem documents for programs."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from html import escape
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

_STYLE: Final = """
:root{color-scheme:light dark}
body{margin:0;min-height:100dvh;display:grid;place-items:center;padding:24px;box-sizing:border-box;
background:light-dark(#f7f6f3,#101215);color:light-dark(#191b1f,#eceef1);
font:15px/1.55 Inter,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:440px}
h1{margin:0 0 8px;font-size:22px;line-height:1.25;font-weight:620;letter-spacing:-.012em}
p{margin:0 0 20px;color:light-dark(#575d68,#a7aebb)}
a{display:inline-block;padding:7px 14px;border:1px solid light-dark(#cbc8bf,#3c434e);border-radius:8px;
background:light-dark(#fff,#171a1f);color:inherit;text-decoration:none;font-weight:550}
a:focus-visible{outline:2px solid light-dark(#c58a1b,#d69f33);outline-offset:2px}
small{display:block;margin-top:28px;color:light-dark(#636975,#868e9c)}
"""
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'"
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    code: str
    headers: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    body: bytes = b""

    def as_bytes(self, *, close: bool, with_body: bool) -> bytes:
        head = {
            "Date": formatdate(usegmt=True),
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            **self.headers,
            "Content-Length": str(len(self.body)),
        }
        if close:
            head["Connection"] = "close"
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        start = f"HTTP/1.1 {self.status} {_phrase(self.status)}\r\n{lines}\r\n".encode("latin-1")
        return start + self.body if with_body else start


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a person or a program is told. `retry_after` in seconds; a page with one looks again by itself."""

    status: int
    code: str
    title: str
    text: str
    retry_after: int | None = None


UNKNOWN_HOST: Final = Message(
    status=404,
    code="not_found",
    title="There is nothing at this address",
    text="The workspace may have been deleted, or the address was copied incompletely. "
    "Your workspaces are listed in the portal.",
)
ENTER_AGAIN: Final = Message(
    status=401,
    code="enter_through_portal",
    title="Open this workspace from the portal",
    text="This browser has no valid pass for it, or the pass has ended. Nothing in the workspace is lost.",
)
SPENT_CODE: Final = Message(
    status=410,
    code="code_spent",
    title="This link has been used or is too old",
    text="A link into a workspace works once and for half a minute. Open the workspace again from the portal.",
)
SPENT_STREAM: Final = Message(
    status=410,
    code="code_spent",
    title="This address has been used or is too old",
    text="The address of a stream works once and for half a minute. Ask the API for the stream again.",
)
TOO_MANY_STREAMS: Final = Message(
    status=429,
    code="too_many_streams",
    title="Too many streams are open",
    text="Close one of the logs or event streams that you follow, then ask the API for this one again.",
    retry_after=5,
)
FOREIGN_ORIGIN: Final = Message(
    status=403,
    code="foreign_origin",
    title="This request came from another site",
    text="A workspace only answers pages of its own address.",
)
NOT_ANSWERING: Final = Message(
    status=503,
    code="workspace_not_answering",
    title="The workspace is not answering yet",
    text="It may still be starting or have just stopped. This page looks again every few seconds.",
    retry_after=3,
)
BROKE_OFF: Final = Message(
    status=502,
    code="workspace_broke_off",
    title="The workspace broke off",
    text="It ended the connection before it had answered. If this happens again, its log in the portal says more.",
)
CANNOT_TELL: Final = Message(
    status=503,
    code="gate_unavailable",
    title="We cannot check your access just now",
    text="The workspace itself keeps running. This page looks again every few seconds.",
    retry_after=5,
)


def render(message: Message, *, html: bool, portal_url: str, headers: Mapping[str, str] = _NOTHING) -> Answer:
    extra = dict(headers)
    if message.retry_after is not None:
        extra["Retry-After"] = str(message.retry_after)
    if html:
        extra |= {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": _POLICY}
        body = _page(message, portal_url)
    else:
        extra["Content-Type"] = "application/problem+json"
        body = _problem(message)
    return Answer(status=message.status, code=message.code, headers=extra, body=body)


def stream_head(content_type: str, *, chunked: bool, close: bool) -> bytes:
    """Of an answer whose end nobody knows yet. A browser may show it and do nothing else with it."""
    head = {
        "Date": formatdate(usegmt=True),
        "Content-Type": content_type,
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Accel-Buffering": "no",
    }
    if chunked:
        head["Transfer-Encoding"] = "chunked"
    if close:
        head["Connection"] = "close"
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode("latin-1")


def redirect(location: str, *, code: str, headers: Mapping[str, str] = _NOTHING) -> Answer:
    return Answer(status=303, code=code, headers={"Location": location, **headers})


def plain(status: int, code: str) -> Answer:
    """For what no person's browser sends."""
    message = Message(status=status, code=code, title=_phrase(status), text=_phrase(status))
    return render(message, html=False, portal_url="")


def health(*, draining: bool) -> Answer:
    status, word = (503, "stopping") if draining else (200, "ok")
    body = json.dumps({"status": word}).encode()
    return Answer(status=status, code="health", headers={"Content-Type": "application/json"}, body=body)


def _page(message: Message, portal_url: str) -> bytes:
    again = f'<meta http-equiv="refresh" content="{message.retry_after}">' if message.retry_after else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(message.title)} · Steelyard</title>'
        f'<meta name="viewport" content="width=device-width">{again}<style>{_STYLE}</style></head><body><main>'
        f"<h1>{escape(message.title)}</h1><p>{escape(message.text)}</p>"
        f'<a href="{escape(portal_url)}">Go to the portal</a><small>Steelyard</small></main></body></html>'
    ).encode()


def _problem(message: Message) -> bytes:
    document = {
        "type": "about:blank",
        "title": message.title,
        "status": message.status,
        "detail": message.text,
        "code": message.code,
    }
    return json.dumps(document).encode()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Refused"

"""What a request asks for, told from its head alone. Pure: no clock, no network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl, quote

from portal.proxy import cookies, pages
from portal.proxy.config import ProxyConfig
from portal.proxy.gate import Refusal, StreamKind
from portal.proxy.heads import RequestHead
from portal.proxy.pages import Answer, Message

OWN_PATHS: Final = "/_steelyard/"
HEALTH_PATH: Final = "/_steelyard/health"
ENTER_PATH: Final = "/_steelyard/enter"

_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_CODE: Final = re.compile(r"[A-Za-z0-9_\-.~]{1,256}")
_LOCAL_PATH: Final = re.compile(r"/(?!/)[!-\[\]-~]*")
_STREAMS: Final = {f"{OWN_PATHS}{kind}": kind for kind in StreamKind}
_SAFE_METHODS: Final = frozenset({b"GET", b"HEAD", b"OPTIONS", b"TRACE"})
_RETRY_AFTER: Final = 3


@dataclass(frozen=True, slots=True)
class Admit:
    """Forward, if one of these cookies opens this label."""

    label: str
    cookies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Enter:
    label: str
    code: str
    next_path: str


@dataclass(frozen=True, slots=True)
class Listen:
    label: str
    kind: StreamKind
    code: str


@dataclass(frozen=True, slots=True)
class Health:
    pass


Decision = Admit | Enter | Listen | Health | Answer


def decide(head: RequestHead, config: ProxyConfig) -> Decision:
    host = head.text(b"host").lower()
    label = label_of(host, config.domain)
    if label is None:
        return Health() if head.path == HEALTH_PATH else told(pages.UNKNOWN_HOST, head, config)
    if head.target.startswith(b"/_steelyard/"):
        return _own(head, label, config)
    if crosses_origins(head, f"{config.scheme}://{host}"):
        return told(pages.FOREIGN_ORIGIN, head, config)
    values = cookies.values_of(config.cookie_name, head.text(b"cookie"))
    return Admit(label, values) if values else enter_again(head, label, config)


@lru_cache(maxsize=4096)
def label_of(host: str, domain: str) -> str | None:
    """`abc` for `abc.example.org:8001` under `example.org`; None for every other host."""
    name, colon, port = host.partition(":")
    if colon and not _PORT.fullmatch(port):
        return None
    label, dot, rest = name.partition(".")
    return label if dot and rest == domain and _LABEL.fullmatch(label) else None


def crosses_origins(head: RequestHead, own_origin: str) -> bool:
    """Whether a page of another origin is behind this request and must not be.

    Workspaces are neighbours on one site, so SameSite cookies alone do not keep their pages apart: besides an Origin
    that differs, a browser's own word counts that anything but a plain navigation comes from elsewhere.
    """
    origin = head.text(b"origin").lower()
    if origin and origin != own_origin and (head.websocket or head.method not in _SAFE_METHODS):
        return True
    if head.text(b"sec-fetch-site") not in {"same-site", "cross-site"}:
        return False
    navigates = head.text(b"sec-fetch-mode") == "navigate" and head.text(b"sec-fetch-dest") in {"document", ""}
    return not (navigates and head.method == b"GET")


def local_path(wanted: str) -> str:
    """The path to go on to, or `/` for whatever could lead elsewhere or round in a circle."""
    return wanted if _LOCAL_PATH.fullmatch(wanted) and not wanted.startswith(OWN_PATHS) else "/"


def told(message: Message, head: RequestHead, config: ProxyConfig) -> Answer:
    return pages.render(message, html=head.wants_html, portal_url=config.portal_url)


def enter_again(head: RequestHead, label: str, config: ProxyConfig) -> Answer:
    """Send a person back to the portal; a program is told. The same for labels that exist and labels that do not."""
    if config.reentry_url is None or not head.wants_html or head.method != b"GET":
        return told(pages.ENTER_AGAIN, head, config)
    here = local_path(head.target.decode("ascii"))
    location = config.reentry_url.replace("{label}", label).replace("{next}", quote(here, safe=""))
    return pages.redirect(location, code="enter_through_portal")


def refused(refusal: Refusal, head: RequestHead, label: str, config: ProxyConfig) -> Answer:
    """A gatekeeper's refusal as an answer. Where it denies, it says no more than that there is nothing."""
    if refusal.status == 401:
        return enter_again(head, label, config)
    if refusal.status in {403, 404}:
        return told(pages.UNKNOWN_HOST, head, config)
    if refusal.status == 503:
        title = _TITLES.get(refusal.code, "The workspace is not running")
        text = refusal.message or pages.NOT_ANSWERING.text
        waiting = Message(status=503, code=refusal.code, title=title, text=text, retry_after=_RETRY_AFTER)
        return told(waiting, head, config)
    message = Message(status=refusal.status, code=refusal.code, title="This did not work", text=refusal.message)
    return told(message, head, config)


_TITLES: Final = {
    "requested": "The workspace is being prepared",
    "queued": "The workspace is waiting for capacity",
    "provisioning": "The workspace is starting",
    "starting": "The workspace is starting",
    "stopping": "The workspace is stopping",
    "stopped": "The workspace is stopped",
    "failed": "The workspace has failed",
    "crashed": "The workspace has failed",
    "gate_unavailable": pages.CANNOT_TELL.title,
}


def _own(head: RequestHead, label: str, config: ProxyConfig) -> Decision:
    kind = _STREAMS.get(head.path)
    if head.path != ENTER_PATH and kind is None:
        return told(pages.UNKNOWN_HOST, head, config)
    if head.method != b"GET":
        return pages.plain(405, "method_not_allowed")
    try:
        fields = dict(parse_qsl(head.query, max_num_fields=8))
    except ValueError:
        fields = {}
    code = fields.get("code", "")
    if not _CODE.fullmatch(code):
        return told(pages.SPENT_CODE if kind is None else pages.SPENT_STREAM, head, config)
    if kind is not None:
        return Listen(label, kind, code)
    return Enter(label, code, local_path(fields.get("next", "/")))

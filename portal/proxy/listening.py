"""A stream from its code to its end: logs as plain text, events as server-sent events.

Nothing stands between the lines of a log, so a silent one is kept alive by TCP alone; a silent stream of events gets a
comment now and then.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Final, Protocol

from portal.proxy import pages, routing
from portal.proxy.config import Clocks, ProxyConfig
from portal.proxy.feeds import Feed, Feeds
from portal.proxy.gate import Gatekeeper, Listener, Refusal, StreamKind
from portal.proxy.heads import RequestHead
from portal.proxy.pages import Answer
from portal.proxy.routing import Listen

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Form:
    content_type: str
    left_out: bytes
    heartbeat: bytes


_FORMS: Final = {
    StreamKind.LOGS: _Form("text/plain; charset=utf-8", b"[some lines were left out here]\n", b""),
    StreamKind.EVENTS: _Form("text/event-stream", b": some events were left out here\n\n", b": still here\n\n"),
}


class Hearer(Protocol):
    """The client's side of a stream."""

    def stream_began(self, listener: Listener, content_type: str) -> None: ...

    async def stream_piece(self, piece: bytes) -> None:
        """Returns when the client takes more."""

    def stream_ended(self, *, whole: bool) -> None: ...


async def listen(
    gate: Gatekeeper, feeds: Feeds, config: ProxyConfig, wish: Listen, head: RequestHead, hearer: Hearer
) -> Answer | None:
    """Stream until it is over. An answer where there is nothing to stream."""
    try:
        async with asyncio.timeout(config.clocks.gate):
            listener = await gate.listen(wish.label, wish.kind, wish.code)
    except Exception:
        logger.exception("the gatekeeper did not redeem a code for a stream")
        return routing.told(pages.CANNOT_TELL, head, config)
    if isinstance(listener, Refusal):
        if listener.status == 410:
            return routing.told(pages.SPENT_STREAM, head, config)
        return routing.refused(listener, head, wish.label, config)
    if not feeds.seat(listener.person):
        return routing.told(pages.TOO_MANY_STREAMS, head, config)
    form = _FORMS[wish.kind]
    feed = feeds.join(wish.kind, listener.source, form.left_out)
    try:
        hearer.stream_began(listener, form.content_type)
        await _pass_on(feed, form, listener.tail, hearer, config.clocks)
    finally:
        feeds.leave(wish.kind, listener.source, feed)
        feeds.stand_up(listener.person)
    hearer.stream_ended(whole=feed.over)
    return None


async def _pass_on(feed: Feed, form: _Form, tail: int, hearer: Hearer, clocks: Clocks) -> None:
    while not (feed.begun or feed.closed):
        await _wait(feed, form, hearer, clocks)
    position = feed.last(tail)
    while not feed.closed:
        heard = feed.after(position)
        if heard.missed:
            await hearer.stream_piece(form.left_out)
        if heard.data:
            position = heard.position
            await hearer.stream_piece(heard.data)
        elif feed.over:
            return
        else:
            await _wait(feed, form, hearer, clocks)


async def _wait(feed: Feed, form: _Form, hearer: Hearer, clocks: Clocks) -> None:
    if not await feed.wait(clocks.heartbeat) and form.heartbeat:
        await hearer.stream_piece(form.heartbeat)

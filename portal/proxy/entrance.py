"""Entering a workspace: a one-time code becomes a cookie, and the address becomes a clean one."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

from portal.proxy import cookies, pages, routing
from portal.proxy.config import ProxyConfig
from portal.proxy.gate import Entry, Gatekeeper
from portal.proxy.heads import RequestHead
from portal.proxy.pages import Answer
from portal.proxy.routing import Enter

logger = logging.getLogger(__name__)


async def enter(gate: Gatekeeper, config: ProxyConfig, wish: Enter, head: RequestHead) -> Answer:
    try:
        async with asyncio.timeout(config.clocks.gate):
            entry = await gate.redeem(wish.label, wish.code)
    except Exception:
        logger.exception("the gatekeeper did not redeem a code")
        return routing.told(pages.CANNOT_TELL, head, config)
    if isinstance(entry, Entry):
        cookie = cookies.entry_cookie(config.cookie_name, entry, secure=config.https, now=datetime.now(UTC))
        return pages.redirect(wish.next_path, code="entered", headers={"Set-Cookie": cookie})
    if entry.status == 503:
        return routing.refused(entry, head, wish.label, config)
    return routing.told(pages.SPENT_CODE, head, config)

"""The data plane before one workspace, everything on: cookie, cached verdicts, origin check, access log.

`python -m bench.proxy_ours PORT '{"host": "127.0.0.1", "port": 9000}'`
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import uvloop

from portal.proxy.config import ProxyConfig
from portal.proxy.gate import Entry, Refusal, Upstream
from portal.proxy.server import serve

LABEL, COOKIE = "k3v9x2m7q4w8", "pX3k9vQm2Lr7Tz5WnB8cJd4Hs6Gf1Ye0"
GATE_SECONDS = 0.002


class Gate:
    """Answers as late as a database would."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def redeem(self, label: str, code: str) -> Entry | Refusal:
        await asyncio.sleep(GATE_SECONDS)
        return Entry(COOKIE, datetime.now(UTC) + timedelta(hours=1)) if code and label else Refusal(410, "spent", "")

    async def admit(self, label: str, cookie: str) -> Upstream | Refusal:
        await asyncio.sleep(GATE_SECONDS)
        return self._upstream if (label, cookie) == (LABEL, COOKIE) else Refusal(404, "not_found", "")

    async def recheck(self, pass_keys: Collection[str]) -> set[str]:
        await asyncio.sleep(GATE_SECONDS)
        return set(pass_keys)


def main(port: str, where: str) -> None:
    config = ProxyConfig(domain="localhost", portal_url="http://127.0.0.1:8000", port=int(port))
    gate = Gate(Upstream(pass_key="bench", **json.loads(where)))
    uvloop.run(serve(config, gate, lambda _: None))


if __name__ == "__main__":
    main(*sys.argv[1:])

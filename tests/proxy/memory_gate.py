"""A gatekeeper that knows what a test told it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from portal.proxy.gate import Entry, Refusal, Upstream

NOT_FOUND = Refusal(404, "not_found", "")


@dataclass
class MemoryGate:
    upstreams: dict[str, Upstream | Refusal] = field(default_factory=dict)
    passes: dict[tuple[str, str], str] = field(default_factory=dict)
    codes: dict[tuple[str, str], str] = field(default_factory=dict)
    admitted: int = 0
    rechecked: int = 0
    silent: bool = False
    """Answers nothing any more, as a gatekeeper without its database."""

    def let_in(self, label: str, cookie: str, upstream: Upstream | Refusal) -> None:
        self.upstreams[label] = upstream
        self.passes[label, cookie] = f"pass-{label}-{cookie}"

    def shut_out(self, label: str, cookie: str) -> str:
        return self.passes.pop((label, cookie))

    async def redeem(self, label: str, code: str) -> Entry | Refusal:
        cookie = self.codes.pop((label, code), None)
        if cookie is None:
            return Refusal(410, "code_spent", "")
        return Entry(cookie, datetime.now(UTC) + timedelta(hours=8))

    async def admit(self, label: str, cookie: str) -> Upstream | Refusal:
        self.admitted += 1
        await self._answer()
        key = self.passes.get((label, cookie))
        if key is None:
            return Refusal(401, "enter_through_portal", "")
        upstream = self.upstreams.get(label, NOT_FOUND)
        if isinstance(upstream, Refusal):
            return upstream
        return Upstream(
            pass_key=key,
            unix_socket=upstream.unix_socket,
            host=upstream.host,
            port=upstream.port,
            base_path=upstream.base_path,
        )

    async def recheck(self, pass_keys: Collection[str]) -> set[str]:
        self.rechecked += 1
        await self._answer()
        return set(pass_keys) & set(self.passes.values())

    async def _answer(self) -> None:
        if self.silent:
            await asyncio.sleep(3600)

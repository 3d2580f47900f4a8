"""A gatekeeper that knows what a test told it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from portal.proxy.gate import Entry, Listener, Piece, Refusal, StreamKind, Upstream

NOT_FOUND = Refusal(404, "not_found", "")


@dataclass
class Teller:
    """A source that says what a test lets it say. `asked` counts the questions."""

    waiting: list[bytes] = field(default_factory=list)
    over: bool = False
    missed: bool = False
    asked: int = 0
    fails: bool = False

    def say(self, *items: bytes) -> None:
        self.waiting.extend(items)

    async def more(self) -> Piece:
        self.asked += 1
        if self.fails:
            raise OSError("no answer")
        items, self.waiting = tuple(self.waiting), []
        return Piece(items, missed=self.missed, over=self.over)


@dataclass
class MemoryGate:
    upstreams: dict[str, Upstream | Refusal] = field(default_factory=dict)
    passes: dict[tuple[str, str], str] = field(default_factory=dict)
    codes: dict[tuple[str, str], str] = field(default_factory=dict)
    invitations: dict[tuple[str, StreamKind, str], Listener] = field(default_factory=dict)
    tellers: dict[str, Teller] = field(default_factory=dict)
    sources: int = 0
    ended: set[str] = field(default_factory=set)
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

    def invite(
        self, code: str, *, kind: StreamKind = StreamKind.LOGS, person: str = "alice", tail: int = 100
    ) -> Teller:
        """A code for what `alpha` says."""
        source = f"alpha-{kind}"
        self.invitations["alpha", kind, code] = Listener(
            pass_key=f"stream-{code}", person=person, source=source, tail=tail
        )
        return self.tellers.setdefault(source, Teller())

    async def listen(self, label: str, kind: StreamKind, code: str) -> Listener | Refusal:
        await self._answer()
        listener = self.invitations.pop((label, kind, code), None)
        return listener or Refusal(410, "code_spent", "")

    def source(self, kind: StreamKind, source: str) -> Teller:
        self.sources += 1
        return self.tellers[source]

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
        streams = {key for key in pass_keys if key.startswith("stream-")}
        return set(pass_keys) & set(self.passes.values()) | streams - self.ended

    async def _answer(self) -> None:
        if self.silent:
            await asyncio.sleep(3600)

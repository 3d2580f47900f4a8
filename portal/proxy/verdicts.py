"""What the gatekeeper said, kept for a few seconds, and what is open because of it.

A verdict is asked for once however many requests wait for it. Whatever is open (a socket, a long stream) is held under
its pass key and asked about again and again; a key the gatekeeper no longer names closes everything under it, and so
does a gatekeeper that has not answered for `recheck_grace` seconds.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final, NamedTuple, Protocol

from portal.proxy.config import Clocks, Limits
from portal.proxy.gate import Gatekeeper, Refusal, Upstream

logger = logging.getLogger(__name__)

Verdict = Upstream | Refusal
Key = tuple[str, tuple[str, ...]]

_TRIES: Final = 3
_CANNOT_TELL: Final = Refusal(503, "gate_unavailable", "The workspace keeps running. This page looks again by itself.")


class Holder(Protocol):
    """Something open that rests on a permission."""

    def revoke(self) -> None: ...


class _Kept(NamedTuple):
    verdict: Verdict
    until: float


class Verdicts:
    def __init__(self, gate: Gatekeeper, clocks: Clocks, limits: Limits) -> None:
        self._gate = gate
        self._clocks = clocks
        self._most = limits.verdicts
        self._kept: dict[Key, _Kept] = {}
        self._asking: dict[Key, asyncio.Task[Verdict]] = {}
        self._held: dict[str, set[Holder]] = {}
        self._confirmed: dict[str, float] = {}
        self._revoked_at: dict[str, float] = {}

    def known(self, key: Key) -> Verdict | None:
        """A verdict fresh enough to act on, without waiting."""
        kept = self._kept.get(key)
        return kept.verdict if kept is not None and kept.until > time.monotonic() else None

    async def ask(self, key: Key) -> Verdict:
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = asyncio.create_task(self._ask(key))
            asking.add_done_callback(lambda _: self._asking.pop(key, None))
        return await asyncio.shield(asking)

    def forget(self, key: Key) -> None:
        self._kept.pop(key, None)

    def hold(self, pass_key: str, holder: Holder) -> None:
        held = self._held.get(pass_key)
        if held is None:
            held = self._held[pass_key] = set()
            self._confirmed[pass_key] = time.monotonic()
        held.add(holder)

    def release(self, pass_key: str, holder: Holder) -> None:
        held = self._held.get(pass_key)
        if held is None:
            return
        held.discard(holder)
        if not held:
            del self._held[pass_key]
            self._confirmed.pop(pass_key, None)

    def revoke(self, pass_key: str) -> None:
        """Close what is open under a key and forget what was said about it."""
        self._revoked_at[pass_key] = time.monotonic()
        for key in [key for key, kept in self._kept.items() if _rests_on(kept.verdict, pass_key)]:
            del self._kept[key]
        for holder in tuple(self._held.get(pass_key, ())):
            holder.revoke()

    async def watch(self) -> None:
        """Ask again about everything that is open, for as long as the proxy runs."""
        while True:
            await asyncio.sleep(self._clocks.recheck)
            self._drop_stale()
            await self._recheck(tuple(self._held))

    async def _recheck(self, keys: tuple[str, ...]) -> None:
        if not keys:
            return
        asked_at = time.monotonic()
        try:
            async with asyncio.timeout(self._clocks.gate):
                still = await self._gate.recheck(keys)
        except Exception:
            logger.exception("the gatekeeper did not answer a recheck")
            still = {key for key in keys if asked_at - self._confirmed.get(key, asked_at) < self._clocks.recheck_grace}
        else:
            self._confirmed.update((key, asked_at) for key in still if key in self._held)
        for key in keys:
            if key not in still:
                self.revoke(key)

    async def _ask(self, key: Key) -> Verdict:
        label, cookies = key
        for _ in range(_TRIES):
            asked_at = time.monotonic()
            verdict = await self._ask_gate(label, cookies)
            if isinstance(verdict, Refusal) or self._revoked_at.get(verdict.pass_key, 0.0) < asked_at:
                break
        else:
            verdict = _CANNOT_TELL  # each answer was overtaken by a revocation
        lasts = self._clocks.refusal if isinstance(verdict, Refusal) else self._clocks.recheck
        if len(self._kept) >= self._most:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = _Kept(verdict, time.monotonic() + lasts)
        return verdict

    async def _ask_gate(self, label: str, cookies: tuple[str, ...]) -> Verdict:
        verdict: Verdict = Refusal(401, "enter_through_portal", "")
        try:
            async with asyncio.timeout(self._clocks.gate):
                for cookie in cookies:
                    verdict = await self._gate.admit(label, cookie)
                    if isinstance(verdict, Upstream):
                        return verdict
        except Exception:
            logger.exception("the gatekeeper did not answer")
            return _CANNOT_TELL
        return verdict

    def _drop_stale(self) -> None:
        now = time.monotonic()
        for key in [key for key, kept in self._kept.items() if kept.until <= now]:
            del self._kept[key]
        longest = self._clocks.gate * _TRIES
        for pass_key in [key for key, at in self._revoked_at.items() if at + longest < now]:
            del self._revoked_at[pass_key]


def _rests_on(verdict: Verdict, pass_key: str) -> bool:
    return isinstance(verdict, Upstream) and verdict.pass_key == pass_key

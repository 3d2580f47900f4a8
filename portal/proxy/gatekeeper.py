"""The gatekeeper that knows people and workspaces: provisioning's services, asked in threads of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from django.db import connections
from django.utils import timezone

from core import acts
from core.acts import Source, SourceKind
from portal.proxy.gate import Entry, Refusal, Upstream
from provisioning.services import entries, reach
from provisioning.services.entries import Denied

T = TypeVar("T")
_THREADS = 4


class PortalGate:
    """Each question is one short scope; a connection goes back to the pool as soon as it is answered."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="gate")

    async def redeem(self, label: str, code: str) -> Entry | Refusal:
        return await self._ask(partial(_redeem, label, code))

    async def admit(self, label: str, cookie: str) -> Upstream | Refusal:
        return await self._ask(partial(_admit, label, cookie))

    async def recheck(self, pass_keys: Collection[str]) -> set[str]:
        return await self._ask(partial(_recheck, tuple(pass_keys)))

    async def _ask(self, question: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(_answered, question))


def _answered(question: Callable[[], T]) -> T:
    try:
        return question()
    finally:
        connections.close_all()


def _redeem(label: str, code: str) -> Entry | Refusal:
    with acts.begin(Source(SourceKind.PROXY)):
        entered = entries.redeem(label=label, code=code, now=timezone.now())
    if isinstance(entered, Denied):
        return _refusal(entered)
    return Entry(cookie_value=entered.cookie_value, expires_at=entered.expires_at)


def _admit(label: str, cookie: str) -> Upstream | Refusal:
    admitted = reach.admit(label=label, cookie=cookie, now=timezone.now())
    if isinstance(admitted, Denied):
        return _refusal(admitted)
    return Upstream(
        pass_key=admitted.pass_key,
        unix_socket=admitted.unix_socket,
        host=admitted.host,
        port=admitted.port,
        base_path=admitted.base_path,
    )


def _recheck(pass_keys: tuple[str, ...]) -> set[str]:
    return entries.recheck(pass_keys, timezone.now())


def _refusal(denied: Denied) -> Refusal:
    return Refusal(status=denied.status, code=denied.code, message=denied.message)

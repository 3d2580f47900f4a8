"""The gatekeeper that knows people and workspaces: provisioning's services, asked in threads of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar
from uuid import UUID

from django.db import connections
from django.utils import timezone

from core import acts
from core.acts import SourceKind
from portal.proxy.gate import Entry, Listener, Piece, Refusal, Source, StreamKind, Upstream
from provisioning.enums import Purpose
from provisioning.services import entries, following, reach
from provisioning.services.entries import Denied
from provisioning.services.listening import EventReader, LogReader, Told

T = TypeVar("T")
_THREADS = 4
_READERS: Final = 2
"""Threads that read for streams: a driver that is slow to answer keeps nobody out of a workspace."""
_STREAM: Final = "stream:"


class PortalGate:
    """Each question is one short scope; a connection goes back to the pool as soon as it is answered."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="gate")
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="streams")

    async def redeem(self, label: str, code: str) -> Entry | Refusal:
        return await self._ask(partial(_redeem, label, code))

    async def listen(self, label: str, kind: StreamKind, code: str) -> Listener | Refusal:
        return await self._ask(partial(_listen, label, kind, code))

    def source(self, kind: StreamKind, source: str) -> Source:
        organization, _, workload = source.partition("/")
        ids = UUID(organization), UUID(workload)
        if kind is StreamKind.LOGS:
            return _Said(reach.log_reader(*ids), _line, self._readers)
        return _Said(reach.event_reader(*ids), _server_sent, self._readers)

    async def admit(self, label: str, cookie: str) -> Upstream | Refusal:
        return await self._ask(partial(_admit, label, cookie))

    async def recheck(self, pass_keys: Collection[str]) -> set[str]:
        return await self._ask(partial(_recheck, tuple(pass_keys)))

    async def _ask(self, question: Callable[[], T]) -> T:
        return await _in_thread(self._threads, question)


class _Said:
    """One reader, asked in threads."""

    def __init__(
        self, reader: LogReader | EventReader, written: Callable[[Told], bytes], threads: ThreadPoolExecutor
    ) -> None:
        self._reader = reader
        self._written = written
        self._threads = threads

    async def more(self) -> Piece:
        return await _in_thread(self._threads, self._more)

    def _more(self) -> Piece:
        said = self._reader.more()
        return Piece(tuple(self._written(one) for one in said.told), missed=said.missed, over=said.over)


async def _in_thread(threads: ThreadPoolExecutor, question: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, partial(_answered, question))


def _answered(question: Callable[[], T]) -> T:
    try:
        return question()
    finally:
        connections.close_all()


def _redeem(label: str, code: str) -> Entry | Refusal:
    with acts.begin(acts.Source(SourceKind.PROXY)):
        entered = entries.redeem(label=label, code=code, now=timezone.now())
    if isinstance(entered, Denied):
        return _refusal(entered)
    return Entry(cookie_value=entered.cookie_value, expires_at=entered.expires_at)


def _listen(label: str, kind: StreamKind, code: str) -> Listener | Refusal:
    with acts.begin(acts.Source(SourceKind.PROXY)):
        listener = following.redeem(label=label, purpose=Purpose(kind.value), code=code, now=timezone.now())
    if isinstance(listener, Denied):
        return _refusal(listener)
    return Listener(
        pass_key=f"{_STREAM}{listener.pass_key}",
        person=str(listener.person_id),
        source=f"{listener.organization_id}/{listener.workload_id}",
        tail=listener.tail,
    )


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
    now = timezone.now()
    streams = {key.removeprefix(_STREAM) for key in pass_keys if key.startswith(_STREAM)}
    holding = entries.recheck([key for key in pass_keys if not key.startswith(_STREAM)], now)
    return holding | {_STREAM + key for key in following.recheck(streams, now)}


def _line(told: Told) -> bytes:
    return told.text.encode() + b"\n"


def _server_sent(told: Told) -> bytes:
    return f"id: {told.id}\nevent: {told.code}\ndata: {told.text}\n\n".encode()


def _refusal(denied: Denied) -> Refusal:
    return Refusal(status=denied.status, code=denied.code, message=denied.message)

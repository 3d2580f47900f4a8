"""What a pod's server has printed, as its node keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from provisioning.drivers.base import DriverUnavailable, LogPiece
from provisioning.drivers.kubernetes.arrays import task_of
from provisioning.drivers.kubernetes.client import Api, Refused
from provisioning.drivers.kubernetes.objects import path
from provisioning.drivers.kubernetes.pods import CONTAINER
from provisioning.drivers.kubernetes.reading import Json, name_of, number, rows, text

MOST_BYTES: Final = 512 * 1024
MOST_LINES: Final = 4_000
MOST_WORKERS: Final = 64
LONGEST_LINE: Final = 2_000
LAST_WORDS: Final = 20


def tail_of(api: Api, pod: Json, *, lines: int, previous: bool = False) -> tuple[str, ...]:
    """Nothing where its container has not begun."""
    if lines <= 0:
        return ()
    asked = {"tailLines": str(lines), "limitBytes": str(MOST_BYTES)} | ({"previous": "true"} if previous else {})
    return tuple(_plain(line) for line in _read(api, pod, asked).splitlines()[-lines:])


def of_workers(api: Api, pods: Sequence[Json], *, lines: int) -> tuple[str, ...]:
    """The last lines of each worker, with its number before them."""
    each = max(1, lines // len(pods))
    told = [(_named(pod, number), tail_of(api, pod, lines=each)) for number, pod in [*enumerate(pods)][-MOST_WORKERS:]]
    return tuple(f"[{number}] {line}" for number, said in told for line in said)


def _named(pod: Json, number: int) -> int:
    task = task_of(pod)
    return number if task is None else task


def last_words(api: Api, pod: Json, *, lines: int = LAST_WORDS) -> tuple[str, ...]:
    """Of the container that ended, also where it was started again meanwhile. Never a hindrance to anything."""
    restarted = any(number(row, "restartCount") for row in rows(pod, "status", "containerStatuses"))
    try:
        return tail_of(api, pod, lines=lines, previous=restarted)
    except DriverUnavailable:
        return ()


def after(api: Api, pod: Json, mark: str, *, whole: bool) -> LogPiece:
    """The lines since the mark: `<uid>|<instant of the last line>|<how many lines had that instant>`."""
    uid = text(pod, "metadata", "uid")
    known, last, seen = _marked(mark, uid)
    asked = {"timestamps": "true", "limitBytes": str(MOST_BYTES)}
    asked |= {"sinceTime": last} if last else {} if known else {"tailLines": str(MOST_LINES)}
    said = _read(api, pod, asked)
    lines = said.splitlines()
    if whole and lines and not said.endswith("\n"):
        lines.pop()
    told: list[str] = []
    skipped = 0
    for line in lines:
        at, content = _parted(line)
        if at < last or (at == last and skipped < seen):
            skipped += at == last
            continue
        told.append(_plain(content))
        last, seen, skipped = (at, 1, 1) if at != last else (at, seen + 1, seen + 1)
    return LogPiece(tuple(told[-MOST_LINES:]), f"{uid}|{last}|{seen}", missed=len(told) > MOST_LINES)


def _read(api: Api, pod: Json, asked: dict[str, str]) -> str:
    """Empty where the container waits to start, or its pod is gone."""
    where = path("Pod", text(pod, "metadata", "namespace"), name_of(pod))
    try:
        return api.text(f"{where}/log", {"container": CONTAINER} | asked) or ""
    except Refused:
        return ""


def _marked(mark: str, uid: str) -> tuple[bool, str, int]:
    """Whether the mark is of this pod, then its instant and its number of lines."""
    of, _, rest = mark.partition("|")
    last, _, seen = rest.partition("|")
    return (True, last, int(seen)) if of == uid and seen.isdigit() else (False, "", 0)


def _parted(line: str) -> tuple[str, str]:
    """A line's instant, as its node wrote it, and what was said. Instants of one node sort as texts."""
    at, _, content = line.partition(" ")
    try:
        datetime.fromisoformat(at[:19])
    except ValueError:
        return "", line
    return (at, content) if at.endswith("Z") or "+" in at else ("", line)


def _plain(line: str) -> str:
    return "".join(char for char in line[:LONGEST_LINE] if char.isprintable() or char == "\t")

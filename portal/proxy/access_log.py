"""One JSON line for each request. No query, no cookie, no code ever comes here: there is no field for them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import Final, TextIO

_MOST_LINES: Final = 256


@dataclass(slots=True)
class Line:
    client: str
    label: str | None
    method: str
    path: str
    status: int
    bytes_out: int
    milliseconds: float


class AccessLog:
    """Lines gather until the next sweep, or until there are many."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._lines: list[str] = []
        self._second = -1
        self._stamp = ""

    def write(self, line: Line) -> None:
        if self._stream is None:
            return
        label = f'"{line.label}"' if line.label else "null"
        self._lines.append(
            f'{{"at":"{self._now()}","client":"{line.client}","label":{label},"method":"{line.method}",'
            f'"path":{encode_basestring_ascii(line.path)},"status":{line.status},"bytes":{line.bytes_out},'
            f'"ms":{line.milliseconds:.1f}}}\n'
        )
        if len(self._lines) >= _MOST_LINES:
            self.flush()

    def flush(self) -> None:
        if self._stream is not None and self._lines:
            lines, self._lines = self._lines, []
            try:
                self._stream.write("".join(lines))
                self._stream.flush()
            except (OSError, ValueError):
                self._stream = None  # nobody reads it any more; requests go on

    def _now(self) -> str:
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
        return self._stamp

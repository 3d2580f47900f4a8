"""Questions to the server over its unix socket.

The server belongs to the workload's people and may be hostile: time and size of an answer are
bounded as a whole, however it trickles.
"""

from __future__ import annotations

import json
import re
import socket
import time
from pathlib import Path

from provisioning.drivers.base import ProbeFailed

LARGEST_ANSWER = 4 * 1024 * 1024
CHUNK = 65_536
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,9})\r\n", re.IGNORECASE)


def answers(path: Path, *, seconds: float) -> bool:
    """Whether the server answers GET /api/status with 200."""
    try:
        _get(path, "/api/status", seconds=seconds)
    except ProbeFailed:
        return False
    return True


def rows(path: Path, question: str, *, seconds: float) -> list[dict[str, object]]:
    """The JSON list of objects at this path."""
    content = _parsed(path, question, seconds=seconds)
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise ProbeFailed(f"{question} did not answer with a list")
    return content


def row(path: Path, question: str, *, seconds: float) -> dict[str, object]:
    """The JSON object at this path."""
    content = _parsed(path, question, seconds=seconds)
    if not isinstance(content, dict):
        raise ProbeFailed(f"{question} did not answer with an object")
    return content


def _parsed(path: Path, question: str, *, seconds: float) -> object:
    try:
        return json.loads(_get(path, question, seconds=seconds))
    except ValueError as error:
        raise ProbeFailed(f"{question} did not answer in JSON") from error


def _get(path: Path, question: str, *, seconds: float) -> bytes:
    """The body of a 200. HTTP/1.0: without a length, the end of the answer is the end of the connection."""
    try:
        answer = _exchange(path, f"GET {question} HTTP/1.0\r\nHost: localhost\r\n\r\n", seconds)
    except OSError as error:
        raise ProbeFailed(f"{question} was not answered: {error!r}") from error
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split()
    if len(status) < 2 or status[1] != b"200":
        raise ProbeFailed(f"{question} answered {status[1:2]}")
    return body


def _exchange(path: Path, question: str, seconds: float) -> bytes:
    deadline = time.monotonic() + seconds
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(seconds)
        connection.connect(str(path))
        connection.sendall(question.encode())
        answer = bytearray()
        while not _is_whole(answer) and (chunk := connection.recv(CHUNK)):
            answer += chunk
            left = deadline - time.monotonic()
            if left <= 0 or len(answer) > LARGEST_ANSWER:
                raise TimeoutError("the answer did not end")
            connection.settimeout(left)
    return bytes(answer)


def _is_whole(answer: bytearray) -> bool:
    """Nothing more is to come, by the length that it says itself: its end may be long in coming over a network."""
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    length = _LENGTH.search(answer[: end + 2])
    return length is not None and len(answer) >= end + 4 + int(length[1])

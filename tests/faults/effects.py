"""Everything a worker does to the world, counted, so that it can be killed before the n-th thing.

What is counted: transactions that wrote (the first write in them and their commit), hints to the queue, and the
driver's files, folders, links, processes and signals. Dying before the n-th is dying after the one before it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection

from core import queue
from provisioning.drivers.local import procfs

WRITES = ("INSERT", "UPDATE", "DELETE")
FILES = frozenset(
    {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.chmod", "os.chown", "shutil.rmtree"}
)


class Effects:
    """Tells each effect's name before it happens; kills this process before the `fatal`-th (0: never)."""

    def __init__(self, tell: int, fatal: int, state: Path) -> None:
        self._tell = tell
        self._fatal = fatal
        self._state = str(state)
        self._count = 0
        self._unseen = False
        self._written = False

    def watch(self) -> None:
        connection.execute_wrappers.append(self._statement)
        self._before(connection, "_commit", self._commit)
        self._before(queue, "_send", lambda: self.happens("hint"))
        self._before(procfs, "send", lambda: self.happens("signal"))
        self._before(subprocess.Popen, "communicate", lambda: self.happens("process under way"))
        sys.addaudithook(self._audited)

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """What the test itself asks."""
        self._unseen = True
        try:
            yield
        finally:
            self._unseen = False

    def happens(self, name: str) -> None:
        if self._unseen:
            return
        self._count += 1
        os.write(self._tell, f"{name}\n".encode())
        if self._count == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def _before(self, where: object, name: str, tell: Callable[[], None]) -> None:
        real = getattr(where, name)

        def told(*words, **named):
            tell()
            return real(*words, **named)

        setattr(where, name, told)

    def _statement(self, execute, sql, params, many, context):
        if not self._written and sql.startswith(WRITES):
            self._written = True
            self.happens(f"first write: {' '.join(sql.split()[:3])}")
        return execute(sql, params, many, context)

    def _commit(self) -> None:
        if self._written:
            self._written = False
            self.happens("commit")

    def _audited(self, event: str, words: tuple[object, ...]) -> None:
        if event == "subprocess.Popen":
            self.happens("process")
        elif event == "open" and isinstance(words[2], int) and words[2] & (os.O_WRONLY | os.O_RDWR):
            self._file("write", words[0])
        elif event in FILES:
            self._file(event, words[0])

    def _file(self, what: str, path: object) -> None:
        if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self._state):
            self.happens(f"{what} {Path(path).name.partition('.')[0]}")

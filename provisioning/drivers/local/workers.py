"""Runs the workers of a job: `python -S -E -c THIS_TEXT WORKERS COMMAND …`. Standard library only.

Each worker is told its rank and where the first one is, in the words that torchrun and torch.distributed read. The
first that fails ends the others, and its exit code is that of all.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from typing import IO

HOST = "127.0.0.1"
PORT_OF_NOBODY = 29_500
NOT_FOUND, NOT_ALLOWED = 127, 126
GRACE_S = 5.0

Worker = subprocess.Popen[bytes]


def main(words: list[str]) -> int:
    count, command = int(words[0]), words[1:]
    port = free_port() if count > 1 else PORT_OF_NOBODY
    try:
        workers = [start(command, rank, count, port) for rank in range(count)]
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_ALLOWED
    signal.signal(signal.SIGTERM, lambda *_: end(workers))
    tellers = [tell(worker, rank) for rank, worker in enumerate(workers)]
    code = until_over(workers)
    for teller in tellers:
        if teller is not None:
            teller.join(GRACE_S)
    return code


def start(command: list[str], rank: int, count: int, port: int) -> Worker:
    places = {
        "RANK": rank,
        "LOCAL_RANK": 0,
        "WORLD_SIZE": count,
        "MASTER_ADDR": HOST,
        "MASTER_PORT": port,
        "PET_NNODES": count,
        "PET_NODE_RANK": rank,
        "PET_MASTER_ADDR": HOST,
        "PET_MASTER_PORT": port,
    }
    environment = os.environ | {name: str(value) for name, value in places.items()}
    prefixed = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} if count > 1 else {}
    return subprocess.Popen(command, env=environment, **prefixed)  # type: ignore[call-overload,no-any-return]


def until_over(workers: list[Worker]) -> int:
    """The exit code of the first that failed, else 0."""
    codes: dict[int, int] = {}
    while len(codes) < len(workers):
        pid, status = os.wait()
        worker = next((each for each in workers if each.pid == pid), None)
        if worker is None:
            continue
        worker.returncode = codes[pid] = os.waitstatus_to_exitcode(status)
        if codes[pid] != 0:
            end(workers)
            return codes[pid] if codes[pid] > 0 else 128 - codes[pid]
    return 0


def end(workers: list[Worker]) -> None:
    """Ask those that still run. What does not end is ended with everything else of the job."""
    for worker in workers:
        if worker.returncode is None:
            os.kill(worker.pid, signal.SIGTERM)


def tell(worker: Worker, rank: int) -> threading.Thread | None:
    """Say what a worker says, each line with its rank. One that is alone says everything itself."""
    if worker.stdout is None:
        return None
    teller = threading.Thread(target=_copy, args=(worker.stdout, f"[{rank}] ".encode()), daemon=True)
    teller.start()
    return teller


def _copy(source: IO[bytes], prefix: bytes) -> None:
    for line in source:
        sys.stdout.buffer.write(prefix + line)
        sys.stdout.buffer.flush()


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Runs the tasks of an array: `python -S -E -c THIS_TEXT PLAN COMMAND …`. Standard library only.

So many at once, each with its index and the sweep's variables in its environment; one that fails is tried again after a
pause. What became of each is told line by line in a file, what each says in a file of its own, both in a folder that
is the workload's: whoever reads them trusts nothing in them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

REPORT = "report"
LOOK_S = 0.05
JOIN_S = 5.0
LOG_BYTES = 128 * 1024
LONGEST_PAUSE_S = 360.0
NOT_FOUND, NOT_ALLOWED = 127, 126


class Tasks:
    def __init__(self, plan: dict[str, Any], command: list[str]) -> None:
        self.plan = plan
        self.command = command
        self.waiting: list[tuple[float, int]] = [(0.0, index) for index in plan["tasks"]]
        self.running: dict[int, tuple[int, subprocess.Popen[bytes], threading.Thread]] = {}
        self.failures = dict.fromkeys(plan["tasks"], 0)
        self.code = 0
        self.ending = False
        self.folder = Path(plan["folder"])
        self.folder.mkdir(exist_ok=True)

    def run(self) -> int:
        """The exit code of the first task that failed for good, else 0."""
        signal.signal(signal.SIGTERM, lambda *_: self.end(128 + signal.SIGTERM))
        while self.running or (self.waiting and not self.ending):
            self.begin_what_may()
            self.reap()
            time.sleep(LOOK_S)
        return self.code

    def begin_what_may(self) -> None:
        while not self.ending and len(self.running) < self.plan["parallelism"]:
            due = next((each for each in self.waiting if each[0] <= time.monotonic()), None)
            if due is None:
                return
            self.waiting.remove(due)
            self.begin(due[1])

    def begin(self, index: int) -> None:
        self.tell(index, "running")
        try:
            process = subprocess.Popen(
                self.command, env=os.environ | told(self.plan, index), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as error:
            self.over(index, NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_ALLOWED)
            return
        teller = threading.Thread(target=copy, args=(process, self.folder, index), daemon=True)
        teller.start()
        self.running[process.pid] = index, process, teller

    def reap(self) -> None:
        for pid, (index, process, teller) in list(self.running.items()):
            status = process.poll()
            if status is None:
                continue
            teller.join(JOIN_S)
            del self.running[pid]
            self.over(index, status if status >= 0 else 128 - status)

    def over(self, index: int, code: int) -> None:
        if code == 0:
            self.tell(index, "succeeded", code)
            return
        if self.ending:
            self.tell(index, "stopped", code)
            return
        self.failures[index] += 1
        if code not in self.plan["fatal_codes"] and self.failures[index] <= self.plan["retries"]:
            pause = min(self.plan["pause_s"] * 2 ** (self.failures[index] - 1), LONGEST_PAUSE_S)
            self.waiting.append((time.monotonic() + pause, index))
            self.tell(index, "waiting", code)
            return
        self.tell(index, "failed", code)
        self.code = self.code or code
        if self.plan["stops_at_failure"]:
            self.end(self.code)

    def end(self, code: int) -> None:
        """Ask those that run. What does not end is ended with everything else of the job."""
        self.ending, self.code = True, self.code or code
        for _, process, _ in list(self.running.values()):
            if process.returncode is None:
                process.terminate()

    def tell(self, index: int, state: str, code: int | None = None) -> None:
        line = {"index": index, "state": state, "at": time.time_ns() // 1000, "code": code}
        with (self.folder / REPORT).open("a") as file:
            file.write(json.dumps(line | {"failures": self.failures[index]}) + "\n")


def told(plan: dict[str, Any], index: int) -> dict[str, str]:
    """What one task finds in its environment, beside what all of them do."""
    own = {"STEELYARD_TASK_INDEX": str(index), "JOB_COMPLETION_INDEX": str(index)}
    rest = index
    for name, values in reversed(plan["sweep"]):
        rest, turn = divmod(rest, len(values))
        own[name] = values[turn]
    return own


def copy(process: subprocess.Popen[bytes], folder: Path, index: int) -> None:
    """Say what a task says, each line with its index, and keep its last lines in a file of its own."""
    assert process.stdout is not None
    with (folder / f"{index}.log").open("w+b") as kept:
        for line in process.stdout:
            sys.stdout.buffer.write(f"[{index}] ".encode() + line)
            sys.stdout.buffer.flush()
            kept.write(line)
            kept.flush()
            if kept.tell() > LOG_BYTES:
                shorten(kept)


def shorten(kept: Any) -> None:
    kept.seek(-LOG_BYTES // 2, os.SEEK_END)
    rest = kept.read()
    kept.seek(0)
    kept.truncate()
    kept.write(rest[rest.find(b"\n") + 1 :])


if __name__ == "__main__":
    sys.exit(Tasks(json.loads(sys.argv[1]), sys.argv[2:]).run())

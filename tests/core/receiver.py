"""A webhook's receiver as a process of its own: keeps what it got in a file, and answers as it is told.

`python -m tests.core.receiver FILE ANSWERS…`: prints its port; the answers are statuses, the last one for good.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Receiver:
    url: str
    file: Path

    def got(self) -> list[dict[str, Any]]:
        """Every call in order: headers (lower case), body as text, and what was answered."""
        return [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []

    def entries(self) -> list[dict[str, Any]]:
        """Entries of the calls that were answered 2xx."""
        taken = [call for call in self.got() if 200 <= call["answer"] < 300]
        return [entry for call in taken for entry in json.loads(call["body"])["data"]["entries"]]


@contextmanager
def receiving(folder: Path, *answers: int) -> Iterator[Receiver]:
    file = folder / "received.jsonl"
    words = [sys.executable, "-m", "tests.core.receiver", str(file), *map(str, answers or (204,))]
    process = subprocess.Popen(words, cwd=Path(__file__).resolve().parents[2], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, "The receiver did not start."
        yield Receiver(f"http://127.0.0.1:{port}/in", file)
    finally:
        process.terminate()
        process.wait(timeout=10)


def main(file: Path, answers: list[int]) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            headers = {name.lower(): value for name, value in self.headers.items()}
            with file.open("a") as out:
                out.write(json.dumps({"headers": headers, "body": body, "answer": answer}) + "\n")
            self.send_response(answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(word) for word in sys.argv[2:]])

"""A server that starts in a blink and answers what JupyterLab answers to the driver.

    python -S -E stand_in.py SOCKET HOME

Files in its home tell it what to do: `kernels.json` and `terminals.json` are served as they are,
`no-status` answers 503, `crash` ends it at the start with a last word, `ignore-term` keeps it from
ending when asked, `command` is run in the background by a shell.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

STARTED = ()


def main(path: str, home: str) -> None:
    os.chdir(home)
    if os.path.exists("crash"):
        print("the engine is cold\nthe last word", flush=True)
        sys.exit(3)
    if os.path.exists("ignore-term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.path.exists("command"):
        with open("command") as file:
            os.spawnl(os.P_NOWAIT, "/bin/sh", "sh", "-c", file.read())
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.umask(0o177)
    server.bind(path)
    os.umask(0o022)
    server.listen(64)
    print("listening", flush=True)
    while True:
        connection, _ = server.accept()
        with connection:
            try:
                answer(connection)
            except OSError:
                continue


def answer(connection: socket.socket) -> None:
    question = connection.recv(65536).split(b" ")[1].decode()
    status, body = respond(question.partition("?")[0])
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    connection.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)


def respond(question: str) -> tuple[str, bytes]:
    if question == "/api/status":
        if os.path.exists("no-status"):
            return "503 Service Unavailable", b"{}"
        return "200 OK", b'{"kernels": 0, "connections": 0}'
    if question in ("/api/kernels", "/api/terminals"):
        try:
            with open(os.path.basename(question) + ".json", "rb") as file:
                return "200 OK", file.read()
        except FileNotFoundError:
            return "200 OK", b"[]"
    if question == "/shut-down":
        os._exit(0)
    return "200 OK", b'"here"'


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

"""A server in JupyterLab's place that notices when it is not alone. Standard library only; runs by path or as a module.

    python lab.py SOCKET HOME
    python -m jupyterlab --ServerApp.sock=SOCKET --ServerApp.root_dir=HOME …

Every start adds a line to `starts` in its home; one that finds another server there adds a line to `twice` and ends.
It answers what the driver and the sweeps ask, and echoes what a WebSocket sends.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import socket
import struct
import sys
import threading
from io import BufferedRWPair
from pathlib import Path

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
ANSWERS = {"/api/status": b'{"kernels": 0, "connections": 0}', "/api/kernels": b"[]", "/api/terminals": b"[]"}


def main(words: list[str]) -> None:
    options = dict(word.partition("=")[::2] for word in words if word.startswith("--"))
    path, home = (options["--ServerApp.sock"], options["--ServerApp.root_dir"]) if options else words[:2]
    os.chdir(home)
    alone = os.open("alone", os.O_WRONLY | os.O_CREAT, 0o600)  # held until the end of this process
    try:
        fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        note("twice")
        sys.exit(9)
    note("starts")
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.umask(0o177)
    server.bind(path)
    os.umask(0o022)
    server.listen(64)
    while True:
        connection, _ = server.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def note(name: str) -> None:
    with Path(name).open("a") as file:
        file.write(f"{os.getpid()}\n")


def serve(connection: socket.socket) -> None:
    with connection, connection.makefile("rwb") as stream:
        try:
            target = stream.readline().split(b" ")[1].decode().partition("?")[0]
            lines = [line.partition(b":") for line in iter(stream.readline, b"\r\n") if line]
            headers = {name.lower(): value.strip() for name, _, value in lines}
            if b"sec-websocket-key" in headers:
                echo(stream, headers[b"sec-websocket-key"])
            else:
                answer(stream, ANSWERS.get(target, b'"here"'))
        except (OSError, IndexError, struct.error):
            return


def answer(stream: BufferedRWPair, body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    stream.write(f"{head}Connection: close\r\n\r\n".encode() + body)


def echo(stream: BufferedRWPair, key: bytes) -> None:
    """RFC 6455 as far as short text messages need it."""
    accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
    upgrade = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    stream.write(upgrade + b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
    stream.flush()
    while True:
        first, length = struct.unpack("!BB", stream.read(2))
        mask, text = stream.read(4), stream.read(length & 127)
        if first & 15 == 8:
            return
        said = bytes(byte ^ mask[index % 4] for index, byte in enumerate(text))
        stream.write(struct.pack("!BB", first, len(said)) + said)
        stream.flush()


if __name__ == "__main__":
    main(sys.argv[1:])

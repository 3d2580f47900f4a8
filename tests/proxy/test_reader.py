from __future__ import annotations

import random

from portal.proxy.config import Limits
from portal.proxy.reader import RequestReader

STREAM = (
    b"GET /one?x=1 HTTP/1.1\r\nHost: a.localhost\r\nX-Long: some value\r\n\r\n"
    b"POST /two HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 11\r\n\r\nhello\r\n\r\nGE"
    b"PUT /three HTTP/1.1\r\nHost: a.localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nfirst\r\n6\r\nsecond\r\n0\r\n\r\n"
    b"GET /four HTTP/1.1\r\nHost: a.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframes"
)
EXPECTED = [(b"/one?x=1", b""), (b"/two", b"hello\r\n\r\nGE"), (b"/three", b"firstsecond"), (b"/four", b"")]


class Sink:
    def __init__(self) -> None:
        self.body = b""
        self.ended = False

    def body_piece(self, piece: bytes) -> None:
        self.body += piece

    def body_ended(self) -> None:
        self.ended = True


def read(pieces: list[bytes]) -> tuple[list[tuple[bytes, bytes]], RequestReader]:
    reader, sinks = RequestReader(Limits()), []
    for piece in pieces:
        for request in reader.feed(piece):
            sinks.append((request.head.target, Sink()))
            request.hand_to(sinks[-1][1])
    assert all(sink.ended for _, sink in sinks)
    return [(target, sink.body) for target, sink in sinks], reader


class TestReading:
    def test_means_the_same_however_the_bytes_are_cut(self) -> None:
        dice = random.Random(3)
        for _ in range(200):
            cuts = sorted(dice.sample(range(1, len(STREAM)), dice.randint(0, 40)))
            pieces = [STREAM[start:end] for start, end in zip([0, *cuts], [*cuts, len(STREAM)], strict=True)]

            requests, reader = read(pieces)

            assert requests == EXPECTED
            assert (reader.switched, reader.rest, reader.fault) == (True, b"frames", None)

    def test_byte_by_byte_too(self) -> None:
        requests, reader = read([STREAM[at : at + 1] for at in range(len(STREAM))])

        assert requests == EXPECTED
        assert reader.rest == b"frames"

    def test_stops_for_good_at_a_fault(self) -> None:
        reader = RequestReader(Limits())

        before = reader.feed(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n")
        after = reader.feed(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")

        assert len(before) == 1
        assert after == []
        assert reader.fault is not None
        assert reader.fault.status == 400

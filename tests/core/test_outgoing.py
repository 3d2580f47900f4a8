"""The guard between addresses that people give us and our own network, with real servers on loopback."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from core.outgoing import NotReached, check_url, fetch, is_allowed


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/large":
            self._say(200, b"x" * 5000)
        elif self.path == "/drops":
            self._drip()
        elif self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.server.targets[self.path])  # type: ignore[attr-defined]
            self.end_headers()
        else:
            self._say(200, self.headers["Host"].encode())

    def do_POST(self) -> None:
        self._say(201, self.rfile.read(int(self.headers["Content-Length"])))

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(100):
            try:
                self.wfile.write(b".")
            except OSError:
                return
            time.sleep(0.1)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as found:
        found.targets = {"/to/metadata": "http://169.254.169.254/latest", "/to/here": "/", "/to/loop": "/to/loop"}  # type: ignore[attr-defined]
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


@pytest.fixture
def loopback(settings):
    settings.STEELYARD = {**settings.STEELYARD, "OUTGOING_NETWORKS": (ipaddress.ip_network("127.0.0.0/8"),)}


def why(url: str, **words) -> str:
    with pytest.raises(NotReached) as caught:
        fetch(url, **words)
    return caught.value.code


class TestAddresses:
    @pytest.mark.parametrize(
        "word",
        [
            *("127.0.0.1", "10.0.0.1", "172.16.5.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
            *("224.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "ff02::1"),
            *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1"),
        ],
    )
    def test_inside_is_never_called(self, word):
        assert not is_allowed(ipaddress.ip_address(word))

    @pytest.mark.parametrize("word", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101"])
    def test_the_public_network_is(self, word):
        assert is_allowed(ipaddress.ip_address(word))

    def test_a_named_network_is_and_its_neighbours_are_not(self, settings):
        settings.STEELYARD = {**settings.STEELYARD, "OUTGOING_NETWORKS": (ipaddress.ip_network("10.20.0.0/16"),)}

        assert is_allowed(ipaddress.ip_address("10.20.3.4"))
        assert is_allowed(ipaddress.ip_address("::ffff:10.20.3.4"))
        assert not is_allowed(ipaddress.ip_address("10.21.3.4"))


class TestUrls:
    @pytest.mark.parametrize(
        ("url", "code"),
        [
            ("http://idp.example.com/", "insecure_address"),
            ("http://127.0.0.1/", "insecure_address"),
            ("ftp://idp.example.com/", "insecure_address"),
            ("file:///etc/passwd", "malformed_address"),
            ("https://user:word@idp.example.com/", "malformed_address"),
            ("https://", "malformed_address"),
            ("https://[::1", "malformed_address"),
            ("https://idp.example.com:99999/", "malformed_address"),
            ("https://idp.example.com/a b", "malformed_address"),
            ("https://①②⑦.0.0.1/", "malformed_address"),
            ("https://münchen.example/", "malformed_address"),
            ("https://idp.example.com/\x7f", "malformed_address"),
            ("https://127.0.0.1/", "address_not_public"),
            ("https://2130706433/", "address_not_public"),
            ("https://0x7f.1/", "address_not_public"),
            ("https://[::ffff:10.0.0.1]/", "address_not_public"),
            ("https://169.254.169.254/latest", "address_not_public"),
            ("https://localhost/", "address_not_public"),
            ("https://id.localhost./", "address_not_public"),
        ],
    )
    def test_only_https_with_a_host(self, url, code):
        with pytest.raises(NotReached) as caught:
            check_url(url)

        assert caught.value.code == code

    @pytest.mark.parametrize(
        "url", ["https://xn--mnchen-3ya.example/", "https://1.1.1.1/", "https://a_b.example:8443/%C3"]
    )
    def test_a_public_one_is_taken(self, url):
        check_url(url)

    def test_plain_http_goes_to_allowed_loopback_alone(self, loopback):
        check_url("http://127.0.0.1:9400/")
        with pytest.raises(NotReached):
            check_url("http://127.0.0.1.nip.example/")


class TestCalls:
    def test_an_inner_address_is_refused_when_the_name_is_resolved(self, monkeypatch):
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (word, 443)) for word in ("93.184.216.34", "10.0.0.5")]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

        assert why("https://idp.example.com/") == "address_not_public"

    @pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"])
    def test_spellings_of_loopback_are_refused(self, host):
        assert why(f"https://{host}/") in ("address_not_public", "unknown_host")

    def test_an_answer_comes_whole(self, server, loopback):
        answer = fetch(f"{server}/", headers={"Accept": "application/json"})

        assert (answer.status, answer.body) == (200, server.removeprefix("http://").encode())

    def test_a_body_is_sent(self, server, loopback):
        answer = fetch(server, method="POST", body=b"a=1")

        assert (answer.status, answer.body) == (201, b"a=1")

    def test_a_redirect_inside_is_refused(self, server, loopback):
        assert why(f"{server}/to/metadata", redirects=3) == "insecure_address"

    def test_a_redirect_is_the_answer_unless_it_may_be_followed(self, server, loopback):
        assert fetch(f"{server}/to/here").status == 302
        assert fetch(f"{server}/to/here", redirects=1).status == 200
        assert fetch(f"{server}/to/loop", redirects=2).status == 302

    def test_what_is_too_large_or_comes_in_drops_is_refused(self, server, loopback):
        begun = time.monotonic()

        assert why(f"{server}/large", limit_bytes=4999) == "too_large"
        assert why(f"{server}/drops", seconds=0.5) == "too_slow"
        assert time.monotonic() - begun < 20

    def test_nobody_at_home_is_said(self, loopback):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))

            assert why(f"http://127.0.0.1:{taken.getsockname()[1]}/") == "not_reached"

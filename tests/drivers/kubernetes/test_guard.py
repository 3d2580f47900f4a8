"""Connections go to the address that was looked at, and the certificate is checked for the name."""

from __future__ import annotations

import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pytest_django import Settings

from core.outgoing import check_host
from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.kubernetes.client import Api
from provisioning.drivers.kubernetes.guard import guarded_socket
from provisioning.drivers.places import Connection

NAME = "api.cluster.example"
VERSION = b'{"gitVersion": "v1.37.2"}'


@dataclass
class Names:
    """What the name leads to, one answer after the other; the last one for ever."""

    addresses: list[str]
    asked: list[str] = field(default_factory=list)

    def getaddrinfo(self, host: str, port: int, *_: object, **__: object) -> list[tuple[object, ...]]:
        if host == NAME:
            self.asked.append(host)
            host = self.addresses[0] if len(self.addresses) == 1 else self.addresses.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    found = Names(["127.0.0.1"])
    monkeypatch.setattr(socket, "getaddrinfo", found.getaddrinfo)
    return found


@dataclass
class Server:
    port: int
    ca_pem: str
    asked: list[str]

    def api(self, *, server_name: str = "") -> Api:
        return Api(Connection(f"https://{NAME}:{self.port}", self.ca_pem, token="t", server_name=server_name))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """An API server that knows its version alone, with a certificate for the name."""
    key, pem = _certificate()
    (tmp_path / "both.pem").write_text(key + pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    asked: list[str] = []

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers["Host"])
            self.send_response(200)
            self.send_header("Content-Length", str(len(VERSION)))
            self.end_headers()
            self.wfile.write(VERSION)

        def log_message(self, *_: object) -> None:
            return None

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    listening.socket = context.wrap_socket(listening.socket, server_side=True)
    threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
    yield Server(listening.server_address[1], pem, asked)
    listening.shutdown()
    listening.server_close()


def _certificate() -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)]), datetime.now(UTC)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    built = built.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    signed = built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return private.decode(), signed.decode()


class TestTheGuard:
    def test_a_name_is_called_at_its_address_and_under_its_name(self, names: Names, server: Server) -> None:
        assert server.api().get("/version") == {"gitVersion": "v1.37.2"}
        assert server.asked == [f"{NAME}:{server.port}"]
        assert names.asked == [NAME]

    def test_the_certificate_is_checked_for_the_name(self, names: Names, server: Server) -> None:
        with pytest.raises(DriverUnavailable, match="certificate"):
            server.api(server_name="else.example").get("/version")

        assert server.asked == []

    def test_a_name_that_leads_inside_after_it_was_looked_at_reaches_nobody(
        self, names: Names, server: Server, settings: Settings
    ) -> None:
        settings.STEELYARD = settings.STEELYARD | {"OUTGOING_NETWORKS": ()}
        names.addresses = ["1.1.1.1", "127.0.0.1"]
        check_host(f"https://{NAME}:{server.port}")

        with pytest.raises(DriverUnavailable, match="not on the public network"):
            server.api().get("/version")

        assert server.asked == []

    @pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::1"])
    def test_tunnels_go_to_no_address_inside_either(self, address: str, settings: Settings) -> None:
        settings.STEELYARD = settings.STEELYARD | {"OUTGOING_NETWORKS": ()}
        family = socket.AF_INET6 if ":" in address else socket.AF_INET

        with pytest.raises(OSError, match="not an address that the platform calls"):
            guarded_socket((family, socket.SOCK_STREAM, 6, "", (address, 443)))

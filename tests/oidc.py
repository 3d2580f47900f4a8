"""A real OpenID Connect provider and a real name server, each a process or thread of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import httpx
from dnslib import QTYPE, RR, TXT
from dnslib.server import BaseResolver, DNSServer

from portal.up.ports import free_port


@dataclass(frozen=True)
class OidcProvider:
    issuer: str

    def person(self, subject: str, **claims: object) -> None:
        """What the provider says of a person from now on."""
        httpx.put(f"{self.issuer}/users/{subject}", json=claims).raise_for_status()

    def vouch(self, address: str, subject: str) -> str:
        """The person says who they are at the provider; the query with which the browser comes back."""
        answer = httpx.post(address, data={"sub": subject})
        assert answer.status_code == 302, answer.text
        return urlsplit(answer.headers["location"]).query

    def code(self, address: str, subject: str) -> str:
        return parse_qs(self.vouch(address, subject))["code"][0]


@contextmanager
def running_provider() -> Iterator[OidcProvider]:
    """A provider of its own in a process of its own, on loopback."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--host", "127.0.0.1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    issuer = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 30
        while not _answers(issuer):
            assert process.poll() is None, "the provider ended"
            assert time.monotonic() < deadline, "the provider does not answer"
            time.sleep(0.1)
        yield OidcProvider(issuer)
    finally:
        process.terminate()
        process.wait(10)


class _Records(BaseResolver):  # type: ignore[misc]
    def __init__(self, records: Mapping[str, str]) -> None:
        self.records = records

    def resolve(self, request, handler):
        reply = request.reply()
        name = str(request.q.qname).rstrip(".").lower()
        if request.q.qtype == QTYPE.TXT and name in self.records:
            reply.add_answer(RR(request.q.qname, QTYPE.TXT, rdata=TXT(self.records[name]), ttl=0))
        elif name not in self.records:
            reply.header.rcode = 3
        return reply


@contextmanager
def running_name_server(records: dict[str, str]) -> Iterator[str]:
    """Answers with what the dictionary says at that moment; its address, as the setting takes it."""
    port = free_port()
    server = DNSServer(_Records(records), port=port, address="127.0.0.1")
    server.start_thread()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop()
        server.server.server_close()


def _answers(issuer: str) -> bool:
    try:
        return httpx.get(f"{issuer}/.well-known/openid-configuration", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False

"""What the domain name system says: text records, asked of the resolvers that the installation names."""

from __future__ import annotations

from collections.abc import Sequence

import dns.exception
import dns.nameserver
import dns.resolver

_SECONDS = 5.0


class Unanswered(RuntimeError):
    """No resolver gave an answer: it says nothing about the record."""


def text_records(name: str, *, servers: Sequence[str]) -> tuple[str, ...]:
    """The text records of a name; none where it or they do not exist. Raises Unanswered.

    `servers`: addresses such as `10.0.0.2` or `127.0.0.1:5353`; none: those of the machine.
    """
    resolver = dns.resolver.Resolver(configure=not servers)
    if servers:
        resolver.nameservers = [_server(word) for word in servers]
    try:
        answer = resolver.resolve(name, "TXT", lifetime=_SECONDS, search=False)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return ()
    except dns.exception.DNSException as error:
        raise Unanswered(f"{name}: {type(error).__name__}") from None
    return tuple(b"".join(record.strings).decode("utf-8", "replace") for record in answer)


def _server(word: str) -> dns.nameserver.Nameserver:
    address, colon, port = word.rpartition(":")
    if colon and port.isdigit() and "]" not in port and address.count(":") != 1:
        return dns.nameserver.Do53Nameserver(address.strip("[]"), int(port))
    return dns.nameserver.Do53Nameserver(word.strip("[]"), 53)

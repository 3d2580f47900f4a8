"""Where a driver works: a machine, or a cluster behind an API server. Pure values."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach an API server: a bearer token, or a client certificate with its key, as PEM texts. Never a command.

    `server`: https URL. `ca_pem`: who signed the server's certificate; empty: the machine's own authorities.
    `server_name`: the name that the certificate is checked against, where it is not the one in the URL. `answer_s`: how
    long, in seconds, one answer may take; after that it is unknown, and asked again.
    """

    server: str
    ca_pem: str = ""
    token: str = field(default="", repr=False)
    client_certificate_pem: str = ""
    client_key_pem: str = field(default="", repr=False)
    server_name: str = ""
    answer_s: float = 2.0

    @property
    def secret(self) -> dict[str, str]:
        """The part that is kept encrypted."""
        return {
            "token": self.token,
            "client_certificate_pem": self.client_certificate_pem,
            "client_key_pem": self.client_key_pem,
        }


@dataclass(frozen=True, slots=True)
class Topology:
    """How a cluster's nodes lie to each other, as Kueue was told. `levels`: labels of nodes, the widest first."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A driver's name and, for a cluster that is reached over the network, which one and how.

    `storage_classes`: the cluster's storage class by our disk tier; a tier without one takes the cluster's default.
    `offers`: of what may be installed there, what was when it was last looked at.
    """

    driver: str
    cluster_id: UUID | None = None
    connection: Connection | None = None
    storage_classes: tuple[tuple[str, str], ...] = ()
    offers: tuple[str, ...] = ()
    topology: Topology | None = None


LOCAL = Place("local")
NOWHERE = Place("nowhere")
"""Where nothing can be any more: a cluster that was removed."""

"""A cluster of the fleet behind a stand-in that answers looks and lists, and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from core import scope
from provisioning.drivers import registry
from provisioning.drivers.base import Capabilities
from provisioning.drivers.places import Connection
from provisioning.inventory import NodeFacts
from provisioning.models import Cluster, Region
from provisioning.services.clusters import Registration, register
from tests import house
from tests.provisioning.stage import LONG_AGO

SERVER = Connection(server="https://1.1.1.1:6443", token="secret")
GOOD = Capabilities("1.34.1", ("kueue",), (), ("fast",), "fast", ("nvidia.com/gpu",))


@dataclass
class Looked:
    """Drivers that answer so."""

    answer: Capabilities | Exception = GOOD
    listed: tuple[NodeFacts, ...] = ()

    def capabilities(self) -> Capabilities:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def nodes(self) -> tuple[NodeFacts, ...]:
        return self.listed


@contextmanager
def answering(answer: Capabilities | Exception = GOOD, *listed: NodeFacts) -> Iterator[Looked]:
    """Every cluster behind an API server answers so."""
    made = Looked(answer, listed)
    with registry.using("kubernetes", made):  # type: ignore[arg-type]
        yield made


def registered(slug: str = "lab", connection: Connection = SERVER) -> Cluster:
    """A cluster as it was taken in; in a region that there is."""
    Region.objects.get_or_create(slug="here", defaults={"label": "Here"})
    with house.an_act(), scope.of_platform():
        registration = Registration(slug, f"The {slug}", "here", connection)
        return register(actor=house.SYSTEM, registration=registration, now=LONG_AGO)

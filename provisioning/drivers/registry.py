"""Which driver works at a place. Drivers are made once per process, and anew when a cluster is reached otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from provisioning.drivers.base import WorkloadDriver
from provisioning.drivers.local.config import LocalConfig, jupyterlab
from provisioning.drivers.local.driver import LocalDriver
from provisioning.drivers.nowhere import Nowhere
from provisioning.drivers.places import Place

_made: dict[tuple[str, UUID | None], tuple[Place, WorkloadDriver]] = {}
_instead: dict[str, WorkloadDriver] = {}


def driver_at(place: Place) -> WorkloadDriver:
    """The driver there. Raises ImproperlyConfigured for an unknown one, and for one that is not allowed here."""
    if place.driver in _instead:
        return _instead[place.driver]
    known = _made.get((place.driver, place.cluster_id))
    if known is not None and known[0] == place:
        return known[1]
    if place.driver not in _MAKERS:
        raise ImproperlyConfigured(f"There is no driver {place.driver!r}.")
    driver = _MAKERS[place.driver](place)
    _made[place.driver, place.cluster_id] = place, driver
    return driver


@contextmanager
def using(name: str, driver: WorkloadDriver) -> Iterator[None]:
    """Put another driver in the place of all of that name: tests do, with a stand-in."""
    before = _instead.get(name)
    _instead[name] = driver
    try:
        yield
    finally:
        _instead.pop(name)
        if before is not None:
            _instead[name] = before


def driver_names() -> tuple[str, ...]:
    return tuple(_MAKERS)


def _local(_: Place) -> WorkloadDriver:
    if not settings.STEELYARD["LOCAL_DRIVER_ALLOWED"]:
        raise ImproperlyConfigured("The local driver runs workloads on this machine: production refuses it.")
    state, python = settings.STEELYARD["STATE"], settings.STEELYARD["WORKSPACE_PYTHON"]
    assert isinstance(state, Path)
    assert isinstance(python, Path)
    return LocalDriver(LocalConfig(state_dir=state, images={"jupyterlab": jupyterlab(python.parent.parent)}))


def _kubernetes(place: Place) -> WorkloadDriver:
    """Loaded for the first cluster: its client would cost every process a third of a second at its start."""
    make: Callable[[Place], WorkloadDriver] = import_string("provisioning.drivers.kubernetes.driver.KubernetesDriver")
    return make(place)


_MAKERS: dict[str, Callable[[Place], WorkloadDriver]] = {
    "local": _local,
    "kubernetes": _kubernetes,
    "nowhere": lambda _: Nowhere(),
}

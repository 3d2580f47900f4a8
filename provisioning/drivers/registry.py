"""Which driver runs a cluster. Drivers are made once per process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from provisioning.drivers.base import WorkloadDriver
from provisioning.drivers.local.config import LocalConfig, jupyterlab
from provisioning.drivers.local.driver import LocalDriver

_made: dict[str, WorkloadDriver] = {}


def driver_named(name: str) -> WorkloadDriver:
    """The driver of that name. Raises ImproperlyConfigured for an unknown one, and for one that is not allowed here."""
    if name not in _made:
        if name not in _MAKERS:
            raise ImproperlyConfigured(f"There is no driver {name!r}.")
        _made[name] = _MAKERS[name]()
    return _made[name]


@contextmanager
def using(name: str, driver: WorkloadDriver) -> Iterator[None]:
    """Put another driver in the place of one: tests do, with a stand-in."""
    before = _made.get(name)
    _made[name] = driver
    try:
        yield
    finally:
        _made.pop(name)
        if before is not None:
            _made[name] = before


def _local() -> WorkloadDriver:
    if not settings.STEELYARD["LOCAL_DRIVER_ALLOWED"]:
        raise ImproperlyConfigured("The local driver runs workloads on this machine: production refuses it.")
    state, python = settings.STEELYARD["STATE"], settings.STEELYARD["WORKSPACE_PYTHON"]
    assert isinstance(state, Path)
    assert isinstance(python, Path)
    return LocalDriver(LocalConfig(state_dir=state, images={"jupyterlab": jupyterlab(python.parent.parent)}))


_MAKERS: dict[str, Callable[[], WorkloadDriver]] = {"local": _local}

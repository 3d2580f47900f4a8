"""What people must know of where their work runs: what is simulated, not kept apart or not limited."""

from __future__ import annotations

from functools import cache

from django.core.exceptions import ImproperlyConfigured

from provisioning.drivers.base import StatesCaveats
from provisioning.drivers.places import LOCAL
from provisioning.drivers.registry import driver_at
from provisioning.selectors.catalogue import clusters

SIMULATED = "Accelerators of this cluster are simulated: they are counted and billed, the work runs on the CPU."


def caveats() -> tuple[str, ...]:
    """Sentences for the strip on every page, the gravest first; none where the platform keeps all it shows."""
    places = clusters()
    found = list(_of_this_machine()) if any(place.driver == LOCAL.driver for place in places) else []
    if any(place.simulated_accelerators for place in places):
        found.append(SIMULATED)
    return tuple(found)


@cache
def _of_this_machine() -> tuple[str, ...]:
    """Asked once per process: a machine does not change its mind."""
    try:
        driver = driver_at(LOCAL)
    except ImproperlyConfigured as error:
        return (str(error),)
    return driver.caveats() if isinstance(driver, StatesCaveats) else ()

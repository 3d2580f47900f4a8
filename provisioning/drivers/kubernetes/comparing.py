"""Whether an object of a cluster says what a manifest of ours says. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from provisioning.inventory.quantities import quantity


def says(found: object, wanted: object) -> bool:
    """All of it; what it says beside is others'. Quantities are compared by what they amount to."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(says(found.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(says, found, wanted))
    return found == wanted or _same_quantity(found, wanted)


def _same_quantity(found: object, wanted: object) -> bool:
    try:
        return quantity(found) == quantity(wanted)
    except ValueError:
        return False

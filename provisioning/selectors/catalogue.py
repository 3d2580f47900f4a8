"""What is offered, at which price, and what of it is free now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from uuid import UUID

from billing.selectors import prices_at
from provisioning.admission import fits_now
from provisioning.enums import DISK_SKU
from provisioning.models import AcceleratorType, Cluster, Image, Region, Shape, Workload
from provisioning.types import ClusterFacts, ShapeFacts


@dataclass(frozen=True, slots=True)
class OfferedShape:
    """A shape with its price and how many of it would start now."""

    id: UUID
    facts: ShapeFacts
    capacity_kind: str
    free_now: int
    simulated: bool


@dataclass(frozen=True, slots=True)
class Prices:
    """Exact prices per hour in one currency; what has none is left out."""

    currency: str
    by_sku: dict[str, Fraction]

    @property
    def disk_gib_hour(self) -> Fraction | None:
        return self.by_sku.get(DISK_SKU)

    def of_shape(self, shape: Shape) -> Fraction | None:
        unit = self.by_sku.get(shape.sku_code)
        return None if unit is None else unit * shape.sku_quantity

    def of_workload(self, workload: Workload) -> Fraction | None:
        """An hour of all that it takes of its shape, its disk apart."""
        one = self.of_shape(workload.shape)
        return None if one is None else one * workload.replicas


def prices_for(shapes: Iterable[Shape], currency: str, now: datetime) -> Prices:
    """Prices of these shapes and of the disk. One query."""
    rates = prices_at({DISK_SKU, *(shape.sku_code for shape in shapes)}, now, currency)
    return Prices(currency, {code: Fraction(rate.unit_price) for code, rate in rates.items()})


def active_shapes() -> list[Shape]:
    """Every size that may be launched, in the order of the catalogue."""
    return list(Shape.objects.filter(active=True).select_related("region", "accelerator").order_by("position", "slug"))


def active_images() -> list[Image]:
    return list(Image.objects.filter(active=True).order_by("label"))


def regions() -> list[Region]:
    return list(Region.objects.order_by("slug"))


def accelerators() -> list[AcceleratorType]:
    return list(AcceleratorType.objects.order_by("model"))


def clusters() -> list[Cluster]:
    return list(Cluster.objects.select_related("region").order_by("slug"))


def cluster_facts() -> tuple[ClusterFacts, ...]:
    return tuple(cluster.facts for cluster in clusters())


def offered_shapes(currency: str, now: datetime) -> list[OfferedShape]:
    """The active shapes with price and free capacity. Three queries, however many shapes."""
    shapes, places = active_shapes(), clusters()
    prices = prices_for(shapes, currency, now)
    simulated = {place.region_id for place in places if place.simulated_accelerators}
    facts = tuple(place.facts for place in places)
    return [
        OfferedShape(
            id=shape.pk,
            facts=replace(shape.facts, price_per_hour=prices.of_shape(shape)),
            capacity_kind=shape.capacity_kind,
            free_now=sum(_free(shape.facts, place) for place in facts),
            simulated=shape.accelerator_id is not None and shape.region_id in simulated,
        )
        for shape in shapes
    ]


def _free(shape: ShapeFacts, place: ClusterFacts) -> int:
    """How many of a shape a cluster would start now."""
    if not fits_now(shape, place):
        return 0
    return min(place.free(name) // amount for name, amount in shape.resources().items() if amount)

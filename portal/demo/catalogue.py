"""What the demo offers: sizes and prices out of `prices.csv`, on the one cluster that is this machine."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from provisioning.enums import DISK_SKU, CapacityKind
from provisioning.services.catalogue import AcceleratorOffer, ClusterOffer, ImageOffer, Offer, ShapeOffer

_PRICES = Path(__file__).with_name("prices.csv")
CURRENCY = "USD"
DISK_PRICE_PER_GIB_HOUR = Decimal("0.000082")
SPOT, SPOT_SHARE = ("H100",), Decimal("0.4")
"""A demonstration, like the disk's price: what is offered as spot too, and its share of the listed price."""
_ACCELERATORS = (
    AcceleratorOffer("L40S", "NVIDIA", 48),
    AcceleratorOffer("A100-80GB", "NVIDIA", 80),
    AcceleratorOffer("H100", "NVIDIA", 80),
    AcceleratorOffer("H200", "NVIDIA", 141),
)
LOCAL_CLUSTER = ClusterOffer(
    slug="local",
    label="This machine",
    driver="local",
    simulated_accelerators=True,
    accelerators=(("L40S", 8), ("A100-80GB", 8), ("H100", 16), ("H200", 8)),
    vcpus=1024,
    memory_gib=16384,
)
JUPYTERLAB = ImageOffer("jupyterlab-4", "JupyterLab 4.6, Python 3", "jupyterlab")


@dataclass(frozen=True, slots=True)
class SkuOffer:
    code: str
    unit: str
    label: str
    unit_price: Decimal


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the price list."""

    accelerator: str
    count: int
    vcpus: int
    memory_gib: int
    price_hour: Decimal
    spot: bool = False

    @property
    def sku_code(self) -> str:
        if self.accelerator:
            return f"gpu-hour/{self.accelerator.lower()}/{'spot' if self.spot else 'on-demand'}"
        return f"cpu-hour/{self.vcpus}x{self.memory_gib}/on-demand"

    @property
    def units(self) -> int:
        return self.count or 1


def rows() -> list[Row]:
    """What is listed, and beside it what is offered as spot."""
    listed = _listed()
    spot = [replace(row, spot=True, price_hour=row.price_hour * SPOT_SHARE) for row in listed]
    offered = [row for row in spot if row.accelerator in SPOT]
    return [each for row in listed for each in (row, *(one for one in offered if _is_same_size(one, row)))]


def _is_same_size(one: Row, other: Row) -> bool:
    return (one.accelerator, one.count) == (other.accelerator, other.count)


def _listed() -> list[Row]:
    lines = [line for line in _PRICES.read_text().splitlines() if not line.startswith("#")]
    return [
        Row(
            accelerator=line["accelerator"],
            count=int(line["count"]),
            vcpus=int(line["vcpus"]),
            memory_gib=int(line["memory_gib"]),
            price_hour=Decimal(line["price_hour"]),
        )
        for line in csv.DictReader(lines)
    ]


def skus() -> list[SkuOffer]:
    """One SKU per accelerator model and per CPU size, and the disk."""
    priced = {row.sku_code: row for row in reversed(rows())}
    offers = [
        SkuOffer(code, "hour", _sku_label(row), row.price_hour / row.units) for code, row in sorted(priced.items())
    ]
    return [*offers, SkuOffer(DISK_SKU, "gib_hour", "Disk", DISK_PRICE_PER_GIB_HOUR)]


def offer() -> Offer:
    return Offer(
        region="local",
        region_label="This machine",
        clusters=(LOCAL_CLUSTER,),
        accelerators=_ACCELERATORS,
        shapes=tuple(_shape(row) for row in rows()),
        images=(JUPYTERLAB,),
    )


def _shape(row: Row) -> ShapeOffer:
    slug = f"{row.count}x-{row.accelerator.lower()}" if row.accelerator else f"cpu-{row.vcpus}"
    label = f"{row.count} × {row.accelerator}" if row.accelerator else f"CPU, {row.vcpus} cores"
    if row.spot:
        slug, label = f"{slug}-spot", f"{label}, spot"
    return ShapeOffer(
        slug=slug,
        label=label,
        accelerator=row.accelerator or None,
        accelerator_count=row.count,
        vcpus=row.vcpus,
        memory_gib=row.memory_gib,
        sku_code=row.sku_code,
        sku_quantity=row.units,
        capacity_kind=CapacityKind.SPOT if row.spot else CapacityKind.ON_DEMAND,
    )


def _sku_label(row: Row) -> str:
    if row.spot:
        return f"{row.accelerator}, spot"
    return f"{row.accelerator}, on demand" if row.accelerator else f"CPU {row.vcpus} × {row.memory_gib} GiB, on demand"

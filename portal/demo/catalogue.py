"""What the demo offers: sizes and prices out of `prices.csv`, on the one cluster that is this machine."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from provisioning.enums import DISK_SKU
from provisioning.services.catalogue import AcceleratorOffer, ClusterOffer, ImageOffer, Offer, ShapeOffer

_PRICES = Path(__file__).with_name("prices.csv")
CURRENCY = "USD"
DISK_PRICE_PER_GIB_HOUR = Decimal("0.000082")
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

    @property
    def sku_code(self) -> str:
        if self.accelerator:
            return f"gpu-hour/{self.accelerator.lower()}/on-demand"
        return f"cpu-hour/{self.vcpus}x{self.memory_gib}/on-demand"

    @property
    def units(self) -> int:
        return self.count or 1


def rows() -> list[Row]:
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
    return ShapeOffer(
        slug=slug,
        label=label,
        accelerator=row.accelerator or None,
        accelerator_count=row.count,
        vcpus=row.vcpus,
        memory_gib=row.memory_gib,
        sku_code=row.sku_code,
        sku_quantity=row.units,
    )


def _sku_label(row: Row) -> str:
    return f"{row.accelerator}, on demand" if row.accelerator else f"CPU {row.vcpus} × {row.memory_gib} GiB, on demand"

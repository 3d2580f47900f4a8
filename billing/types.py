"""Values that billing hands to the apps above. Quantities are integers, amounts exact fractions until settled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from core.money import Money, settle

MICRO = 1_000_000
"""One device, one GiB or one vCPU, in micro-units."""

MICROSECONDS_PER_HOUR = 3_600_000_000

HOURS_PER_MONTH = 730
"""What "per month" means before a month is over."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The price of one unit of a SKU at an instant."""

    sku_code: str
    unit_price: Decimal
    currency: str
    unit: str


@dataclass(frozen=True, slots=True)
class Item:
    """Something held: a quantity of a SKU, in micro-units (one device = 1,000,000)."""

    sku_code: str
    quantity_micro: int


@dataclass(frozen=True, slots=True)
class Hourly:
    """What holding something costs per hour, exactly; `per_month` means 730 hours."""

    exact: Fraction
    currency: str

    @property
    def money(self) -> Money:
        return settle(self.exact, self.currency)

    @property
    def per_month(self) -> Money:
        return settle(self.exact * HOURS_PER_MONTH, self.currency)


@dataclass(frozen=True, slots=True)
class Cost:
    """An exact amount and the time that it was asked for."""

    exact: Fraction
    currency: str
    as_of: datetime

    @property
    def money(self) -> Money:
        return settle(self.exact, self.currency)


@dataclass(frozen=True, slots=True)
class Line:
    """Usage of one SKU at one price in one project. `quantity` in the SKU's unit (device-hours), exact.

    `late`: facts of an earlier, closed period that were taken into this one.
    """

    project_id: UUID
    project: str
    sku_code: str
    sku_label: str
    unit: str
    price_id: UUID
    price_from: datetime
    unit_price: Decimal
    quantity: Fraction
    exact: Fraction
    late: bool = False


@dataclass(frozen=True, slots=True)
class InvoiceLine:
    """A line and its settled amount."""

    line: Line
    amount: Money


@dataclass(frozen=True, slots=True)
class DraftInvoice:
    """What a month would be billed if it ended at `as_of`. The lines' amounts sum to `subtotal`."""

    organization_id: UUID
    organization: str
    month: str
    start: datetime
    end: datetime
    as_of: datetime
    currency: str
    state: str
    lines: tuple[InvoiceLine, ...]
    subtotal: Money


@dataclass(frozen=True, slots=True)
class CostRow:
    """One group's cost. `running_hours`: time held, disks apart; `accelerator_hours`: the same times the devices."""

    key: str
    label: str
    running_hours: Fraction
    accelerator_hours: Fraction
    exact: Fraction
    amount: Money


@dataclass(frozen=True, slots=True)
class CostTable:
    """Costs of [start, end) by one group, up to `as_of`; the rows' amounts sum to `total`."""

    group_by: str
    start: datetime
    end: datetime
    as_of: datetime
    rows: tuple[CostRow, ...]
    total: Money


@dataclass(frozen=True, slots=True)
class MonthToDate:
    """A month so far, by project and by user: two views of one total."""

    month: str
    start: datetime
    end: datetime
    as_of: datetime
    by_project: CostTable
    by_user: CostTable

    @property
    def total(self) -> Money:
        return self.by_project.total


@dataclass(frozen=True, slots=True)
class Month:
    """A month that an invoice can be asked for, as the organisation's periods cut it."""

    name: str
    start: datetime
    end: datetime
    state: str

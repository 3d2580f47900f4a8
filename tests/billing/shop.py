"""A small catalogue and facts for the tests of billing, made by the services that production uses."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from billing.services import catalogue, prices, usage
from core import scope
from core.ids import uuid7
from core.types import ObjectRef
from tests import house

H100 = "gpu-hour/h100/on-demand"
DISK = "disk-gib-hour/standard"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
DEVICE = 1_000_000


def sell(code: str, *versions: tuple[str, datetime], currency: str = "USD", unit: str = "hour") -> None:
    """A SKU with one price version after another."""
    with house.an_act(), scope.of_platform():
        catalogue.define_sku(actor=house.SYSTEM, code=code, kind="session", unit=unit, label=code.upper(), now=LONG_AGO)
    for unit_price, valid_from in versions:
        with house.an_act(), scope.of_platform():
            prices.publish(
                actor=house.SYSTEM,
                currency=currency,
                unit_prices={code: Decimal(unit_price)},
                valid_from=valid_from,
                now=LONG_AGO,
            )


def hold(
    tenant, *, project, sku=H100, quantity=DEVICE, since, until=None, user=None, workload=None, component="accelerator"
):
    """A usage session through the services; returns the workload's id."""
    workload = workload or uuid7()
    with house.an_act(), tenant.scope():
        usage.open_session(
            organization_id=tenant.organization.pk,
            project=tenant.projects[project].ref,
            user_id=tenant.people[user].pk if user else None,
            workload_ref=ObjectRef("workload", str(workload), f"notes-{str(workload)[-4:]}"),
            sku_code=sku,
            component=component,
            quantity_micro=quantity,
            at=since,
        )
        if until:
            usage.close_sessions(
                organization_id=tenant.organization.pk, workload_id=workload, at=until, components=[component]
            )
    return workload


def at(day: int, hour: int = 0, minute: int = 0, month: int = 11) -> datetime:
    """An instant of autumn 2026, in UTC."""
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)

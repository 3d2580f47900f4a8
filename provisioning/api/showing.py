"""One workload as the API shows it, put together for every act that answers with it."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction

from billing.selectors import cost_so_far
from core.types import Actor
from provisioning.api import outputs
from provisioning.enums import VolumeState
from provisioning.models import Workload
from provisioning.permissions import sees_variables
from provisioning.selectors.catalogue import prices_for
from provisioning.selectors.listing import conditions_of
from provisioning.selectors.workloads import stop_forecast


def shown(actor: Actor, workload: Workload, now: datetime) -> dict[str, object]:
    """Needs project, owner, shape, image, volume and cluster loaded. Four queries at most."""
    cost = cost_so_far([workload.pk], now)[workload.pk]
    return outputs.workload(
        workload,
        conditions=conditions_of(workload),
        forecast=stop_forecast(workload),
        cost=cost,
        per_hour=_per_hour(workload, cost.currency, now),
        env=workload.env if sees_variables(actor, workload) else None,
    )


def address_of(workload: Workload) -> str:
    return f"/api/v1/workloads/{workload.pk}"


def _per_hour(workload: Workload, currency: str, now: datetime) -> Fraction:
    """What it costs at this moment: the shape while something is bound, the disk while there is one."""
    prices = prices_for([workload.shape], currency, now)
    running = prices.of_workload(workload) if workload.bound_at else None
    disk = prices.disk_gib_hour if workload.volume.state == VolumeState.PRESENT else None
    return (running or Fraction(0)) + (disk or Fraction(0)) * workload.volume.size_gib

"""What policies leave on a workload: its limits with their rules' names, and lines about rules in observation."""

from __future__ import annotations

from datetime import datetime, timedelta

from core.money import Money
from core.types import Actor
from provisioning.models import Workload
from provisioning.selectors.launching import Chosen
from provisioning.services.awaiting import price_of
from provisioning.services.transitions import note
from provisioning.types import StopLimits, Verdict


def limits_as_columns(limits: StopLimits) -> dict[str, timedelta | str | None]:
    return {
        "max_lifetime": limits.max_lifetime,
        "lifetime_rule": limits.lifetime_rule,
        "idle_after": limits.idle_after,
        "idle_rule": limits.idle_rule,
    }


def set_limits(workload: Workload, limits: StopLimits) -> None:
    """What the policies of this admission say; the row is locked by the caller."""
    columns = limits_as_columns(limits)
    if all(getattr(workload, name) == value for name, value in columns.items()):
        return
    for name, value in columns.items():
        setattr(workload, name, value)
    workload.probe_at = None
    workload.save(update_fields=[*columns, "probe_at"])


def note_observed(workload: Workload, verdict: Verdict, *, actor: Actor, now: datetime) -> None:
    """A line for each rule in observation that would have said no, or asked, or cut it short."""
    for reason in verdict.warnings:
        note(workload, actor, "policy_observed", f"Observed only: {reason.message}", at=now, details=reason.as_json())


def price_of_launch(picked: Chosen, disk_gib: int, replicas: int) -> Money:
    """What it costs an hour while it runs, its disk included."""
    hardware, disk = picked.prices.of_shape(picked.shape), picked.prices.disk_gib_hour
    exact = None if hardware is None else hardware * replicas + (disk or 0) * disk_gib
    return price_of(exact, picked.prices.currency)

"""The plain dicts that fill the API's shapes. What they look like stands in `describing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING
from uuid import UUID

from billing.types import MICRO, Cost, Hourly
from core.money import Money, minor_digits, plain, settle
from core.types import Reason
from provisioning.enums import Kind
from provisioning.models import AcceleratorType, Condition, Image, Region, Volume, Workload
from provisioning.selectors.catalogue import OfferedShape
from provisioning.selectors.launching import Preview, QuotaShown
from provisioning.types import Alternative, ShapeFacts, StopForecast

if TYPE_CHECKING:
    from billing.models import UsageSession
    from tenants.models import User

_RATE_DIGITS = 10
ROW_COLUMNS = (
    "id",
    "name",
    "kind",
    "project_id",
    "project__slug",
    "owner_id",
    "owner__email",
    "shape__slug",
    "image__slug",
    "state",
    "state_since",
    "desired_state",
    "reason",
    "created_at",
)
"""Of a workload in a list, in the order in which `workload_rows` takes them apart."""

Row = tuple[UUID, str, str, UUID, str, UUID, str, str, str, str, datetime, str, Mapping[str, object] | None, datetime]


def region(row: Region) -> dict[str, object]:
    return {"id": row.pk, "slug": row.slug, "label": row.label}


def accelerator(row: AcceleratorType) -> dict[str, object]:
    return {"id": row.pk, "model": row.model, "vendor": row.vendor, "memory_gib": row.memory_gib}


def image(row: Image) -> dict[str, object]:
    return {"id": row.pk, "slug": row.slug, "label": row.label, "kind": row.kind}


def shape(offered: OfferedShape, currency: str) -> dict[str, object]:
    price = offered.facts.price_per_hour
    return {
        "id": offered.id,
        "slug": offered.facts.slug,
        "label": offered.facts.label,
        "region": offered.facts.region,
        **_size(offered.facts),
        "price_per_hour": None if price is None else rate(price, currency),
        "capacity_kind": offered.capacity_kind,
        "free_now": offered.free_now,
        "simulated": offered.simulated,
    }


def workload_rows(rows: Sequence[Row]) -> list[object]:
    return [
        {
            "id": key,
            "name": name,
            "kind": kind,
            "project": {"id": project, "label": slug},
            "owner": {"id": owner, "label": email},
            "shape": shape_slug,
            "image": image_slug,
            "state": state,
            "state_since": since,
            "desired_state": desired,
            "reason": reason,
            "created_at": created,
        }
        for (
            key,
            name,
            kind,
            project,
            slug,
            owner,
            email,
            shape_slug,
            image_slug,
            state,
            since,
            desired,
            reason,
            created,
        ) in rows
    ]


def workload(
    row: Workload,
    *,
    conditions: Sequence[Condition],
    forecast: StopForecast | None,
    cost: Cost,
    per_hour: Fraction,
    env: Mapping[str, str] | None,
) -> dict[str, object]:
    """Needs project, owner, shape, image, volume and cluster loaded."""
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "project": {"id": row.project_id, "label": row.project.slug},
        "owner": {"id": row.owner_id, "label": row.owner.email},
        "shape": row.shape.slug,
        "image": row.image.slug,
        "state": row.state,
        "state_since": row.state_since,
        "desired_state": row.desired_state,
        "reason": row.reason,
        "created_at": row.created_at,
        "disk_gib": row.volume.size_gib,
        "volume": row.volume_id,
        "env": env,
        "labels": row.spec.get("labels") or {},
        "preemptible": row.preemptible,
        "nodes": row.replicas if row.kind == Kind.CLUSTER else None,
        "job": None if row.job is None else row.job.as_json(),
        "cluster": row.cluster.slug,
        "simulated": row.cluster.simulated_accelerators and row.shape.accelerator_count > 0,
        "conditions": [_condition(each) for each in conditions],
        "will_stop_at": forecast.will_stop_at if forecast else None,
        "stop": _stop(forecast) if forecast else None,
        "kept_until": row.stop_extended_until,
        "cost": {"so_far": cost.money, "per_hour": rate(per_hour, cost.currency), "as_of": cost.as_of},
    }


def verdict(found: Preview, *, more: Sequence[Reason], currency: str) -> dict[str, object]:
    """`more`: reasons beyond admission's own."""
    reasons = [*found.verdict.failing, *more]
    return {
        "admitted": not reasons,
        "needs_approval": found.verdict.awaits and not more,
        "deciders": found.verdict.deciders,
        "warnings": [reason.as_json() for reason in found.verdict.warnings],
        "reasons": [reason.as_json() for reason in reasons],
        "starts": found.verdict.starts,
        "waits": found.verdict.waits.as_json() if found.verdict.waits else None,
        "name": found.name,
        "running": _prices(found.running),
        "stopped": _prices(found.stopped),
        "alternatives": [_alternative(each, price, currency) for each, price in found.alternatives],
        "quotas": [_quota(each) for each in found.quotas],
        "simulated": found.simulated,
    }


def usage(row: UsageSession, *, cost: Fraction, now: datetime) -> dict[str, object]:
    ended = row.during.upper
    held = (ended or max(now, row.during.lower)) - row.during.lower
    seconds = Fraction(held.days * 86_400 + held.seconds) + Fraction(held.microseconds, 1_000_000)
    return {
        "id": row.pk,
        "sku": row.sku.code,
        "component": row.component,
        "quantity": plain(Fraction(row.quantity_micro, MICRO), digits=6),
        "from": row.during.lower,
        "to": ended,
        "duration_seconds": plain(seconds, digits=6),
        "cost": settle(cost, row.period.currency),
        "as_of": ended or now,
    }


def volume(row: Volume, people: Mapping[UUID, User]) -> dict[str, object]:
    owner = people.get(row.owner_id)
    return {
        "id": row.pk,
        "name": row.name,
        "project": {"id": row.project_id, "label": row.project.slug},
        "owner": {"id": row.owner_id, "label": owner.email if owner else ""},
        "size_gib": row.size_gib,
        "state": row.state,
        "cluster": row.cluster.slug,
        "created_at": row.created_at,
        "deleted_at": row.deleted_at,
        "purge_after": row.purge_after,
    }


def rate(exact: Fraction, currency: str) -> Money:
    """A price per hour: all its digits, at least those of the currency. It is not settled; that happens to sums."""
    shown = plain(exact, digits=_RATE_DIGITS).normalize()
    cent = Decimal(1).scaleb(-minor_digits(currency))
    exponent = shown.as_tuple().exponent
    assert isinstance(exponent, int)
    return Money(shown if -exponent > minor_digits(currency) else shown.quantize(cent), currency)


def _size(facts: ShapeFacts) -> dict[str, object]:
    return {
        "accelerator": facts.accelerator,
        "accelerator_count": facts.accelerator_count,
        "vcpus": facts.vcpus,
        "memory_gib": facts.memory_gib,
    }


def _condition(row: Condition) -> dict[str, object]:
    return {"type": row.type, "status": row.status, "code": row.code, "message": row.message, "since": row.since}


def _stop(forecast: StopForecast) -> dict[str, object]:
    return {
        "rule": forecast.rule,
        "last_signal_at": forecast.last_activity_at,
        "last_signal": forecast.source,
        "policy": forecast.policy,
    }


def _prices(price: Hourly | None) -> dict[str, object] | None:
    return None if price is None else {"per_hour": rate(price.exact, price.currency), "per_month": price.per_month}


def _alternative(each: Alternative, price: Hourly | None, currency: str) -> dict[str, object]:
    difference = each.difference_per_hour
    return {
        "shape": each.shape.slug,
        "label": each.shape.label,
        **_size(each.shape),
        "price": _prices(price),
        "difference_per_hour": None if difference is None else rate(difference, currency),
    }


def _quota(shown: QuotaShown) -> dict[str, object]:
    return {**asdict(shown), "left": shown.left}

"""Usage sessions: opened and closed by the transition that takes and gives the capacity, in its transaction and act."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.postgres.fields import DateTimeRangeField
from django.db import transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import Exists, F, Func, OuterRef, Q, Value
from django.db.models.functions import Greatest

from billing.errors import NotPriced
from billing.models import Price, Sku, UsageSession
from billing.services import periods
from core.types import ObjectRef

SHORTEST = timedelta(microseconds=1)
"""What is taken and given back at the same instant was held for one microsecond: a row says so, and costs nothing."""


@transaction.atomic
def open_session(
    *,
    organization_id: UUID,
    project: ObjectRef,
    user_id: UUID | None,
    workload_ref: ObjectRef,
    sku_code: str,
    component: str,
    quantity_micro: int,
    at: datetime,
    workload_kind: str = "workspace",
) -> UsageSession:
    """A component of a workload begins to hold a quantity of a SKU (one device = 1,000,000). Raises NotPriced.

    The caller holds the workload's row lock and records the act. What is open with the same SKU and quantity stays as
    it is; with another, it is closed at `at` (a change of scale). An instant before the end of the component's last
    session counts as that end: nothing is charged twice.
    """
    period = periods.taking_in(organization_id=organization_id, at=at)
    sku = _priced(sku_code, currency=period.currency, at=at)
    last = _last(organization_id, UUID(workload_ref.id), component)
    if last is not None and last.during.upper is None:
        if (last.sku_id, last.quantity_micro) == (sku.pk, quantity_micro):
            return last
        close_sessions(organization_id=organization_id, workload_id=last.workload_id, at=at, components=[component])
        last.refresh_from_db(fields=["during"])
    return UsageSession.objects.create(
        organization_id=organization_id,
        project_id=UUID(project.id),
        project_label=project.label,
        user_id=user_id,
        workload_id=UUID(workload_ref.id),
        workload_label=workload_ref.label,
        workload_kind=workload_kind,
        sku=sku,
        component=component,
        quantity_micro=quantity_micro,
        during=DateTimeTZRange(max(at, last.during.upper) if last else at, None, "[)"),
        period=period,
    )


@transaction.atomic
def close_sessions(
    *, organization_id: UUID, workload_id: UUID, at: datetime, components: Collection[str] | None = None
) -> int:
    """What the workload holds (or the named components of it) is given back at `at`; returns how many rows closed.

    Closing again changes nothing. An instant before the start counts as the start.
    """
    periods.taking_in(organization_id=organization_id, at=at)
    which = Q() if components is None else Q(component__in=list(components))
    return UsageSession.objects.filter(
        which, organization_id=organization_id, workload_id=workload_id, during__upper_inf=True
    ).update(during=_closed_at(at))


def _closed_at(at: datetime) -> Func:
    start = F("during__startswith")
    end = Greatest(Value(at), start + Value(SHORTEST))
    return Func(start, end, Value("[)"), function="tstzrange", output_field=DateTimeRangeField())


def _priced(sku_code: str, *, currency: str, at: datetime) -> Sku:
    valid = Price.objects.filter(Q(valid_to__isnull=True) | Q(valid_to__gt=at), valid_from__lte=at, currency=currency)
    found = Sku.objects.filter(Exists(valid.filter(sku=OuterRef("pk"))), code=sku_code).first()
    if found is None:
        raise NotPriced(sku_code, currency)
    return found


def _last(organization_id: UUID, workload_id: UUID, component: str) -> UsageSession | None:
    return (
        UsageSession.objects.filter(organization_id=organization_id, workload_id=workload_id, component=component)
        .order_by(F("during__startswith").desc())
        .first()
    )

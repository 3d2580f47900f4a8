"""What was held, by whom and when: the facts that costs and invoices are computed from."""

from __future__ import annotations

from typing import ClassVar, Self

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeBoundary, RangeOperators
from django.db import models
from django.db.models import F, Func, Q

from billing.enums import Component, PeriodState
from core.models import ScopedManager, TenantModel
from core.types import ObjectRef


class BillingPeriod(TenantModel):
    """A calendar month of the organisation's time zone, as two instants. Periods touch and never overlap."""

    name = models.CharField(max_length=7)
    start = models.DateTimeField()
    end = models.DateTimeField()
    time_zone = models.CharField(max_length=60)
    currency = models.CharField(max_length=3)
    state = models.CharField(max_length=6, choices=PeriodState.choices, default=PeriodState.OPEN)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "name"], name="billing_period_once"),
            models.CheckConstraint(name="billing_period_lasts", condition=Q(end__gt=F("start"))),
            ExclusionConstraint(
                name="billing_period_tiles",
                expressions=[
                    ("organization", RangeOperators.EQUAL),
                    (
                        Func("start", "end", RangeBoundary(), function="tstzrange", output_field=DateTimeRangeField()),
                        RangeOperators.OVERLAPS,
                    ),
                ],
            ),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("billing_period", str(self.pk), self.name)


class UsageSession(TenantModel):
    """A quantity of one SKU held by one component of a workload over [from, to), to the microsecond.

    A row changes once, open → closed, and is never deleted (a trigger sees to it); corrections are new rows.
    `quantity_micro`: one device, vCPU or GiB is 1,000,000. People are held by id: their names can be erased.
    """

    project = models.ForeignKey("tenants.Project", on_delete=models.PROTECT, related_name="+", db_index=False)
    project_label = models.CharField(max_length=120)
    user_id = models.UUIDField(null=True)
    workload_id = models.UUIDField()
    workload_label = models.CharField(max_length=120)
    workload_kind = models.CharField(max_length=20)
    sku = models.ForeignKey("billing.Sku", on_delete=models.PROTECT, related_name="+")
    component = models.CharField(max_length=12, choices=Component.choices)
    quantity_micro = models.BigIntegerField()
    during = DateTimeRangeField()
    period = models.ForeignKey(BillingPeriod, on_delete=models.PROTECT, related_name="sessions", db_index=False)

    objects: ClassVar[ScopedManager[Self]] = ScopedManager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="usage_session_of_something", condition=Q(quantity_micro__gt=0)),
            models.CheckConstraint(
                name="usage_session_half_open",
                condition=Q(during__isempty=False, during__lower_inc=True, during__upper_inc=False)
                & Q(during__lower_inf=False),
            ),
            ExclusionConstraint(
                name="usage_session_no_overlap",
                expressions=[
                    ("organization", RangeOperators.EQUAL),
                    ("workload_id", RangeOperators.EQUAL),
                    ("component", RangeOperators.EQUAL),
                    ("during", RangeOperators.OVERLAPS),
                ],
            ),
        ]
        indexes = [
            models.Index(fields=["organization", "workload_id", "-id"], name="usage_session_by_workload"),
            models.Index(fields=["organization", "project", "-id"], name="usage_session_by_project"),
            models.Index(fields=["organization", "period"], name="usage_session_by_period"),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("usage_session", str(self.pk), self.workload_label)

"""Quotas: what a place may hold at once of a resource, and who holds it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from core.models import TenantModel
from core.types import ObjectRef
from tenants.enums import QuotaLevel


class Quota(TenantModel):
    """Limit and use of one resource in one place: a team, a project, a person; all empty: the organisation itself.

    `limit` is the place's own share. Above it, it may borrow up to `borrow_limit`; `lend_limit` is the most of its
    unused share that its siblings may use (None: all of it). `used` is the sum of the holds below the place, always.
    A temporary raise ends at `raised_until`: from then on the limit is `falls_to`. `agreed`: the most that the place
    could hold (limit and what it may borrow) before one person alone began to raise it under a rule that watches such
    raises; None while nobody has since others last agreed.
    """

    team = models.ForeignKey("tenants.Team", on_delete=models.CASCADE, null=True, related_name="quotas")
    project = models.ForeignKey("tenants.Project", on_delete=models.CASCADE, null=True, related_name="quotas")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    resource = models.CharField(max_length=60)
    limit = models.PositiveBigIntegerField()
    borrow_limit = models.PositiveBigIntegerField(default=0)
    lend_limit = models.PositiveBigIntegerField(null=True)
    raised_until = models.DateTimeField(null=True)
    falls_to = models.PositiveBigIntegerField(null=True)
    agreed = models.PositiveBigIntegerField(null=True)
    used = models.PositiveBigIntegerField(default=0)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "team", "project", "user", "resource"],
                name="quota_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(name="quota_used_not_negative", condition=Q(used__gte=0)),
            models.CheckConstraint(
                name="quota_on_one_place",
                condition=Q(team__isnull=True, project__isnull=True)
                | Q(team__isnull=True, user__isnull=True)
                | Q(project__isnull=True, user__isnull=True),
            ),
            models.CheckConstraint(
                name="quota_siblings_alone_share",
                condition=Q(team__isnull=False) | Q(project__isnull=False) | Q(borrow_limit=0, lend_limit__isnull=True),
            ),
            models.CheckConstraint(
                name="quota_raise_falls_back",
                condition=Q(raised_until__isnull=True, falls_to__isnull=True)
                | Q(raised_until__isnull=False, falls_to__isnull=False),
            ),
        ]
        indexes = [
            models.Index(
                fields=["organization", "resource"],
                name="quota_that_shares",
                condition=Q(borrow_limit__gt=0) | Q(lend_limit__isnull=False),
            ),
            models.Index(fields=["raised_until"], name="quota_raised", condition=Q(raised_until__isnull=False)),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("quota", str(self.pk), self.resource)

    @property
    def level(self) -> QuotaLevel:
        if self.user_id is not None:
            return QuotaLevel.USER
        if self.project_id is not None:
            return QuotaLevel.PROJECT
        return QuotaLevel.TEAM if self.team_id is not None else QuotaLevel.ORGANIZATION


class QuotaHold(TenantModel):
    """What one holder takes of one resource, counted in each quota above it.

    It is there also where no quota limits the resource, so that one that is set later knows what is used. `owner_id`:
    whose own quota it counts in. `in_use_from` empty: taken for something that does not run yet.
    """

    project = models.ForeignKey("tenants.Project", on_delete=models.PROTECT, related_name="holds", db_index=False)
    resource = models.CharField(max_length=60)
    holder_kind = models.CharField(max_length=20)
    holder_id = models.UUIDField()
    holder_label = models.CharField(max_length=120)
    owner_id = models.UUIDField(null=True)
    amount = models.PositiveBigIntegerField()
    held_from = models.DateTimeField()
    in_use_from = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "holder_id", "holder_kind", "resource"], name="quota_hold_once"
            ),
            models.CheckConstraint(name="quota_hold_positive", condition=Q(amount__gt=0)),
        ]
        indexes = [models.Index(fields=["organization", "project", "resource"], name="quota_hold_by_project")]

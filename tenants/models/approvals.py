"""Approvals: what somebody asked for that others have to agree to."""

from __future__ import annotations

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from core.models import TenantModel
from core.types import ObjectRef
from tenants.enums import ApprovalKind, ApprovalState, Decider, Verdict


class Approval(TenantModel):
    """One request. `payload` is what was asked, word for word, and never changes; `rule` names what asked for approval.

    Decided on the project, else the team, else the organisation; by people of the platform where `decider` says so.
    `behind`: who could have made the asker ask (makers of a service account and of its tokens, an operator who acted
    for the asker); they decide as little as the asker does.
    `needed` people must agree: two of them are four eyes. One refusal refuses it.
    """

    kind = models.CharField(max_length=20, choices=ApprovalKind.choices)
    decider = models.CharField(max_length=12, choices=Decider.choices, default=Decider.ORGANIZATION)
    subject_kind = models.CharField(max_length=20)
    subject_id = models.UUIDField()
    subject_label = models.CharField(max_length=120)
    project = models.ForeignKey("tenants.Project", on_delete=models.PROTECT, null=True, related_name="+")
    team = models.ForeignKey("tenants.Team", on_delete=models.PROTECT, null=True, related_name="+")
    asked_by = models.UUIDField(null=True)
    behind = ArrayField(models.UUIDField(), default=list, blank=True)
    justification = models.CharField(max_length=1000, blank=True)
    payload = models.JSONField(default=dict)
    rule = models.CharField(max_length=120, blank=True)
    needed = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=10, choices=ApprovalState.choices, default=ApprovalState.OPEN)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "kind", "subject_kind", "subject_id"],
                name="approval_open_once",
                condition=Q(state=ApprovalState.OPEN),
            ),
            models.CheckConstraint(name="approval_needs_one_or_two", condition=Q(needed__gte=1, needed__lte=2)),
            models.CheckConstraint(
                name="approval_settled_when_not_open",
                condition=Q(state=ApprovalState.OPEN, settled_at__isnull=True)
                | (~Q(state=ApprovalState.OPEN) & Q(settled_at__isnull=False)),
            ),
        ]
        indexes = [
            models.Index(fields=["organization", "state", "-id"], name="approval_by_state"),
            models.Index(fields=["organization", "subject_id", "-id"], name="approval_by_subject"),
            models.Index(fields=["expires_at"], name="approval_due", condition=Q(state=ApprovalState.OPEN)),
        ]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("approval", str(self.pk), self.subject_label)

    @property
    def subject(self) -> ObjectRef:
        return ObjectRef(self.subject_kind, str(self.subject_id), self.subject_label)

    def is_open(self, now: datetime) -> bool:
        """Whether it can be decided: it may have run out before the sweep marks it."""
        return self.state == ApprovalState.OPEN and now < self.expires_at


class ApprovalDecision(TenantModel):
    """What one person said, once. Insert-only."""

    approval = models.ForeignKey("tenants.Approval", on_delete=models.PROTECT, related_name="decisions")
    by = models.UUIDField()
    at = models.DateTimeField()
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    comment = models.CharField(max_length=1000, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["approval", "by"], name="approval_decided_once_by_each")]

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("approval", str(self.approval_id))


class ApprovalLetter(TenantModel):
    """A letter about an approval, to one person: that it waits for their word (`open`), or what became of it.

    At most one of each kind to each person: the row is the key under which it is sent.
    """

    approval = models.ForeignKey("tenants.Approval", on_delete=models.PROTECT, related_name="letters")
    person_id = models.UUIDField()
    about = models.CharField(max_length=10, choices=ApprovalState.choices)
    due_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "approval", "about", "person_id"], name="approval_letter_once"
            ),
        ]
        indexes = [models.Index(fields=["due_at"], name="approval_letter_due", condition=Q(due_at__isnull=False))]

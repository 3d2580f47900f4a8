"""What the roof itself keeps: the reports of the proof of isolation."""

from __future__ import annotations

from django.db import models

from core.models import UUIDModel


class IsolationReport(UUIDModel):
    """One signed report, whole, as it was written. The platform's: no organisation's role reads this table.

    `subject` and `stranger` are the slugs at that time; counts are those of the document.
    """

    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    version = models.CharField(max_length=40)
    subject = models.CharField(max_length=40)
    stranger = models.CharField(max_length=40)
    asked = models.PositiveIntegerField()
    held = models.PositiveIntegerField()
    failed = models.PositiveIntegerField()
    not_asked = models.PositiveIntegerField()
    document = models.TextField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(asked=models.F("held") + models.F("failed")), name="isolation_report_adds_up"
            )
        ]

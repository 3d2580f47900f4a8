"""Issue the invoices of every month that is over and past its grace, now instead of within the hour."""

from __future__ import annotations

from django.core.management.base import BaseCommand
from django.utils import timezone

from billing.services import runs


class Command(BaseCommand):
    help = "Issue what is due. It may be killed, repeated and started several times at once: one invoice a month."

    def handle(self, *args: object, **options: object) -> None:
        outcome = runs.run(now=timezone.now())
        for number in outcome.issued:
            self.stdout.write(f"issued {number}")
        for due in outcome.held:
            self.stdout.write(f"held   {due.organization_id} {due.month}")

"""Check every audit chain against its hashes."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandError

from core import scope
from core.audit_verifier import verify
from core.models import AuditEvent
from core.sealing import chain_of


class Command(BaseCommand):
    help = "Check every audit chain; name the first bad entry of each."

    def handle(self, *args: object, **options: object) -> None:
        with scope.of_platform():
            chains = list(AuditEvent.objects.order_by().values_list("organization_id", flat=True).distinct())
            verdict = verify(event for chain in sorted(chains) for event in chain_of(chain))
        for fault in verdict.faults:
            self.stderr.write(f"BAD  {fault.organization_id} entry {fault.seq} {fault.event_id}: {fault.what}")
        self.stdout.write(
            f"{sum(verdict.sealed.values())} entries of {len(verdict.sealed)} chains hold;"
            f" {verdict.unsealed} are not sealed yet."
        )
        if verdict.faults:
            raise CommandError(f"{len(verdict.faults)} chains are broken.")

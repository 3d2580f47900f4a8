"""Check every audit chain against its hashes, the anchors and the cuts."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.management.base import BaseCommand, CommandError

from core import scope
from core.anchors import anchors, public_keys
from core.audit_verifier import verify
from core.sealing import chains, log_of
from core.types import Json


class Command(BaseCommand):
    help = "Check every audit chain, also against the anchors file; name the first bad entry of each."

    def handle(self, *args: object, **options: object) -> None:
        with scope.of_platform():
            verdict = verify(_everything(), anchors(), keys=public_keys())
        for fault in verdict.faults:
            self.stderr.write(f"BAD  {fault.organization_id} entry {fault.seq} {fault.event_id}: {fault.what}")
        self.stdout.write(
            f"{sum(verdict.sealed.values())} entries of {len(verdict.sealed)} chains hold;"
            f" {verdict.unsealed} are not sealed yet."
        )
        if verdict.faults:
            raise CommandError(f"{len({fault.organization_id for fault in verdict.faults})} chains are broken.")


def _everything() -> Iterator[dict[str, Json]]:
    for chain in chains():
        yield from log_of(chain)

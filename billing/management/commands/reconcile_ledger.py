"""Recompute every balance and every chain of the books, and compare."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandError

from billing.services import checking
from core import scope


class Command(BaseCommand):
    help = "Recompute balances, standings of invoices and the chains of documents; name what does not agree."

    def handle(self, *args: object, **options: object) -> None:
        with scope.of_platform():
            found = checking.faults_found()
        for fault in found:
            self.stderr.write(f"BAD  {fault}")
        if found:
            raise CommandError(f"{len(found)} do not agree.")
        self.stdout.write("All balances, standings and chains agree.")

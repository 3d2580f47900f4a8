"""Write audit chains as JSON Lines, for `core/audit_verifier.py` and for other systems."""

from __future__ import annotations

import json
from uuid import UUID

from django.core.management.base import BaseCommand, CommandParser

from core import scope
from core.sealing import chains, log_of


class Command(BaseCommand):
    help = "Write the audit chains, one event a line, in their order."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--organization", type=UUID, help="One chain alone, by its organisation's id.")

    def handle(self, *args: object, organization: UUID | None, **options: object) -> None:
        with scope.of_platform():
            for chain in [organization] if organization else chains():
                for event in log_of(chain):
                    self.stdout.write(json.dumps(event, sort_keys=True, ensure_ascii=False))

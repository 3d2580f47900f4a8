"""Erase a person by id, at their request."""

from __future__ import annotations

from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from core import acts
from core.acts import Source, SourceKind
from core.errors import SteelyardError
from core.types import system_actor
from portal.erasing import erase
from tenants.selectors import people_by_id


class Command(BaseCommand):
    help = "Replace a person's name and address by placeholders and end all that they hold. It cannot be taken back."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("person", type=UUID, help="The person's id; audit entries and pages show it.")
        parser.add_argument("--reason", default="", help="Kept in the audit log, so without the person's name.")

    def handle(self, *args: object, person: UUID, reason: str, **options: object) -> None:
        found = people_by_id([person]).get(person)
        actor = system_actor("erasure", None)
        try:
            with acts.begin(Source(SourceKind.COMMAND)):
                erase(
                    actor=actor,
                    user_id=person,
                    confirmed=found.email if found else "",
                    reason=reason,
                    now=timezone.now(),
                )
        except SteelyardError as error:
            raise CommandError(error.message) from None
        self.stdout.write(f"{person} is erased.")

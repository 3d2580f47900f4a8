"""Erase a person by id, at their request."""

from __future__ import annotations

from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from core import acts, scope
from core.acts import Source, SourceKind
from core.errors import SteelyardError
from core.types import system_actor
from tenants.services.erasure import erase_person


class Command(BaseCommand):
    help = "Replace a person's name and address by placeholders and end all that they hold. It cannot be taken back."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("person", type=UUID, help="The person's id; audit entries and pages show it.")

    def handle(self, *args: object, person: UUID, **options: object) -> None:
        try:
            with acts.begin(Source(SourceKind.COMMAND)), scope.of_platform():
                erase_person(actor=system_actor("erasure", None), user_id=person, now=timezone.now())
        except SteelyardError as error:
            raise CommandError(error.message) from None
        self.stdout.write(f"{person} is erased.")

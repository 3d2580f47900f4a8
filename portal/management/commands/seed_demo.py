"""Make the demo's organisations, people, shapes and prices, once; tell who they are."""

from __future__ import annotations

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from portal.demo.people import Credential, credentials
from portal.demo.seed import seed
from portal.up.state import write_private


class Command(BaseCommand):
    help = "Make the demo's organisations, people, shapes and prices. A second run changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--credentials-file",
            type=Path,
            required=True,
            help="Where the generated credentials are kept (mode 0600). Read first, so that they stay as they are.",
        )

    def handle(self, *args: object, credentials_file: Path, **options: object) -> None:
        known: list[Credential] = json.loads(credentials_file.read_text()) if credentials_file.exists() else []
        people = credentials(known)
        if people != known:
            write_private(credentials_file, json.dumps(people, indent=2))
        seed(people, now=timezone.now())

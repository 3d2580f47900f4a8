"""`manage.py openapi`: write the API's description into the repository, or say whether it is current."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from portal.api.documentation import document


class Command(BaseCommand):
    help = "Write docs/openapi.json, or check that it is current."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="Write nothing; fail where the file has drifted.")

    def handle(self, *args: str, **options: bool) -> None:
        path = Path(settings.BASE_DIR) / "docs" / "openapi.json"
        current = document()
        if not options["check"]:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(current)
            return
        if not path.exists() or path.read_bytes() != current:
            raise CommandError("docs/openapi.json is not what the code says: run `manage.py openapi`.")

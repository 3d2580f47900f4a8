"""Write today's signed heads of the audit chains, and say by which key."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from core.anchors import anchor_all, anchors_path, public_keys


class Command(BaseCommand):
    help = "Append today's signed head of each audit chain to the anchors file, and show the public key."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--public-key", action="store_true", help="Show the public key alone.")

    def handle(self, *args: object, public_key: bool, **options: object) -> None:
        if public_key:
            self.stdout.write(",".join(public_keys()))
            return
        written = anchor_all(now=timezone.now())
        self.stdout.write(f"{written} heads written to {anchors_path()}, signed by {public_keys()[0]}")

"""Put every stored secret under the first of the installation's keys, so that former ones may go."""

from __future__ import annotations

from django.core.management.base import BaseCommand
from django.utils import timezone

from portal.keys import rotate


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: object, **options: object) -> None:
        self.stdout.write(f"{rotate(now=timezone.now())} secrets are under the first key now.")

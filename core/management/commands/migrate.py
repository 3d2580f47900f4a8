"""Django's `migrate`, for a fifth of the work (`core.rendering`)."""

from __future__ import annotations

from django.core.management.commands import migrate

from core.rendering import sparing


class Command(migrate.Command):
    def handle(self, *args: object, **options: object) -> None:
        with sparing():
            super().handle(*args, **options)

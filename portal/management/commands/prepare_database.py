"""`manage.py prepare_database`: what a database of your own needs before `migrate`."""

from __future__ import annotations

import os

from django.core.management.base import BaseCommand, CommandError

from portal.up.errors import CannotStart
from portal.up.prepare import prepare_from


class Command(BaseCommand):
    help = (
        "Create or renew roles, grants and extensions in the database of DATABASE_OWNER_URL, and set the web role's "
        "password as DATABASE_URL gives it. Safe to repeat; `migrate` comes next."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: object, **options: object) -> None:
        try:
            prepare_from(os.environ)
        except CannotStart as error:
            raise CommandError(str(error)) from error
        self.stdout.write("The database is prepared: migrate comes next.")

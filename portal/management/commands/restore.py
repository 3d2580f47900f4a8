"""`manage.py restore`: an archive of `manage.py backup`, into a new state folder."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.migrations.loader import MigrationLoader

from portal.backup.errors import CannotRestore
from portal.backup.restoring import restore
from portal.up.errors import CannotStart
from portal.up.state import describe
from portal.up.supervisor import StopRequested


class Command(BaseCommand):
    help = (
        "Restore an archive into the empty or new folder STEELYARD_STATE, and into the empty database of DATABASE_URL "
        "where one is given; `make up` then starts it."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path)

    def handle(self, *args: object, archive: Path, **options: object) -> None:
        os.umask(0o077)
        known = [f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations]
        try:
            seen = restore(archive, os.environ, root=Path(settings.BASE_DIR), known_migrations=known)
        except (CannotRestore, CannotStart) as error:
            raise CommandError(str(error)) from error
        except StopRequested:
            raise CommandError("Interrupted: nothing was restored.") from None
        except OSError as error:
            raise CommandError(f"The archive cannot be restored: {describe(error)}") from error
        self.stdout.write(
            f"Restored as of {seen.manifest.taken_at} ({seen.manifest.files} files): `make up` starts it."
        )

"""`manage.py backup`: database, files and keys in one archive, also while the platform runs."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from portal.backup import installations
from portal.backup.errors import CannotBackUp
from portal.backup.making import back_up
from portal.up.errors import CannotStart
from portal.up.state import describe


class Command(BaseCommand):
    help = (
        "Write one archive (mode 0600) of the installation in STEELYARD_STATE: database, workspaces' files, keys. "
        "Keep it as you keep a key: whoever has it can read everything."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", type=Path, help="Where to write it; else below the installation's backups.")

    def handle(self, *args: object, to: Path | None, **options: object) -> None:
        os.umask(0o077)
        try:
            made = back_up(installations.find(os.environ, Path(settings.BASE_DIR)), to)
        except (CannotBackUp, CannotStart) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"The backup cannot be written: {describe(error)}") from error
        left_out = f"; left out: {made.left_out} sockets, pipes or devices" if made.left_out else ""
        self.stdout.write(f"{made.path} ({made.size / 2**20:.1f} MiB, {made.files} files{left_out})")

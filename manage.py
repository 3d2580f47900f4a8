#!/usr/bin/env python
"""Commands of Steelyard. `up` starts everything and needs no Django; all others are Django's."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path


def main(words: list[str]) -> int:
    try:
        if words[1:2] == ["up"]:
            return int(import_module("portal.up.main").main())
        if words[1:2] == ["--installation"]:
            words = _of_installation(words)
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
        import_module("django.core.management").execute_from_command_line(words)
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in {"django", "psycopg", "psutil", "redis"}:
            return _complain(
                f"The Python package {error.name} is missing: run `make install`, then .venv/bin/python manage.py."
            )
        raise
    return 0


def _of_installation(words: list[str]) -> list[str]:
    """`manage.py --installation FOLDER command …`: the command, in the environment of that running installation."""
    errors = import_module("portal.up.errors")
    try:
        folder, command = Path(words[2]), words[3]
        import_module("portal.up.variables").enter_installation(folder, command)
    except IndexError:
        raise SystemExit(_complain("Usage: manage.py --installation FOLDER COMMAND …")) from None
    except errors.CannotStart as error:
        raise SystemExit(_complain(str(error))) from None
    return [words[0], *words[3:]]


def _complain(line: str) -> int:
    sys.stderr.write(f"{line}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))

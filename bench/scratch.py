"""A scratch database for measurements: throw-away servers, all migrations, Django set up as the owner."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import django
from django.core.management import call_command

from portal.up.ephemeral import Servers, servers


@contextmanager
def scratch() -> Iterator[Servers]:
    """Import models only inside: Django reads its settings here."""
    with servers() as running:
        os.environ |= {
            "DATABASE_URL": running.owner_url,
            "REDIS_URL": running.redis_url,
            "DJANGO_SETTINGS_MODULE": "portal.settings",
        }
        django.setup()
        call_command("migrate", verbosity=0)
        yield running

"""`manage.py watch_clusters`: the process that listens to the clusters of the fleet."""

from __future__ import annotations

import signal
import threading

from django.core.management.base import BaseCommand
from django.utils import timezone

from provisioning.drivers.registry import driver_at
from provisioning.reconciler.watching import Watchman


class Command(BaseCommand):
    help = "Listen to every cluster of the fleet, so that changes are seen before the next sweep."

    def handle(self, *args: object, **options: object) -> None:
        stopped = threading.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: stopped.set())
        Watchman(drivers=driver_at, clock=timezone.now).run(stopped)

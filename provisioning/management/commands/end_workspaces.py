"""End every workspace of this machine: the last thing before the database goes down."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from provisioning.drivers.local.driver import LocalDriver
from provisioning.drivers.places import LOCAL
from provisioning.drivers.registry import driver_at
from provisioning.reconciler import finish_ending
from provisioning.selectors.sweeps import placed_workloads
from provisioning.services.shutdown import end_with_platform

DRIVERS_SHARE = 0.7


class Command(BaseCommand):
    help = "End the workspaces of this machine, close their usage at the real exit, and keep the wish that they run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--seconds", type=float, default=40.0, help="How long all of it may take.")

    def handle(self, *args: object, seconds: float, **options: object) -> None:
        """Nobody else works on them any more: the supervisor has ended worker and beat."""
        placed = placed_workloads(LOCAL)
        if not placed:
            return
        ending = [
            found
            for found in placed
            if end_with_platform(organization_id=found.organization_id, workload_id=found.id, now=timezone.now())
        ]
        driver = driver_at(LOCAL)
        if isinstance(driver, LocalDriver):
            driver.end_all(seconds=seconds * DRIVERS_SHARE)
        deadline = timezone.now() + timedelta(seconds=seconds)
        left = [
            str(found.id)
            for found in ending
            if not finish_ending(
                organization_id=found.organization_id,
                workload_id=found.id,
                drivers=driver_at,
                clock=timezone.now,
                within=max(deadline - timezone.now(), timedelta(seconds=1)),
            )
        ]
        if left:
            raise CommandError(f"Still ending: {', '.join(left)}")
        self.stdout.write(f"Ended {len(ending)} workspace{'' if len(ending) == 1 else 's'}.")

"""`manage.py reconcile_quotas`: compare quotas with what lives, say what differs, and put it right."""

from __future__ import annotations

import json
from argparse import ArgumentParser

from django.core.management.base import BaseCommand
from django.utils import timezone

from provisioning.services import quota_drift


class Command(BaseCommand):
    help = "Compare every quota with what is held, and every hold with what lives; report, then correct."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--report-only", action="store_true", help="Correct nothing.")

    def handle(self, *args: object, report_only: bool, **options: object) -> None:
        """One line of JSON for each organisation where something differs; the last line says how many."""
        found = quota_drift.sweep(now=timezone.now(), correct=not report_only)
        for drift in found:
            self.stdout.write(json.dumps({"organization": str(drift.organization_id), **drift.as_json()}))
        done = "reported" if report_only else "reported and corrected"
        self.stdout.write(f"{len(found)} organisations with drift, {done}." if found else "No drift.")

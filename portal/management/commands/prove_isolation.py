"""Prove on this installation that organisations are kept apart, and write it down under signature."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.anchors import public_keys
from portal.isolation.proving import CannotProve, prove
from portal.isolation.verifier import verify
from portal.models import IsolationReport


class Command(BaseCommand):
    help = (
        "Ask every route as every role for another organisation's objects, and every table likewise; "
        "write a signed report, which the console shows. All of it is undone. Exit status 1: a row failed."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--organization", default="", help="Slug: whose objects are asked for.")
        parser.add_argument("--stranger", default="", help="Slug: whose people must not see them.")
        parser.add_argument("--output", type=Path, help="Where to write the report; else below the state folder.")
        parser.add_argument("--verify", type=Path, metavar="FILE", help="Check a report instead: ask nothing.")
        parser.add_argument("--key", default="", help="With --verify: the public key of the installation that signed.")

    def handle(
        self,
        *args: object,
        organization: str,
        stranger: str,
        output: Path | None,
        verify: Path | None,
        key: str,
        **options: object,
    ) -> None:
        if verify is not None:
            self._verify(verify, key.split(",") if key else public_keys())
            return
        try:
            report = prove(organization=organization, stranger=stranger, tell=self.stdout.write)
        except CannotProve as error:
            raise CommandError(str(error)) from error
        self._write(report, output or _default_path(report))
        self.stdout.write(
            f"{report.asked} questions asked: {report.held} held, {report.failed} failed;"
            f" {report.not_asked} could not be asked."
        )
        if report.failed:
            raise CommandError(f"{report.failed} questions were answered as they must not be: see the report.")

    def _write(self, report: IsolationReport, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(report.document.encode())
        except OSError as error:
            raise CommandError(f"The report is in the console, but not in {path}: {error.strerror}.") from error
        self.stdout.write(f"Report {report.pk} written to {path}, signed by {public_keys()[0]}")

    def _verify(self, path: Path, keys: list[str]) -> None:
        try:
            verdict = verify(path.read_bytes(), keys=keys)
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        for fault in verdict.faults:
            self.stderr.write(f"BAD  {fault}")
        if not verdict.holds:
            raise CommandError("The report is not as it was signed.")
        self.stdout.write(f"The report is as it was signed, by {verdict.key}")


def _default_path(report: IsolationReport) -> Path:
    state = settings.STEELYARD["STATE"]
    assert isinstance(state, Path)
    return state / "isolation" / f"{report.ended_at:%Y-%m-%dT%H%M%SZ}.json"

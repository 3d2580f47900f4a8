"""`manage.py cluster`: take a cluster out of service, back into it, or out of the fleet."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core import acts, scope
from core.acts import Source, SourceKind
from core.errors import SteelyardError
from core.types import system_actor
from provisioning.services.cluster_standing import cordon, drain, remove, uncordon


class Command(BaseCommand):
    help = "Cordon, uncordon, drain or remove a cluster of the fleet."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("act", choices=("cordon", "uncordon", "drain", "remove"))
        parser.add_argument("--force", action="store_true", help="Remove it although something is left there: a leak.")

    def handle(self, *args: object, slug: str, act: str, force: bool, **options: object) -> None:
        actor, now = system_actor("cluster", None), timezone.now()
        if force and act != "remove":
            raise CommandError("--force belongs to remove.")
        try:
            with acts.begin(Source(SourceKind.COMMAND)), scope.of_platform():
                if act == "remove":
                    cluster = remove(actor=actor, slug=slug, force=force, now=now)
                else:
                    cluster = {"cordon": cordon, "uncordon": uncordon, "drain": drain}[act](
                        actor=actor, slug=slug, now=now
                    )
        except SteelyardError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{slug} is {cluster.standing}.")

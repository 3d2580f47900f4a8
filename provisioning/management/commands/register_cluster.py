"""`manage.py register_cluster`: take a Kubernetes cluster into the fleet."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, FileType
from typing import TextIO

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core import acts, scope
from core.acts import Source, SourceKind
from core.errors import Invalid, SteelyardError
from core.types import system_actor
from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.kubernetes.kubeconfig import Unusable, parse_kubeconfig
from provisioning.services.clusters import Registration, look_at, register


class Command(BaseCommand):
    help = "Take a Kubernetes cluster into the fleet, after a look at what it is and what it lets us do."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--label", default="", help="Its name for people; the slug where none is given.")
        parser.add_argument("--region", required=True, help="The slug of its region.")
        parser.add_argument("--kubeconfig", type=FileType(), default=sys.stdin, help="A file; else standard input.")
        parser.add_argument("--context", default="", help="Of the kubeconfig; its current one where none is given.")
        parser.add_argument("--storage-class", default="", help="For disks; the cluster's default where none is given.")

    def handle(
        self,
        *args: object,
        slug: str,
        label: str,
        region: str,
        kubeconfig: TextIO,
        context: str,
        storage_class: str,
        **options: object,
    ) -> None:
        actor = system_actor("register_cluster", None)
        try:
            connection = parse_kubeconfig(kubeconfig.read(), context=context)
            seen = look_at(actor=actor, connection=connection)
            if seen.missing_rights:
                rights = "; ".join(seen.missing_rights)
                raise CommandError(f"These rights are missing (docs/kubernetes/steelyard-access.yaml): {rights}.")
            registration = Registration(
                slug, label or slug, region, connection, {"standard": storage_class} if storage_class else {}
            )
            with acts.begin(Source(SourceKind.COMMAND)), scope.of_platform():
                register(actor=actor, registration=registration, now=timezone.now())
        except Invalid as error:
            raise CommandError(" ".join(each.message for each in error.errors)) from None
        except (Unusable, DriverUnavailable, SteelyardError, UnicodeDecodeError) as error:
            raise CommandError(str(error)) from None
        offers = ", ".join(seen.offers) or "nothing beside it"
        self.stdout.write(f"{slug} is registered: Kubernetes {seen.version}, with {offers}.")

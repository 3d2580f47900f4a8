"""`manage.py offer_image`: offer an image that clusters pull."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core import acts, scope
from core.acts import Source, SourceKind
from core.errors import SteelyardError
from core.types import system_actor
from provisioning.enums import ImageKind
from provisioning.services.catalogue import ImageOffer
from provisioning.services.catalogue import offer_image as offer


class Command(BaseCommand):
    help = "Offer an image that clusters pull from a registry, or change what is offered under its slug."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("oci_reference", help="registry/name:tag, or better registry/name@sha256:…")
        parser.add_argument(
            "--kind",
            choices=[kind.value for kind in ImageKind],
            default=ImageKind.JUPYTERLAB.value,
            help="What it is made for: a workspace, or a cluster of that framework. A job runs in any.",
        )
        parser.add_argument("--label", default="", help="Its name for people; the slug where none is given.")

    def handle(self, *args: object, slug: str, oci_reference: str, label: str, kind: str, **options: object) -> None:
        image = ImageOffer(slug, label or slug, oci_reference=oci_reference, kind=kind)
        try:
            with acts.begin(Source(SourceKind.COMMAND)), scope.of_platform():
                offer(actor=system_actor("offer_image", None), image=image, now=timezone.now())
        except SteelyardError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{slug} is offered: {oci_reference}.")

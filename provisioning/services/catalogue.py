"""The catalogue: what the platform offers. Written in the platform's scope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from core import audit
from core.errors import FieldError, Forbidden, Invalid, NotFound
from core.types import Actor, Json, ObjectRef
from provisioning.enums import CapacityKind, ImageKind
from provisioning.models import AcceleratorType, Cluster, Image, Region, Shape
from provisioning.models.catalogue import flat_capacity
from tenants.enums import PlatformPermission, PlatformRole
from tenants.permissions import authorize_platform

_SLUG = re.compile(r"[a-z0-9]([a-z0-9.-]{0,58}[a-z0-9])?")
_OCI = re.compile(r"[\w.-]+(:\d+)?(/[\w.-]+)+(:[\w.-]{1,128})?(@sha256:[0-9a-f]{64})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ShapeOffer:
    """A sellable size; one running workload of it is `sku_quantity` units of its SKU, which is of its capacity kind."""

    slug: str
    label: str
    accelerator: str | None
    accelerator_count: int
    vcpus: int
    memory_gib: int
    sku_code: str
    sku_quantity: int
    capacity_kind: str = CapacityKind.ON_DEMAND


@dataclass(frozen=True, slots=True)
class ImageOffer:
    """`reference`: this machine's word; `oci_reference`: what clusters pull; `kind`: what it is made for."""

    slug: str
    label: str
    reference: str = ""
    oci_reference: str = ""
    kind: str = ImageKind.JUPYTERLAB


@dataclass(frozen=True, slots=True)
class ClusterOffer:
    """A place that runs workloads. `capacity`: accelerators by model, vCPUs, GiB of memory."""

    slug: str
    label: str
    driver: str
    simulated_accelerators: bool
    accelerators: tuple[tuple[str, int], ...]
    vcpus: int
    memory_gib: int


@dataclass(frozen=True, slots=True)
class AcceleratorOffer:
    model: str
    vendor: str
    memory_gib: int


@dataclass(frozen=True, slots=True)
class Offer:
    """Everything that one region offers."""

    region: str
    region_label: str
    clusters: tuple[ClusterOffer, ...]
    accelerators: tuple[AcceleratorOffer, ...]
    shapes: tuple[ShapeOffer, ...]
    images: tuple[ImageOffer, ...]


@transaction.atomic
def publish_offer(*, actor: Actor, offer: Offer, now: datetime) -> None:
    """Make the catalogue say what the offer says: new things are made, known ones brought up to date."""
    if not actor.is_system and actor.platform_role != PlatformRole.ADMIN:
        raise Forbidden("publish_catalogue", ObjectRef("region", offer.region), ask="the platform's administrator")
    region, _ = Region.objects.update_or_create(slug=offer.region, defaults={"label": offer.region_label})
    for accelerator in offer.accelerators:
        AcceleratorType.objects.update_or_create(
            model=accelerator.model, defaults={"vendor": accelerator.vendor, "memory_gib": accelerator.memory_gib}
        )
    for cluster in offer.clusters:
        _publish_cluster(region, cluster)
    types = {row.model: row for row in AcceleratorType.objects.all()}
    for position, shape in enumerate(offer.shapes):
        _publish_shape(region, shape, position, types)
    for image in offer.images:
        _publish_image(image)
    audit.record(
        actor, "catalogue.published", ObjectRef("region", str(region.pk), region.slug), now=now, after=_summary(offer)
    )


@transaction.atomic
def set_out_of_service(*, actor: Actor, cluster_slug: str, amounts: Mapping[str, int], now: datetime) -> Cluster:
    """What of a cluster takes nothing new for now, by resource name. In the platform's scope; what runs goes on.

    A launch that needs more than is left waits and says so. Raises NotFound, Forbidden and Invalid.
    """
    authorize_platform(actor, PlatformPermission.OPERATE_FLEET)
    cluster = Cluster.objects.select_for_update().filter(slug=cluster_slug).first()
    if cluster is None:
        raise NotFound("cluster", cluster_slug)
    whole = flat_capacity(cluster.capacity)
    wrong = [name for name, amount in amounts.items() if not 0 <= amount <= whole.get(name, 0)]
    if wrong:
        message = f"{cluster_slug} has no such amount of {', '.join(sorted(wrong))}."
        raise Invalid([FieldError("amounts", "out_of_range", message)])
    before = dict(cluster.out_of_service)
    cluster.out_of_service = {name: amount for name, amount in amounts.items() if amount}
    cluster.save(update_fields=["out_of_service"])
    ref = ObjectRef("cluster", str(cluster.pk), cluster.slug)
    audit.record(actor, "cluster.out_of_service_set", ref, now=now, before=before, after=dict(amounts))
    return cluster


def _publish_cluster(region: Region, cluster: ClusterOffer) -> None:
    Cluster.objects.update_or_create(
        slug=cluster.slug,
        defaults={
            "label": cluster.label,
            "driver": cluster.driver,
            "region": region,
            "simulated_accelerators": cluster.simulated_accelerators,
            "capacity": {
                "accelerators": dict(cluster.accelerators),
                "vcpus": cluster.vcpus,
                "memory_gib": cluster.memory_gib,
            },
        },
    )


def offer_image(*, actor: Actor, image: ImageOffer, now: datetime) -> Image:
    """Offer an image, or change what is offered under its slug. In the platform's scope.

    Raises NotFound, Forbidden and Invalid. What runs keeps what it was started with until its next start.
    """
    authorize_platform(actor, PlatformPermission.OPERATE_FLEET)
    problems = []
    if not _SLUG.fullmatch(image.slug):
        problems.append(FieldError("slug", "malformed", "A slug has small letters, digits and hyphens, at most 60."))
    if image.oci_reference and not _OCI.fullmatch(image.oci_reference):
        message = "A reference reads registry/name:tag or registry/name@sha256:…, without spaces or https://."
        problems.append(FieldError("oci_reference", "malformed", message))
    if not (image.reference or image.oci_reference):
        problems.append(FieldError("oci_reference", "required", "An image needs a reference to be started by."))
    if problems:
        raise Invalid(problems)
    row = _publish_image(image)
    ref = ObjectRef("image", str(row.pk), row.slug)
    audit.record(actor, "image.offered", ref, now=now, after={"oci_reference": row.oci_reference})
    return row


def _publish_image(image: ImageOffer) -> Image:
    """A reference that is not given stays as it was."""
    given = {"reference": image.reference, "oci_reference": image.oci_reference}
    named = {name: value for name, value in given.items() if value}
    row, _ = Image.objects.update_or_create(
        slug=image.slug, defaults={"label": image.label, "kind": image.kind, "active": True, **named}
    )
    return row


def _publish_shape(region: Region, shape: ShapeOffer, position: int, types: dict[str, AcceleratorType]) -> None:
    Shape.objects.update_or_create(
        slug=shape.slug,
        defaults={
            "label": shape.label,
            "accelerator": types[shape.accelerator] if shape.accelerator else None,
            "accelerator_count": shape.accelerator_count,
            "vcpus": shape.vcpus,
            "memory_gib": shape.memory_gib,
            "sku_code": shape.sku_code,
            "sku_quantity": shape.sku_quantity,
            "capacity_kind": shape.capacity_kind,
            "region": region,
            "position": position,
            "active": True,
        },
    )


def _summary(offer: Offer) -> dict[str, Json]:
    return {
        "clusters": [cluster.slug for cluster in offer.clusters],
        "shapes": [shape.slug for shape in offer.shapes],
        "images": [image.slug for image in offer.images],
    }

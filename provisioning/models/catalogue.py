"""The catalogue: what the platform offers to everybody. Global tables, written by the platform alone."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from core.models import UUIDModel
from provisioning.drivers.places import LOCAL, Topology
from provisioning.enums import CapacityKind, ClusterHealth, ClusterStanding, ImageKind, choices
from provisioning.types import ClusterFacts, ShapeFacts


class Region(UUIDModel):
    slug = models.SlugField(max_length=40, unique=True)
    label = models.CharField(max_length=80)

    def __str__(self) -> str:
        return self.slug


class AcceleratorType(UUIDModel):
    model = models.CharField(max_length=40, unique=True)
    vendor = models.CharField(max_length=40)
    memory_gib = models.PositiveIntegerField()

    def __str__(self) -> str:
        return self.model


def is_capacity(value: object) -> None:
    """Raise ValidationError unless it reads {"accelerators": {model: count}, "vcpus": n, "memory_gib": n}."""
    if not isinstance(value, dict) or set(value) - {"accelerators", "vcpus", "memory_gib"}:
        raise ValidationError("Capacity has the keys accelerators, vcpus and memory_gib.")
    counts = value.get("accelerators", {})
    by_model = list(counts.values()) if isinstance(counts, dict) else [None]
    numbers = [value.get("vcpus"), value.get("memory_gib"), *by_model]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise ValidationError("Capacities are whole numbers.")


class Cluster(UUIDModel):
    """A place that runs workloads. `used` is the sum of its open allocations, kept under the row's lock.

    `out_of_service`: what of the capacity takes nothing new for now (broken, cordoned), by resource name. What runs on
    it goes on. `inventory_at`: when its nodes were last listed; from then on these two columns are what they say.

    `revision` counts what people changed of its label and storage classes; `version` is of Kubernetes.

    `ground`: what the last look at its projects' namespaces found and put right; `ground_at`: when all were seen.

    `health_reason`: code and message of the last look that found something wanting. `offers`: what it has, by kind.
    """

    slug = models.SlugField(max_length=40, unique=True)
    label = models.CharField(max_length=80)
    driver = models.CharField(max_length=20)
    region = models.ForeignKey("provisioning.Region", on_delete=models.PROTECT, related_name="clusters")
    simulated_accelerators = models.BooleanField(default=False)
    capacity = models.JSONField(validators=[is_capacity])
    used = models.JSONField(default=dict)
    out_of_service = models.JSONField(default=dict)
    inventory_at = models.DateTimeField(null=True, blank=True)
    active = models.BooleanField(default=True)
    standing = models.CharField(max_length=12, choices=choices(ClusterStanding), default=ClusterStanding.SERVING)
    standing_since = models.DateTimeField(null=True, blank=True)
    health = models.CharField(max_length=12, choices=choices(ClusterHealth), default=ClusterHealth.UNKNOWN)
    health_reason = models.JSONField(null=True, blank=True)
    version = models.CharField(max_length=40, default="", blank=True)
    offers = models.JSONField(default=dict)
    checked_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)
    ground = models.JSONField(default=dict)
    ground_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.slug

    @property
    def installed(self) -> list[str]:
        """Of what may be installed on it, what was there when it was last looked at."""
        return list(self.offers.get("installed", []))

    @property
    def topology(self) -> Topology | None:
        """How its nodes lie to each other, as Kueue was told."""
        told = self.offers.get("topology")
        return Topology(told["name"], tuple(told["levels"])) if told else None

    @property
    def facts(self) -> ClusterFacts:
        """Needs the region loaded."""
        return ClusterFacts(
            id=self.pk,
            slug=self.slug,
            driver=self.driver,
            region=self.region.slug,
            capacity=flat_capacity(self.capacity),
            used=dict(self.used),
            healthy=self.active and self.standing == ClusterStanding.SERVING,
            standing=self.standing,
            out_of_service=dict(self.out_of_service),
            offers=frozenset(self.offers.get("installed", ())),
        )


class Shape(UUIDModel):
    """A sellable size. One running workload of it is `sku_quantity` units of its SKU."""

    slug = models.SlugField(max_length=60, unique=True)
    label = models.CharField(max_length=120)
    accelerator = models.ForeignKey(
        "provisioning.AcceleratorType", on_delete=models.PROTECT, null=True, blank=True, related_name="shapes"
    )
    accelerator_count = models.PositiveIntegerField(default=0)
    vcpus = models.PositiveIntegerField()
    memory_gib = models.PositiveIntegerField()
    capacity_kind = models.CharField(max_length=12, choices=choices(CapacityKind), default=CapacityKind.ON_DEMAND)
    sku_code = models.CharField(max_length=80)
    sku_quantity = models.PositiveIntegerField(default=1)
    region = models.ForeignKey("provisioning.Region", on_delete=models.PROTECT, related_name="shapes")
    position = models.PositiveIntegerField(default=0)
    active = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="shape_accelerator_counted",
                condition=Q(accelerator__isnull=True, accelerator_count=0)
                | Q(accelerator__isnull=False, accelerator_count__gt=0),
            )
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def facts(self) -> ShapeFacts:
        """Without a price. Needs region and accelerator loaded."""
        return ShapeFacts(
            slug=self.slug,
            label=self.label,
            accelerator=self.accelerator.model if self.accelerator else None,
            accelerator_count=self.accelerator_count,
            vcpus=self.vcpus,
            memory_gib=self.memory_gib,
            region=self.region.slug,
            active=self.active,
            capacity_kind=self.capacity_kind,
        )


class Image(UUIDModel):
    """What is started. `reference`: this machine's word for it; `oci_reference`: its name in a registry, which clusters
    pull, with its digest where one can. Where one is empty, the image does not run there."""

    slug = models.SlugField(max_length=60, unique=True)
    label = models.CharField(max_length=120)
    kind = models.CharField(max_length=20, choices=choices(ImageKind), default=ImageKind.JUPYTERLAB)
    reference = models.CharField(max_length=200, blank=True)
    oci_reference = models.CharField(max_length=300, default="", blank=True)
    active = models.BooleanField(default=True)

    def __str__(self) -> str:
        return self.slug

    def reference_on(self, driver: str) -> str:
        return self.reference if driver == LOCAL.driver else self.oci_reference


def flat_capacity(capacity: Mapping[str, object]) -> dict[str, int]:
    """`{"accelerators": {"H100": 8}, "vcpus": 64}` by resource name: `{"accelerators/H100": 8, "vcpus": 64}`."""
    flat: dict[str, int] = {}
    for name, value in capacity.items():
        if isinstance(value, dict):
            flat.update({f"{name}/{model}": int(count) for model, count in value.items()})
        elif isinstance(value, int):
            flat[name] = value
    return flat

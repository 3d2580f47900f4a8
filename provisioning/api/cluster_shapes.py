"""Clusters in the API: what is given, and what is told to people and to the platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from rest_framework import serializers

from core.api.fields import ReasonOutput
from core.api.inputs import Filters, Input, Text
from core.errors import FieldError
from provisioning.api.describing import RegionOutput, words
from provisioning.api.inputs import Switch
from provisioning.drivers.base import Capabilities
from provisioning.drivers.kubernetes.kubeconfig import MOST_BYTES
from provisioning.enums import ClusterHealth, ClusterStanding, Drifted
from provisioning.models import Cluster
from provisioning.models.catalogue import flat_capacity
from provisioning.selectors.clusters import Access
from provisioning.services.cluster_access import Given
from provisioning.services.cluster_health import Finding
from provisioning.services.clusters import Change

CLUSTER_STANDINGS, CLUSTER_HEALTHS = words(ClusterStanding), words(ClusterHealth)
DRIFTS = words(Drifted)
G_co = TypeVar("G_co", bound=Given, covariant=True)
_PLATFORM = "For the platform's own people alone."
_PEM = 65_536
_AMOUNTS = "By resource name, such as accelerators/H100, vcpus or memory_gib."


class ClusterOffersOutput(serializers.Serializer[object]):
    installed = serializers.ListField(child=serializers.CharField(), help_text="Such as kueue, kuberay, jobset.")
    storage_classes = serializers.ListField(child=serializers.CharField())
    default_storage_class = serializers.CharField(allow_blank=True)
    devices = serializers.ListField(child=serializers.CharField(), help_text="Resource names of device plugins.")
    missing_rights = serializers.ListField(child=serializers.CharField(), help_text='Such as "create pods".')


class DriftOutput(serializers.Serializer[object]):
    project = serializers.UUIDField()
    thing = serializers.CharField(help_text="Kind and name, such as NetworkPolicy default-deny.")
    how = serializers.ChoiceField(DRIFTS)
    by = serializers.CharField(allow_blank=True, help_text="Who wrote to it last beside the platform, if known.")


class MendedOutput(serializers.Serializer[object]):
    at = serializers.DateTimeField()
    things = DriftOutput(many=True)


class GroundOutput(serializers.Serializer[object]):
    """What the last look at its projects' namespaces found. `mended`: what was last put right."""

    namespaces = serializers.IntegerField()
    mended = MendedOutput(allow_null=True)
    foreign = DriftOutput(many=True, help_text="Policies of others in them, which let more through.")


class ClusterOutput(RegionOutput):
    """The first six fields are told to everybody, all of them to the platform's own people."""

    region = serializers.CharField()
    simulated_accelerators = serializers.BooleanField()
    accepts_workloads = serializers.BooleanField()
    driver = serializers.CharField(required=False, help_text=_PLATFORM)
    standing = serializers.ChoiceField(CLUSTER_STANDINGS, required=False, help_text=_PLATFORM)
    health = serializers.ChoiceField(CLUSTER_HEALTHS, required=False, help_text=_PLATFORM)
    health_reason = ReasonOutput(required=False, allow_null=True)
    version = serializers.CharField(required=False, allow_blank=True, help_text="Of Kubernetes.")
    offers = ClusterOffersOutput(required=False, allow_null=True)
    capacity = serializers.DictField(child=serializers.IntegerField(), required=False, help_text=_AMOUNTS)
    used = serializers.DictField(child=serializers.IntegerField(), required=False, help_text=_AMOUNTS)
    out_of_service = serializers.DictField(child=serializers.IntegerField(), required=False, help_text=_AMOUNTS)
    server = serializers.CharField(required=False, allow_null=True, help_text="Its credentials are told to nobody.")
    storage_classes = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="The cluster's own, by our tier of disk."
    )
    checked_at = serializers.DateTimeField(required=False, allow_null=True)
    inventory_at = serializers.DateTimeField(required=False, allow_null=True)
    ground = GroundOutput(required=False, allow_null=True)
    ground_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="When the ground of all its projects was last seen and put right."
    )


class WantingOutput(serializers.Serializer[object]):
    field = serializers.CharField()
    code = serializers.CharField()
    message = serializers.CharField()


class ClusterCheckOutput(serializers.Serializer[object]):
    """What a registration would find. `errors`: in what you said; `reasons`: all that the cluster lacks."""

    health = serializers.ChoiceField(CLUSTER_HEALTHS)
    reasons = ReasonOutput(many=True)
    errors = WantingOutput(many=True)  # type: ignore[assignment]
    version = serializers.CharField(allow_blank=True)
    offers = ClusterOffersOutput(allow_null=True)


@dataclass(frozen=True, slots=True)
class NewCluster(Given):
    slug: str = ""
    region: str = ""
    label: str = ""
    storage_classes: Mapping[str, str] = field(default_factory=dict)


class _GivenInput(Input[G_co]):
    kubeconfig = Text(required=False, max_length=MOST_BYTES, help_text="As YAML, with everything in it.")
    context = Text(  # type: ignore[assignment]
        required=False, max_length=253, help_text="Of the kubeconfig; left out: its current one."
    )
    server = Text(required=False, max_length=300, help_text="https://… of the API server.")
    ca_pem = Text(required=False, max_length=_PEM, help_text="Who signed the server's certificate.")
    server_name = Text(required=False, max_length=253, help_text="The certificate's name, where it is another.")
    token = Text(required=False, max_length=16_384, help_text="Of a service account; else a client certificate.")
    client_certificate_pem = Text(required=False, max_length=_PEM)
    client_key_pem = Text(required=False, max_length=_PEM)


class CredentialsInput(_GivenInput[Given]):
    into = Given
    example = {"token": "eyJhbGciOi"}


class NewClusterInput(_GivenInput[NewCluster]):
    into = NewCluster
    example = {
        "slug": "frankfurt-1",
        "label": "Frankfurt 1",
        "region": "here",
        "server": "https://1.1.1.1:6443",
        "token": "eyJhbGciOi",
    }

    slug = Text(max_length=40)
    region = Text(max_length=40, help_text="Its slug.")
    label = Text(max_length=80, required=False, help_text="Left out: the slug.")  # type: ignore[assignment]
    storage_classes = serializers.DictField(
        child=Text(max_length=253), required=False, help_text='By tier, such as {"standard": "fast-ssd"}.'
    )


class ClusterChangeInput(Input[Change]):
    into = Change
    example = {"label": "Frankfurt, hall 2"}

    label = Text(max_length=80, required=False)  # type: ignore[assignment]
    storage_classes = serializers.DictField(child=Text(max_length=253), required=False)


@dataclass(frozen=True, slots=True)
class TryAsked:
    dry_run: bool = False


class TryFilters(Filters[TryAsked]):
    into = TryAsked

    dry_run = Switch(required=False, help_text="Look at the cluster, say all that is missing, and store nothing.")


@dataclass(frozen=True, slots=True)
class RemovalAsked:
    force: bool = False


class RemovalFilters(Filters[RemovalAsked]):
    into = RemovalAsked

    force = Switch(required=False, help_text="Although something is left there: it is recorded as a leak.")


def short(row: Cluster) -> dict[str, object]:
    """What people are told."""
    return {
        "id": row.pk,
        "slug": row.slug,
        "label": row.label,
        "region": row.region.slug,
        "simulated_accelerators": row.simulated_accelerators,
        "accepts_workloads": row.facts.healthy,
    }


def full(row: Cluster, access: Access | None) -> dict[str, object]:
    """What the platform's own people are told."""
    return short(row) | {
        "driver": row.driver,
        "standing": row.standing,
        "health": row.health,
        "health_reason": row.health_reason,
        "version": row.version,
        "offers": row.offers or None,
        "capacity": flat_capacity(row.capacity),
        "used": row.used,
        "out_of_service": row.out_of_service,
        "server": access.server if access else None,
        "storage_classes": dict(access.storage_classes) if access else {},
        "checked_at": row.checked_at,
        "inventory_at": row.inventory_at,
        "ground": row.ground or None,
        "ground_at": row.ground_at,
    }


def found(finding: Finding, problems: list[FieldError]) -> dict[str, object]:
    return {
        "health": finding.health,
        "reasons": [reason.as_json() for reason in finding.reasons],
        "errors": [{"field": each.field, "code": each.code, "message": each.message} for each in problems],
        "version": finding.seen.version if finding.seen else "",
        "offers": _offers(finding.seen) if finding.seen else None,
    }


def _offers(seen: Capabilities) -> dict[str, object]:
    return {
        "installed": seen.offers,
        "storage_classes": seen.storage_classes,
        "default_storage_class": seen.default_storage_class,
        "devices": seen.devices,
        "missing_rights": seen.missing_rights,
    }

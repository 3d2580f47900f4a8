"""The shapes of provisioning in the API: what the schema says of them."""

from __future__ import annotations

from enum import StrEnum

from rest_framework import serializers

from core.api.fields import MoneyOutput, ReasonOutput, ReferenceOutput
from provisioning.api.jobs import JobOutput
from provisioning.enums import (
    CapacityKind,
    ConditionStatus,
    ConditionType,
    DesiredState,
    ImageKind,
    Kind,
    Rule,
    Source,
    Starts,
    State,
    VolumeState,
)


def words(enum: type[StrEnum]) -> list[str]:
    """The words of an enum, as the schema lists them."""
    return [word.value for word in enum]


STATES, KINDS = words(State), words(Kind)
VOLUME_STATES = [VolumeState.PRESENT.value, VolumeState.KEPT.value]
Field = serializers.Field[object, object, object, object]


class SluggedOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    slug = serializers.CharField()


class RegionOutput(SluggedOutput):
    label = serializers.CharField()  # type: ignore[assignment]


class AcceleratorOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    model = serializers.CharField()
    vendor = serializers.CharField()
    memory_gib = serializers.IntegerField()


class ImageOutput(RegionOutput):
    kind = serializers.ChoiceField(words(ImageKind))


class ShapeOutput(RegionOutput):
    region = serializers.CharField()
    accelerator = serializers.CharField(allow_null=True)
    accelerator_count = serializers.IntegerField()
    vcpus = serializers.IntegerField()
    memory_gib = serializers.IntegerField()
    price_per_hour = MoneyOutput(allow_null=True, help_text="While it runs, the disk apart. Null: not sold to you.")
    capacity_kind = serializers.ChoiceField(words(CapacityKind))
    free_now = serializers.IntegerField(help_text="How many would start at once.")
    simulated = serializers.BooleanField(help_text="Its accelerators are simulated.")


class WorkloadRowOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(KINDS)
    project = ReferenceOutput()
    owner = ReferenceOutput()
    shape = serializers.CharField()
    image = serializers.CharField()
    state = serializers.ChoiceField(STATES)
    state_since = serializers.DateTimeField()
    desired_state = serializers.ChoiceField(words(DesiredState))
    reason = ReasonOutput(allow_null=True)
    created_at = serializers.DateTimeField()


class ConditionOutput(serializers.Serializer[object]):
    type = serializers.ChoiceField(words(ConditionType))
    status = serializers.ChoiceField(words(ConditionStatus))
    code = serializers.CharField(allow_blank=True)
    message = serializers.CharField(allow_blank=True)
    since = serializers.DateTimeField()


class StopOutput(serializers.Serializer[object]):
    rule = serializers.ChoiceField(words(Rule), allow_null=True)
    last_signal_at = serializers.DateTimeField()
    last_signal = serializers.ChoiceField(words(Source), help_text="What worked last.")
    policy = serializers.CharField(allow_blank=True, help_text="Which policy set the rule; empty: the installation.")


class WorkloadCostOutput(serializers.Serializer[object]):
    so_far = MoneyOutput()
    per_hour = MoneyOutput(help_text="At this moment: a stopped workload pays for its disk alone.")
    as_of = serializers.DateTimeField()


class WorkloadOutput(WorkloadRowOutput):
    disk_gib = serializers.IntegerField()
    volume = serializers.UUIDField()
    env = serializers.DictField(
        child=serializers.CharField(allow_blank=True), allow_null=True, help_text="For its owner alone, else null."
    )
    labels = serializers.DictField(child=serializers.CharField())
    preemptible = serializers.BooleanField(help_text="It may end where its lender wants borrowed quota back.")
    nodes = serializers.IntegerField(allow_null=True, help_text="Of a cluster; null for all else.")
    job = JobOutput(allow_null=True, help_text="What a job runs; null for all else.")
    cluster = serializers.CharField()
    simulated = serializers.BooleanField()
    conditions = ConditionOutput(many=True)
    will_stop_at = serializers.DateTimeField(allow_null=True, help_text="By a rule, if nothing happens until then.")
    stop = StopOutput(allow_null=True, help_text="Why it would stop then; null while it does not run.")
    kept_until = serializers.DateTimeField(allow_null=True, help_text="No rule stops it before.")
    cost = WorkloadCostOutput()


class PricesOutput(serializers.Serializer[object]):
    per_hour = MoneyOutput()
    per_month = MoneyOutput(help_text="730 hours.")


class AlternativeOutput(serializers.Serializer[object]):
    shape = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    accelerator = serializers.CharField(allow_null=True)
    accelerator_count = serializers.IntegerField()
    vcpus = serializers.IntegerField()
    memory_gib = serializers.IntegerField()
    price = PricesOutput(allow_null=True)
    difference_per_hour = MoneyOutput(allow_null=True, help_text="What it costs more, or (negative) less.")


class QuotaShownOutput(serializers.Serializer[object]):
    resource = serializers.CharField()
    limit = serializers.IntegerField()
    used = serializers.IntegerField()
    asked = serializers.IntegerField()
    left = serializers.IntegerField(help_text="Before this launch.")
    level = serializers.CharField(help_text="What it stands on: organization, team, project or user.")
    place = serializers.CharField(help_text="The slug of that, or the person's address.")


class VerdictOutput(serializers.Serializer[object]):
    admitted = serializers.BooleanField()
    needs_approval = serializers.BooleanField(help_text="Approval is all that is missing: a launch would wait for it.")
    deciders = serializers.IntegerField(help_text="How many people would have to agree.")
    warnings = ReasonOutput(many=True, help_text="What rules in observation would have said.")
    reasons = ReasonOutput(many=True, help_text="Why not: everything that fails.")
    starts = serializers.ChoiceField(words(Starts))
    waits = ReasonOutput(allow_null=True, help_text="Why it would not start at once although it is taken.")
    name = serializers.CharField()
    running = PricesOutput(allow_null=True)
    stopped = PricesOutput(allow_null=True, help_text="What the disk costs while nothing runs.")
    alternatives = AlternativeOutput(many=True, help_text="Shapes that would start now.")
    quotas = QuotaShownOutput(many=True)
    simulated = serializers.BooleanField()


class EventOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    code = serializers.CharField()
    message = serializers.CharField()
    actor = ReferenceOutput(allow_null=True, help_text="Null: the platform.")
    details = serializers.DictField()


class LogOutput(serializers.Serializer[object]):
    lines = serializers.ListField(child=serializers.CharField(allow_blank=True))
    as_of = serializers.DateTimeField()


class ManifestsOutput(serializers.Serializer[object]):
    """A `List` of Kubernetes."""

    apiVersion = serializers.ChoiceField(["v1"])  # noqa: N815 (Kubernetes' own word)
    kind = serializers.ChoiceField(["List"])
    items = serializers.ListField(child=serializers.DictField())


class StreamOutput(serializers.Serializer[object]):
    """The address itself stands in `Location` alone."""

    expires_at = serializers.DateTimeField()


class WorkloadUsageOutput(serializers.Serializer[object]):
    """Half-open: from ≤ instant < to."""

    id = serializers.UUIDField()
    sku = serializers.CharField()
    component = serializers.CharField()
    quantity = serializers.CharField(help_text="Devices or GiB, a decimal number as text.")
    duration_seconds = serializers.CharField(help_text="To the microsecond, a decimal number as text.")
    cost = MoneyOutput()
    as_of = serializers.DateTimeField(help_text="Until when an open session is counted.")

    def get_fields(self) -> dict[str, Field]:
        """`from` cannot be written as an attribute."""
        ends = serializers.DateTimeField(allow_null=True, help_text="Null while it is held.")
        return {**super().get_fields(), "from": serializers.DateTimeField(), "to": ends}


class VolumeOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    project = ReferenceOutput()
    owner = ReferenceOutput()
    size_gib = serializers.IntegerField()
    state = serializers.ChoiceField(VOLUME_STATES)
    cluster = serializers.CharField()
    created_at = serializers.DateTimeField()
    deleted_at = serializers.DateTimeField(allow_null=True)
    purge_after = serializers.DateTimeField(allow_null=True, help_text="Until then it can be brought back.")

"""The shapes of quotas in the API, and the plain dicts that fill them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rest_framework import serializers

from core.api.inputs import Filters, Input, Text, Whole
from tenants.enums import QuotaLevel, Resource
from tenants.models import Quota
from tenants.quota_rules import limit_at
from tenants.selectors.quotas import Held, HoldShown
from tenants.services.quotas import KEEP

MOST = 10**12
_RESOURCES = f"{', '.join(Resource.values)} or accelerators/<model>."


class HolderOutput(serializers.Serializer[object]):
    kind = serializers.CharField(help_text="workload or volume; project, in a quota of the team or organisation.")
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]
    owner = serializers.UUIDField(allow_null=True)


class HoldOutput(serializers.Serializer[object]):
    holder = HolderOutput()
    amount = serializers.IntegerField()
    since = serializers.DateTimeField()


class QuotaScopeOutput(serializers.Serializer[object]):
    kind = serializers.ChoiceField(QuotaLevel.choices)
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]


class QuotaOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    scope = QuotaScopeOutput(help_text="What it stands on.")
    resource = serializers.CharField(help_text=_RESOURCES)
    limit = serializers.IntegerField(help_text="The share of its own.")
    used = serializers.IntegerField(help_text="All that is held, also by what does not run yet.")
    left = serializers.IntegerField(help_text="Of its own share.")
    reserved = serializers.IntegerField(help_text="What of `used` is held by what does not run yet.")
    borrowed = serializers.IntegerField(help_text="What of `used` is above its own share.")
    borrow_limit = serializers.IntegerField(help_text="How much above its share it may use of what siblings lend.")
    lend_limit = serializers.IntegerField(
        allow_null=True, help_text="How much of its unused share siblings may use. Null: all of it."
    )
    raised_until = serializers.DateTimeField(allow_null=True, help_text="When a temporary raise ends.")
    falls_to = serializers.IntegerField(allow_null=True, help_text="The limit from then on.")
    holds = HoldOutput(many=True)


@dataclass(frozen=True, slots=True)
class LimitAsked:
    limit: int
    borrow_limit: int = KEEP
    lend_limit: int | None = KEEP


class LimitInput(Input[LimitAsked]):
    into = LimitAsked
    example = {"limit": 16, "borrow_limit": 4, "lend_limit": None}

    limit = Whole(min_value=0, max_value=MOST)
    borrow_limit = Whole(min_value=0, max_value=MOST, required=False, help_text="Left out: as it is.")
    lend_limit = Whole(
        min_value=0, max_value=MOST, required=False, allow_null=True, help_text="Left out: as it is. Null: all."
    )


class QuotaScopeInput(serializers.Serializer[object]):
    kind = serializers.ChoiceField(QuotaLevel.choices)
    id = serializers.UUIDField()


@dataclass(frozen=True, slots=True)
class QuotaAsked:
    scope: Mapping[str, object]
    resource: str
    limit: int
    borrow_limit: int = 0
    lend_limit: int | None = None


class QuotaInput(Input[QuotaAsked]):
    into = QuotaAsked
    example = {
        "scope": {"kind": "project", "id": "0199aa00-0000-7000-8000-000000000003"},
        "resource": "accelerators/H100",
        "limit": 16,
    }

    scope = QuotaScopeInput()
    resource = Text(max_length=60, help_text=_RESOURCES)
    limit = Whole(min_value=0, max_value=MOST)
    borrow_limit = Whole(min_value=0, max_value=MOST, required=False)
    lend_limit = Whole(min_value=0, max_value=MOST, required=False, allow_null=True)


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    project: str = ""
    resource: str = ""
    kind: str = ""


class QuotaFilters(Filters[QuotaFilter]):
    into = QuotaFilter

    project = serializers.CharField(required=False, max_length=90, help_text="Id or organization/project.")
    resource = serializers.CharField(required=False, max_length=60)
    kind = serializers.ChoiceField(QuotaLevel.choices, required=False, help_text="What it stands on.")


EXAMPLE: dict[str, object] = {
    "id": "0199aa00-0000-7000-8000-000000000002",
    "scope": {"kind": "project", "id": "0199aa00-0000-7000-8000-000000000003", "label": "vision"},
    "resource": "accelerators/H100",
    "limit": 10,
    "used": 2,
    "left": 8,
    "reserved": 0,
    "borrowed": 0,
    "borrow_limit": 4,
    "lend_limit": None,
    "raised_until": None,
    "falls_to": None,
    "holds": [
        {
            "holder": {
                "kind": "workload",
                "id": "0199aa00-0000-7000-8000-000000000004",
                "label": "notebook",
                "owner": "0199aa00-0000-7000-8000-000000000005",
            },
            "amount": 2,
            "since": "2026-11-30T18:00:00Z",
        }
    ],
}


def quota(row: Quota, held: Held, now: datetime) -> dict[str, object]:
    limit = limit_at(row.limit, row.raised_until, row.falls_to, now)
    return {
        "id": row.pk,
        "scope": scope(row),
        "resource": row.resource,
        "limit": limit,
        "used": row.used,
        "left": max(limit - row.used, 0),
        "reserved": held.reserved,
        "borrowed": max(row.used - limit, 0),
        "borrow_limit": row.borrow_limit,
        "lend_limit": row.lend_limit,
        "raised_until": row.raised_until,
        "falls_to": row.falls_to,
        "holds": [_hold(each) for each in held.holds],
    }


def scope(row: Quota) -> dict[str, object]:
    if row.user is not None:
        return {"kind": "user", "id": row.user.pk, "label": row.user.email}
    place = row.project or row.team or row.organization
    return {"kind": str(row.level), "id": place.pk, "label": place.slug}


def _hold(each: HoldShown) -> dict[str, object]:
    holder = {"kind": each.kind, "id": each.id, "label": each.label, "owner": each.owner_id}
    return {"holder": holder, "amount": each.amount, "since": each.since}

"""What the API of billing takes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from rest_framework import serializers

from billing.enums import CostGroup, SkuKind
from core.api.inputs import Filters, Moment

T = TypeVar("T")
Field = serializers.Field[object, object, object, object]


class SpanFilters(Filters[T], Generic[T]):
    """Half-open: from ≤ instant < to."""

    def get_fields(self) -> dict[str, Field]:
        """`from` cannot be written as an attribute."""
        return {
            **super().get_fields(),
            "from": Moment(source="start", required=False),
            "to": Moment(source="end", required=False),
        }


@dataclass(frozen=True, slots=True)
class SessionFilter:
    project: str = ""
    workload: UUID | None = None
    start: datetime | None = None
    end: datetime | None = None


class SessionFilters(SpanFilters[SessionFilter]):
    into = SessionFilter

    project = serializers.CharField(required=False, max_length=90, help_text="Id or organization/project.")
    workload = serializers.UUIDField(required=False)


@dataclass(frozen=True, slots=True)
class CostFilter:
    group_by: str = CostGroup.PROJECT
    start: datetime | None = None
    end: datetime | None = None


class CostFilters(SpanFilters[CostFilter]):
    into = CostFilter

    group_by = serializers.ChoiceField(CostGroup.choices, required=False, help_text="By project where left out.")


@dataclass(frozen=True, slots=True)
class SkuFilter:
    kind: str = ""


class SkuFilters(Filters[SkuFilter]):
    into = SkuFilter

    kind = serializers.ChoiceField(SkuKind.choices, required=False)


@dataclass(frozen=True, slots=True)
class BookFilter:
    currency: str = ""


class BookFilters(Filters[BookFilter]):
    into = BookFilter

    currency = serializers.CharField(required=False, min_length=3, max_length=3, help_text="ISO 4217.")

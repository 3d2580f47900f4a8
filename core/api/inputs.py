"""What comes in: bodies and query fields, checked strictly and handed on as frozen dataclasses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import ClassVar, Generic, Self, TypeVar, cast

from django.http import QueryDict
from rest_framework import serializers

from core.errors import FieldError, Invalid
from core.timezones import NOT_AN_INSTANT, is_in_reach

T_co = TypeVar("T_co", covariant=True)
_WIDEST = 2**63


class Text(serializers.CharField):
    """JSON text. Numbers and booleans are not text."""

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class Whole(serializers.IntegerField):
    """A JSON number without a fraction or an exponent, of at most 63 bits. Text is not a number."""

    def to_internal_value(self, data: object) -> int:
        if isinstance(data, bool) or not isinstance(data, int) or not -_WIDEST < data < _WIDEST:
            self.fail("invalid")
        return int(super().to_internal_value(data))


class Flag(serializers.BooleanField):
    """JSON true or false, nothing that merely looks like it."""

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Moment(serializers.DateTimeField):
    """RFC 3339 with a zone. A time without one could mean any of 24 hours."""

    default_error_messages = {
        "no_zone": "Give the time with its zone, such as 2026-11-30T18:00:00Z.",
        "out_of_reach": NOT_AN_INSTANT,
    }

    def enforce_timezone(self, value: datetime) -> datetime:
        if value.tzinfo is None:
            self.fail("no_zone")
        return super().enforce_timezone(value)

    def to_internal_value(self, value: object) -> datetime:
        if not isinstance(value, str):
            self.fail("invalid", format="2026-11-30T18:00:00Z")
        try:
            found = super().to_internal_value(value)
        except OverflowError:
            self.fail("overflow")
        if not is_in_reach(found):
            self.fail("out_of_reach")
        return found


class Shape(serializers.Serializer[object], Generic[T_co]):
    """Fields that become `into(**fields)`: a frozen dataclass whose attributes bear the fields' names."""

    into: ClassVar[type]
    example: ClassVar[Mapping[str, object] | None] = None

    def to_internal_value(self, data: object) -> object:
        if isinstance(data, Mapping):
            unknown = sorted(str(name) for name in data if name not in self.fields)
            if unknown:
                raise serializers.ValidationError(
                    {
                        name: [serializers.ErrorDetail("There is no such field.", code="unknown_field")]
                        for name in unknown
                    }
                )
        return super().to_internal_value(data)

    @classmethod
    def value_of(cls, data: object) -> T_co:
        """The dataclass that the data means. Raises Invalid with an entry per field."""
        shape: Self = cls(data=data)  # type: ignore[assignment]
        if not shape.is_valid():
            raise Invalid(field_errors(shape.errors))
        return cast(T_co, cls.into(**cast(Mapping[str, object], shape.validated_data)))


class Input(Shape[T_co]):
    """A JSON body. Unknown fields are an error."""


class Filters(Shape[T_co]):
    """The query fields of a list or an act. Every one has a default in the dataclass."""

    @classmethod
    def of_query(cls, query: QueryDict, *, besides: Iterable[str]) -> T_co:
        given = {name: query[name] for name in query if name not in besides}
        if not given:
            return cast(T_co, cls.into())
        return cls.value_of(given)


def field_errors(errors: object, *, at: str = "") -> list[FieldError]:
    """A serializer's nested errors as a flat list; nested names are joined by points."""
    if isinstance(errors, Mapping):
        return [
            found
            for name, value in errors.items()
            for found in field_errors(value, at=_joined(at, "" if name == "non_field_errors" else str(name)))
        ]
    if isinstance(errors, list | tuple):
        if any(isinstance(value, Mapping | list) for value in errors):
            return [
                found for index, value in enumerate(errors) for found in field_errors(value, at=_joined(at, str(index)))
            ]
        return [found for value in errors for found in field_errors(value, at=at)]
    return [FieldError(at, str(getattr(errors, "code", "invalid")), str(errors))]


def _joined(outer: str, inner: str) -> str:
    return f"{outer}.{inner}" if outer and inner else outer or inner

"""What a method of an endpoint takes and gives: read by the schema and by the checks before the method runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from rest_framework.serializers import BaseSerializer

from core.api.inputs import Shape

V = TypeVar("V", bound=Callable[..., object])
PAGING = frozenset({"limit", "cursor"})


@dataclass(frozen=True, slots=True)
class Contract:
    """`output`: the serializer that describes the answer (None: no body). `listed`: the answer is a list envelope.
    `versioned`: the object carries an ETag, and writes accept If-Match. `refuses`: the act can be refused by a rule
    or a state (409). `answers`: further answers, status → what it means; `other_outputs`: those that look different.
    `other_media`: media types that the answer has where the caller asks for them."""

    output: type[BaseSerializer[object]] | None
    status: int = 200
    input: type[Shape[object]] | None = None
    filters: type[Shape[object]] | None = None
    listed: bool = False
    versioned: bool = False
    refuses: bool = False
    summary: str = ""
    example: Mapping[str, object] | None = None
    answers: Mapping[int, str] = field(default_factory=dict)
    other_outputs: Mapping[int, type[BaseSerializer[object]]] = field(default_factory=dict)
    media_type: str = "application/json"
    other_media: Sequence[str] = ()

    @property
    def query_names(self) -> frozenset[str]:
        names = frozenset(self.filters().fields) if self.filters else frozenset[str]()
        return names | PAGING if self.listed else names


def shape(
    *,
    summary: str,
    output: type[BaseSerializer[object]] | None,
    status: int = 200,
    input: type[Shape[object]] | None = None,
    filters: type[Shape[object]] | None = None,
    listed: bool = False,
    versioned: bool = False,
    refuses: bool = False,
    example: Mapping[str, object] | None = None,
    answers: Mapping[int, str] | None = None,
    other_outputs: Mapping[int, type[BaseSerializer[object]]] | None = None,
    media_type: str = "application/json",
    other_media: Sequence[str] = (),
) -> Callable[[V], V]:
    """Declare a method of an Endpoint. Fields of Contract."""
    contract = Contract(
        output=output,
        status=status,
        input=input,
        filters=filters,
        listed=listed,
        versioned=versioned,
        refuses=refuses,
        summary=summary,
        example=example,
        answers=answers or {},
        other_outputs=other_outputs or {},
        media_type=media_type,
        other_media=other_media,
    )

    def declare(method: V) -> V:
        method.contract = contract  # type: ignore[attr-defined]
        method.query_names = contract.query_names  # type: ignore[attr-defined]
        return method

    return declare


def contract_of(method: Callable[..., object] | None) -> Contract | None:
    return getattr(method, "contract", None)

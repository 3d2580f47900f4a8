"""JSON out and in: fast and exact outwards, strict inwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, NoReturn

import orjson
from django.conf import settings
from django.utils.functional import Promise
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from core.money import Money

JSON = "application/json"
_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_PASSTHROUGH_DATACLASS


def dumps(data: object) -> bytes:
    """JSON of an answer. Money is written as amount (text) and currency; a float anywhere is a mistake in the code,
    which every test and check would meet."""
    if settings.API_REFUSES_FLOATS:
        _refuse_floats(data)
    return orjson.dumps(data, default=_plain, option=_OPTIONS)


class JsonRenderer(BaseRenderer):
    media_type = JSON
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self,
        data: object,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, object] | None = None,
    ) -> bytes:
        return dumps(data)


class JsonParser(BaseParser):
    """Refuses what JSON readers disagree about: repeated names, NaN, NUL, lone surrogates, other encodings."""

    media_type = JSON

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
    ) -> Mapping[str, object]:
        data = loads(stream.read())
        if not isinstance(data, dict):
            raise ParseError("Send a JSON object.")
        return data


def loads(raw: bytes) -> object:
    """What a body says. Numbers with a point or an exponent are Decimal. Raises ParseError."""
    try:
        text = raw.decode("utf-8")
        data: object = json.loads(
            text, object_pairs_hook=_without_repeats, parse_constant=_no_constant, parse_float=Decimal
        )
    except (ValueError, ArithmeticError) as error:
        raise ParseError(f"The body is not JSON in UTF-8: {error}") from None
    except RecursionError:
        raise ParseError("The body is nested too deeply.") from None
    if "\\u" in text or "\0" in text:
        _refuse_broken_text(data)
    return data


def _plain(value: object) -> object:
    if isinstance(value, Money):
        return {"amount": format(value.amount, "f"), "currency": value.currency}
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Promise):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no shape in the API.")


def _refuse_floats(data: object) -> None:
    if isinstance(data, float):
        raise TypeError("A float was about to leave through the API. Use an integer, a Decimal or Money.")
    if isinstance(data, Mapping):
        for value in data.values():
            _refuse_floats(value)
    elif isinstance(data, list | tuple):
        for value in data:
            _refuse_floats(value)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice in one object.")
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number.")


def _refuse_broken_text(data: object) -> None:
    if isinstance(data, str):
        if "\0" in data:
            raise ParseError("Text must not contain the character NUL.")
        try:
            data.encode()
        except UnicodeEncodeError:
            raise ParseError("Text must not contain half a surrogate pair.") from None
    elif isinstance(data, dict):
        for name, value in data.items():
            _refuse_broken_text(name)
            _refuse_broken_text(value)
    elif isinstance(data, list):
        for value in data:
            _refuse_broken_text(value)

"""Reading a rule's terms: JSON in, typed values out, and every field that cannot be meant named at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from core.errors import FieldError, Invalid
from core.types import Json

_WORD = re.compile(r"^[A-Za-z0-9*?._:/@-]{1,200}$")
_LABEL = re.compile(r"^[a-z][a-z0-9_.-]{0,38}$")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,6})?")
_MOST = 100


@dataclass(slots=True)
class Reader:
    """Takes fields out of a JSON object and remembers what was wrong with them."""

    data: Mapping[str, Json]
    errors: list[FieldError] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    def done(self) -> None:
        """Raise Invalid for all that was wrong, unknown fields included."""
        for name in sorted(set(self.data) - self.known):
            self.wrong(name, "unknown_field", "There is no such field in this kind of rule.")
        if self.errors:
            raise Invalid(self.errors)

    def wrong(self, name: str, code: str, message: str) -> None:
        self.errors.append(FieldError(f"terms.{name}", code, message))

    def words(self, name: str, *, among: frozenset[str] | None = None) -> tuple[str, ...]:
        """A list of words; `among` says which there are."""
        value = self._take(name)
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > _MOST or not all(isinstance(each, str) for each in value):
            self.wrong(name, "malformed", f"Give a list of at most {_MOST} words.")
            return ()
        found = tuple(dict.fromkeys(str(each).strip() for each in value))
        for each in found:
            if not _WORD.match(each) or (among is not None and each not in among):
                self.wrong(name, "unknown", f"{each[:60]!r} cannot be meant here.")
        return found

    def words_by(self, name: str, *, keys: frozenset[str] | None = None) -> dict[str, tuple[str, ...]]:
        """An object of lists of words. `keys` None: the keys are labels' names."""
        value = self._take(name)
        if not isinstance(value, dict) or not value or len(value) > _MOST:
            self.wrong(name, "malformed", "Give an object of lists of words.")
            return {}
        found = {}
        for key, words in value.items():
            if (keys is not None and key not in keys) or (keys is None and not _LABEL.match(key)):
                self.wrong(name, "unknown", f"{key[:60]!r} cannot be meant here.")
            inner = Reader({"words": words})
            found[key] = inner.words("words")
            self.errors += [FieldError(f"terms.{name}.{key}", each.code, each.message) for each in inner.errors]
        return found

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._take(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.wrong(name, "malformed", "Say true or false.")
            return default
        return value

    def whole(self, name: str, *, least: int, most: int) -> int | None:
        value = self._take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.wrong(name, "out_of_range", f"Give a whole number from {least:,} to {most:,}.")
            return None
        return value

    def word(self, name: str, *, among: frozenset[str] | None = None) -> str | None:
        value = self._take(name)
        if value is None:
            return None
        if not isinstance(value, str) or not _WORD.match(value) or (among is not None and value not in among):
            self.wrong(name, "unknown", f"One of {', '.join(sorted(among))}." if among else "This cannot be meant.")
            return None
        return value

    def number(self, name: str) -> Decimal | None:
        """A decimal number as text, not negative."""
        value = self._take(name)
        if value is None:
            return None
        found = _decimal(value)
        if found is None:
            self.wrong(name, "malformed", "Give a number as text, such as “12.50”.")
        return found

    def money(self, name: str) -> tuple[Decimal, str] | None:
        value = self._take(name)
        if value is None:
            return None
        amount = _decimal(value.get("amount")) if isinstance(value, dict) else None
        currency = value.get("currency") if isinstance(value, dict) else None
        if amount is None or not isinstance(currency, str) or not re.fullmatch(r"[A-Z]{3}", currency):
            self.wrong(name, "malformed", "Give an amount as text and a currency, such as 12.50 and EUR.")
            return None
        return amount, currency

    def _take(self, name: str) -> Json:
        self.known.add(name)
        return self.data.get(name)


def _decimal(value: Json) -> Decimal | None:
    """Plain digits: of a number with an exponent nobody sees how large it is."""
    return Decimal(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else None

"""Kubernetes quantities, exactly.

The grammar is that of the Kubernetes API (k8s.io/apimachinery, api/resource/quantity.go): a decimal number with a
binary suffix (Ki … Ei), a decimal one (n, u, m, k, M … E) or an exponent (e3, E-2). "E" alone is exa, before digits it
is an exponent.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_FORM: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d{1,2})?", re.ASCII)
_FACTORS: Final = (
    {"": Fraction(1)}
    | {f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)}
    | {letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", 1)}
    | {letter: Fraction(1, 1000**power) for power, letter in enumerate("mun", 1)}
)


def quantity(written: object) -> Fraction:
    """The exact value; plain JSON numbers are whole. Raises ValueError for anything else than a quantity."""
    if isinstance(written, int) and not isinstance(written, bool):
        return Fraction(written)
    found = _FORM.fullmatch(written) if isinstance(written, str) and len(written) <= 64 else None
    if found is None:
        raise ValueError(f"{written!r} is not a quantity.")
    number, suffix = Fraction(found[1]), found[2] or ""
    if suffix in _FACTORS:
        return number * _FACTORS[suffix]
    return number * Fraction(10) ** int(suffix[1:])


def whole(written: object) -> int:
    """What is whole of it, never more than there is: capacity is not rounded up."""
    value = quantity(written)
    return value.numerator // value.denominator


def thousandths(written: object) -> int:
    value = quantity(written) * 1000
    return value.numerator // value.denominator

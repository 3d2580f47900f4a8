"""What people may call things: one line of visible text.

A name travels far: into the subject of a letter, a line of a log, a sentence that somebody acts on. Line ends, control
characters and characters that are not seen but turn or hide others could make each of these say something else.
"""

from __future__ import annotations

import unicodedata

from core.errors import FieldError, Invalid

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_LOOKS_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def is_one_line(text: str) -> bool:
    """Whether nothing in it ends a line, steers a terminal, or is there without being seen."""
    return not any(unicodedata.category(letter) in _UNSEEN for letter in text)


def fault_in_name(field: str, name: str, *, most: int, blank: bool = False) -> FieldError | None:
    """What is wrong with a name, if anything. `blank`: it may also be left empty."""
    words = name.strip()
    if not words and blank:
        return None
    if all(letter.isspace() or letter in _LOOKS_BLANK for letter in words) or len(words) > most:
        return FieldError(field, "missing" if len(words) <= most else "too_long", f"Give it 1 to {most} letters.")
    if not is_one_line(words):
        message = "Give it one line of visible letters, without control or invisible characters."
        return FieldError(field, "malformed", message)
    return None


def checked_name(field: str, name: str, *, most: int, blank: bool = False) -> str:
    """The name without the spaces around it. Raises Invalid."""
    fault = fault_in_name(field, name, most=most, blank=blank)
    if fault is not None:
        raise Invalid([fault])
    return name.strip()


def one_line(text: str) -> str:
    """Text that somebody else sent, as one line: what is not seen is left out, every gap is one space."""
    seen = (" " if letter.isspace() else letter for letter in text)
    return " ".join("".join(letter for letter in seen if is_one_line(letter)).split())

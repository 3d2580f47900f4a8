"""Commands as people type them, and as they are shown. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_MOST_SHOWN, _LONGEST_SHOWN = 40, 120
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh"})
_OPERATORS = re.compile(r"(\|\|?|&&?|;|[0-9]?>{1,2}(&[0-9])?|<)|\S*;")
_VARIABLE = re.compile(r".*\$[A-Za-z_{(]", re.DOTALL)


class Unreadable(ValueError):
    """A line that is no command; its words say why."""


def words_of(text: str) -> tuple[str, ...]:
    """The words of one command: quotes as in a shell, a backslash at a line's end goes on. Raises Unreadable."""
    found: list[list[str]] = []
    pending = ""
    for line in re.split(r"\r\n|\r|\n", text):
        pending += line
        try:
            words = shlex.split(pending)
        except ValueError as error:
            pending = _goes_on(pending, error)
            continue
        pending = ""
        if words:
            found.append(words)
    if pending:
        found.append(_last(pending))
    if len(found) > 1:
        raise Unreadable(f"These are {len(found)} commands. A job runs one: put them in a script, or in sh -c '…'.")
    return tuple(found[0]) if found else ()


def typed(words: Sequence[str]) -> str:
    """A line that `words_of` reads back as these words."""
    return shlex.join(words)


def shown(words: Sequence[str]) -> tuple[list[str], int]:
    """The words for the eye, long ones cut, and how many are left out."""
    cut = [word if len(word) <= _LONGEST_SHOWN else f"{word[: _LONGEST_SHOWN - 1]}…" for word in words[:_MOST_SHOWN]]
    return cut, max(len(words) - _MOST_SHOWN, 0)


def surprise(words: Sequence[str]) -> str:
    """What a shell would have done and nobody does here; empty where there is no such word."""
    if not words or words[0].rpartition("/")[2] in _SHELLS:
        return ""
    for word in words:
        if _OPERATORS.fullmatch(word) or _VARIABLE.match(word) or (word == "*" or word.startswith(("*.", "~/"))):
            mark = word if len(word) <= _LONGEST_SHOWN // 4 else f"{word[: _LONGEST_SHOWN // 4]}…"
            return f"No shell reads this: “{mark}” is handed over as it stands. Begin with sh -c '…' where one should."
    return ""


def _goes_on(pending: str, error: ValueError) -> str:
    """What the next line goes on with: an open quote keeps the line's end, a last backslash drops it."""
    return f"{pending}\n" if "quotation" in str(error) else pending[:-1]


def _last(pending: str) -> list[str]:
    """The words of a line after which nothing comes."""
    try:
        return shlex.split(pending)
    except ValueError:
        raise Unreadable("A quote is opened and not closed.") from None

"""Names of workloads: what is legal, which one is free, and the random label of a workspace's origin."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection

NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,46}[a-z0-9])?")
NAME_CONSTRAINT = "workload_name_once_among_the_living"
NAME_RULE = "Use 1 to 48 lower-case letters, digits and hyphens; begin with a letter, do not end with a hyphen."
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
LABEL = re.compile(r"[a-z][a-z0-9_.-]{0,38}")
_LABEL_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


def is_name(text: str) -> bool:
    return NAME.fullmatch(text) is not None


def is_variable(text: str) -> bool:
    """Whether an environment variable may be called so."""
    return VARIABLE.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Whether a label of a workload may be called so."""
    return LABEL.fullmatch(text) is not None


def free_name(base: str, taken: Collection[str]) -> str:
    """The first of `base`, `base-2`, `base-3`, … that is free: the same for all who ask at one time."""
    if base not in taken:
        return base
    number = 2
    while f"{base}-{number}" in taken:
        number += 1
    return f"{base}-{number}"


def new_label() -> str:
    """Twenty random letters: the first part of a workspace's own host name."""
    return "w" + "".join(secrets.choice(_LABEL_LETTERS) for _ in range(19))

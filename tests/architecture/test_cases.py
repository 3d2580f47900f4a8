"""The table of situations names tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
ROOT = Path(settings.BASE_DIR)
ROW = re.compile(r"^\| (C\d+) \| .+ \| `(tests/[^`]+)` \|$", re.MULTILINE)
MUST = {
    *("C7", "C8", "C24", "C26", "C28", "C29", "C31", "C34", "C35", "C38"),
    *("C40", "C47", "C101", "C112", "C116", "C117", "C119", "C123", "C125", "C126", "C129"),
}
ROWS = ROW.findall((ROOT / "docs" / "cases.md").read_text())


@cache
def names_in(path: str) -> frozenset[str]:
    """`test_name` and `TestClass::test_name`; what a class inherits is not looked up."""
    names = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{each.name}" for each in node.body if isinstance(each, FUNCTION)}
        elif isinstance(node, FUNCTION):
            names.add(node.name)
    return frozenset(names)


@pytest.mark.parametrize(("case", "test"), ROWS)
def test_each_row_names_a_test_that_exists(case, test):
    path, _, name = test.partition("::")

    assert (ROOT / path).exists(), path
    assert name in names_in(path)


def test_the_cases_that_must_be_shown_are():
    assert MUST - {case for case, _ in ROWS} == set()


def test_every_row_is_read():
    lines = [line for line in (ROOT / "docs" / "cases.md").read_text().splitlines() if line.startswith("| C")]

    assert len(ROWS) == len(lines)

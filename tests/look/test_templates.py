"""What no browser tells: rules for the sources of the look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.look.showroom import ROOT

TEMPLATES = ROOT / "templates"
COTTON = TEMPLATES / "cotton"
INLINE = ("bar", "brand", "button", "copy", "icon", "money", "state", "tag", "time")
_TAG = re.compile(r"<c-([\w.-]+)((?:\s+[^\s=>/]+(?:=(?:\"[^\"]*\"|'[^']*'))?)*)\s*/?>")
_DYNAMIC = re.compile(r"\s:([\w-]+)=")
_VARS = re.compile(r"<c-vars\s([^>]*)/>")


def sources() -> list[Path]:
    return sorted(path for path in TEMPLATES.rglob("*.html") if "email" not in path.parts)


def named(path: Path) -> str:
    return str(path.relative_to(TEMPLATES))


@pytest.mark.parametrize("path", sources(), ids=named)
class TestEveryTemplate:
    def test_holds_no_inline_style_or_script(self, path: Path) -> None:
        text = path.read_text()

        assert not re.search(r"\sstyle=", text)
        assert not re.search(r"<style\b", text)
        assert not re.search(r"<script(?![^>]*\b(?:src=|type=\"application/json\"))", text)
        assert not re.search(r"\son[a-z]+=", text)
        assert not re.search(r"\shx-(?:on|vals=['\"]js)", text)

    def test_hands_values_only_to_declared_attributes(self, path: Path) -> None:
        """What is not declared goes out through `{{ attrs }}`, which does not escape values given with a colon."""
        for name, attributes in _TAG.findall(path.read_text()):
            if name in {"vars", "slot"}:
                continue
            declared = _declared(name)
            for given in _DYNAMIC.findall(attributes):
                assert given in declared, f"<c-{name} :{given}>"


@pytest.mark.parametrize("name", INLINE)
def test_a_component_for_the_middle_of_a_line_ends_without_a_newline(name: str) -> None:
    assert not (COTTON / f"{name}.html").read_bytes().endswith(b"\n")


def test_every_component_is_in_the_readme() -> None:
    told = (COTTON / "README.md").read_text()
    names = [
        str(path.relative_to(COTTON).with_suffix("")).replace("/", ".").replace("_", "-")
        for path in COTTON.rglob("*.html")
    ]

    assert [name for name in names if f"c-{name}" not in told] == []


def _declared(component: str) -> set[str]:
    source = (COTTON / f"{component.replace('.', '/').replace('-', '_')}.html").read_text()
    match = _VARS.search(source)
    return (
        {name.lstrip(":") for name in re.findall(r"([:\w-]+)(?==|\s|$)", re.sub(r"\"[^\"]*\"", '""', match[1]))}
        if match
        else set()
    )

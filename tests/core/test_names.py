"""Names are one line of visible text."""

from __future__ import annotations

import pytest

from core.names import fault_in_name, one_line


@pytest.mark.parametrize("name", ["Aurora Labs", "Łódź", "東京", "R&D <new>", " kept ", "x" * 80])
def test_a_name_that_can_be_seen_is_taken(name):
    assert fault_in_name("name", name, most=80) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "\u3164",
        "x" * 81,
        "a\nb",
        "a\r\nBcc: x",
        "a\0b",
        "a\tb",
        "a\u2028b",
        "a\u202eb",
        "a\u200bb",
        "\u2066a",
    ],
)
def test_a_name_that_says_something_else_than_it_shows_is_not(name):
    assert fault_in_name("name", name, most=80) is not None


def test_what_others_send_becomes_one_line():
    assert one_line(" Aurora\r\nBcc:\u202e  x\u200b ") == "Aurora Bcc: x"

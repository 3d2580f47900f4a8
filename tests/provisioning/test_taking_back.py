"""Which borrowers end for a lender, as a truth table."""

from __future__ import annotations

from uuid import UUID

import pytest

from provisioning.taking_back import Borrower, Need, to_end

GPU = "accelerators/H100"


def short(amount, **borrowed):
    return Need(GPU, amount, {("project", name): lent for name, lent in borrowed.items()})


def borrower(number, amount, place="vision"):
    return Borrower(UUID(int=number), frozenset({("project", place)}), {GPU: amount})


@pytest.mark.parametrize(
    ("need", "amounts", "ending", "ended"),
    [
        (short(4, vision=4), [4, 4], [], [1]),
        (short(4, vision=4), [1, 4, 2], [], [2]),
        (short(3, vision=4), [1, 2, 4], [], [1, 2]),
        (short(4, vision=4), [4], [4], []),
        (short(4, vision=4), [1, 2], [], []),
        (short(2, vision=2), [1, 1, 1], [], [1, 2]),
        (short(4, audio=4), [4], [], []),
        (short(4, vision=2), [1, 1, 4], [], []),
    ],
    ids=[
        "the youngest",
        "no more than it takes",
        "as many as it takes",
        "none while enough is ending",
        "none where all are not enough",
        "two of three",
        "none of others than the borrowers",
        "none of what is its own share",
    ],
)
def test_who_ends(need, amounts, ending, ended):
    running = [borrower(number, amount) for number, amount in enumerate(amounts, start=1)]

    found = to_end([need], running, [borrower(9, amount) for amount in ending])

    assert [each.int for each in found] == ended

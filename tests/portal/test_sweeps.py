"""Sweeps as people type them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.web.workloads.sweeps import Unreadable, sweep_of, typed


def test_is_a_variable_a_line_with_commas_between_its_values():
    assert sweep_of('SEED = 1,2\n\nLR=0.1, 0.01 ,"a, b"') == (("LR", ("0.1", "0.01 ", "a, b")), ("SEED", ("1", "2")))


@pytest.mark.parametrize("text", ["LR", "=1", "LR=", "LR=1\nLR=2", 'LR="1', 'LR="1"2'])
def test_what_is_none_says_so(text):
    with pytest.raises(Unreadable):
        sweep_of(text)


_VALUES = st.lists(st.text("ab\", '$", max_size=5), min_size=1, max_size=4).map(tuple)


@given(st.dictionaries(st.sampled_from(["A", "LR", "SEED"]), _VALUES))
def test_what_is_written_is_read_back(sweep):
    asked = tuple(sorted(sweep.items()))

    assert sweep_of(typed(asked)) == asked

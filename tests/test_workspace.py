from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.workspace import Numbering

ASKED = st.lists(st.integers(-1, 11), max_size=12)


@given(st.lists(st.tuples(ASKED, st.integers(12, 40)), max_size=5))
def test_positions_are_numbered_without_a_trace_of_earlier_ones(questions):
    numbering = Numbering()
    for asked, size in questions:
        members, numbers = numbering.number(np.array(asked, dtype=np.int64), size)
        assert sorted(members.tolist()) == sorted(set(asked) - {-1})
        found = [-1 if number < 0 else int(members[number]) for number in numbers]
        assert found == asked

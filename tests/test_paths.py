"""The likeliest ways of a walk, against all ways tried one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.recall.paths import likeliest


class Net:
    """A graph by a table of weights, 0 for no edge."""

    def __init__(self, table):
        self.table = np.array(table, dtype=np.float64)

    def steps(self, vertices):
        places, near = np.nonzero(self.table[vertices])
        return places, near, self.table[vertices][places, near]

    def strengths(self, vertices):
        return self.table[vertices].sum(axis=1)

    def sizes(self, vertices):
        return np.count_nonzero(self.table[vertices], axis=1)

    def ways(self, goal, starts, damping=0.5, **options):
        return likeliest(
            self.steps,
            self.strengths,
            goal,
            np.array(starts, dtype=np.int64),
            damping=damping,
            sizes=self.sizes,
            ranks=lambda vertices: vertices,
            **options,
        )

    def best(self, start, goal, hops, damping=0.5):
        """The greatest product over every way of at most so many steps."""
        if start == goal:
            return 1.0
        if not hops:
            return 0.0
        strength = self.table[start].sum()
        return max(
            (
                damping * weight / strength * self.best(near, goal, hops - 1, damping)
                for near, weight in enumerate(self.table[start])
                if weight
            ),
            default=0.0,
        )


LINE = Net([[0, 1, 0, 0], [1, 0, 3, 0], [0, 3, 0, 1], [0, 0, 1, 0]])


def test_a_way_goes_step_by_step_with_the_share_of_each():
    (way,) = LINE.ways(3, [0])
    assert way.vertices == (0, 1, 2, 3)
    assert way.shares == (1.0, 0.75, 0.25)
    assert way.likelihood == pytest.approx(0.5**3 * 0.75 * 0.25)


def test_who_starts_at_the_goal_takes_no_step():
    (way,) = LINE.ways(3, [3])
    assert (way.vertices, way.shares, way.likelihood) == ((3,), (), 1.0)


def test_a_long_way_is_found_only_where_there_is_no_short_one():
    size = 7
    table = np.zeros((size, size))
    for one in range(size - 1):
        table[one, one + 1] = table[one + 1, one] = 1
    chain = Net(table)
    assert [way.vertices[0] for way in chain.ways(0, [2, 6])] == [2]
    assert [len(way.shares) for way in chain.ways(0, [6])] == [6]
    assert chain.ways(0, [6], most_hops=5) == []


def test_nobody_comes_from_another_part():
    apart = Net([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert apart.ways(0, [2]) == []
    assert len(apart.ways(0, [1, 2])) == 1


@st.composite
def nets(draw):
    size = draw(st.integers(2, 6))
    table = np.zeros((size, size))
    for one in range(size):
        for other in range(one):
            table[one, other] = table[other, one] = draw(st.sampled_from([0, 0, 1, 2, 5]))
    return Net(table)


@given(net=nets(), goal=st.integers(0, 1), damping=st.sampled_from([0.2, 0.5, 0.85]))
@settings(max_examples=80, deadline=None)
def test_the_ways_are_the_best_of_all(net, goal, damping):
    starts = np.arange(len(net.table))
    found = {way.vertices[0]: way for way in net.ways(goal, starts, damping, most_hops=4)}
    for start in starts.tolist():
        best = net.best(start, goal, 4, damping)
        assert (start in found) == (best > 0)
        if start in found:
            way = found[start]
            assert way.likelihood == pytest.approx(best)
            assert len(set(way.vertices)) == len(way.vertices)
            assert way.vertices[-1] == goal

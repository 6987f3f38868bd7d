from __future__ import annotations

import numpy as np
import pytest

from graphmem.index.columns import Column, Ragged
from graphmem.index.composite import Composite
from graphmem.index.keys import KeyTable
from graphmem.index.relations import Relation
from graphmem.types import Changes
from test_index import POOL, answers, changes_between, whole
from worlds import Memory


class Leaf(Composite):
    parts = ("keys", "_links")

    def __init__(self):
        self.keys = KeyTable()
        self._links = Relation()


class Tree(Composite):
    parts = ("leaf", "leaves", "_numbers", "_lists")

    def __init__(self):
        self.leaf = Leaf()
        self.leaves = Leaf()
        self._numbers = Column(np.int32, 2)
        self._lists = Ragged(np.uint8)


def grown():
    tree = Tree()
    tree.leaf.keys.add(2**63 + 1, 7)
    tree.leaves.keys.add(1, 2)
    tree.leaves._links.add(np.array([3, 0]), np.array([1, 2]), np.array([0.5, 2.0]))
    tree._numbers.append([[1, 2], [3, 4]])
    tree._lists.append([[], [5, 6]])
    return tree


def test_state_is_arrays_named_by_part():
    tree = grown()
    tree.fold()
    arrays = tree.arrays()
    assert {name.partition(".")[0] for name in arrays} == {"leaf", "leaves", "numbers", "lists"}
    assert arrays["numbers.values"].tolist() == [[1, 2], [3, 4]]
    fresh = Tree()
    fresh.take(arrays)
    assert fresh.leaf.keys.get(2**63 + 1) == 7
    assert fresh.leaves.keys.get(1) == 2
    assert fresh.leaf.keys.get(1) == -1
    assert fresh.leaves._links.row(3).tolist() == [1]
    assert fresh.leaf._links.row(3).tolist() == []
    assert fresh._numbers.values.tolist() == [[1, 2], [3, 4]]
    assert fresh._lists[1].tolist() == [5, 6]


def test_folding_leaves_nothing_to_merge():
    tree = grown()
    assert tree.delta_size > 0
    assert len(tree.foldable()) == 3
    tree.fold()
    assert tree.delta_size == 0
    assert tree.foldable() == []
    assert tree.leaves._links.row(0).tolist() == [2]


def test_memory_is_that_of_the_parts():
    assert grown().nbytes > Tree().nbytes > 0


def copy_of(index):
    """A fresh index with the same arrays, its vectors put anew."""
    index.fold()
    fresh = Memory()
    fresh.update(Changes(0))
    arrays = {name: np.array(one) for name, one in index.arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    fresh.take(arrays)
    for kind, senses in index.senses.items():
        positions = np.arange(len(senses._row))
        positions = positions[senses.has(positions)]
        fresh.senses[kind].reserve(len(senses._row))
        fresh.senses[kind].put(positions, senses.take(positions))
    fresh.rows, fresh.seq = index.rows, index.seq
    return fresh


HISTORIES = (
    [set(POOL)],
    [set(POOL), {"d1", "t0", "t4"}],
    [{"d1", "d4"}, set(POOL) - {"d1"}, {"d1", "t0", "t2", "t3"}],
    [set()],
)


@pytest.mark.parametrize("states", HISTORIES)
def test_an_index_that_took_anothers_arrays_answers_alike_and_goes_on_alike(states):
    index, keys = Memory(), set()
    for state in states:
        index.update(changes_between(keys, state))
        keys = state
    fresh = copy_of(index)
    assert answers(fresh) == answers(index)
    # Whichever row is put first has the lower position; the rows are the same.
    later = {"d2", "d3", "t1", "t5", "t6", "t7"}
    fresh.update(changes_between(keys, later))
    expected = Memory()
    expected.update(whole(later))
    assert answers(fresh) == answers(expected)


def test_taking_arrays_forgets_what_was_there():
    index, other = Memory(), Memory()
    index.update(whole(["d1"]))
    other.update(whole(POOL))
    index.fold()
    other.take(index.arrays())
    assert len(other) == 1
    assert other.passages.ids.get("t0") == -1
    assert other.hub_words == index.hub_words == frozenset()

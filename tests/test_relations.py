from __future__ import annotations

import math
from collections import Counter
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.errors import InvalidInput
from graphmem.index import relations
from graphmem.index.relations import Relation

ROWS, ITEMS = 6, 7
ROW, ITEM = st.integers(0, ROWS - 1), st.integers(0, ITEMS - 1)
# Numbers that float64 cannot add exactly as they are.
WEIGHT = st.sampled_from((1, -1, 2, 0, 0.1, -0.1, 0.3, 1 / 3, -1 / 3, 1e-9, 4096))
TRIPLES = st.lists(st.tuples(ROW, ITEM, WEIGHT), max_size=12)
STEP = st.one_of(
    st.tuples(st.just("add"), TRIPLES),
    st.tuples(st.just("add"), TRIPLES),
    st.tuples(st.just("take_all_away")),
    st.tuples(st.sampled_from(["fold", "prepare", "swap", "reload"])),
)
# So narrow that small data meet every limit.
NARROW = {"MERGED_AT_ONCE": 3, "SCANNED": 4, "SCAN_MASK": 1, "SORTED_LOOKUP": 2}
ASKED = st.lists(st.integers(-2, ROWS + 3), max_size=10)


def rounded(weight):
    return math.ldexp(round(math.ldexp(weight, 32)), -32)


def read_only(arrays):
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def add(relation, triples):
    columns = list(zip(*triples, strict=True)) or [(), (), ()]
    rows, items, weights = (np.array(column) for column in columns)
    relation.add(rows.astype(np.int64), items.astype(np.int64), weights)


def gathered(relation, rows, of="gather"):
    columns = getattr(relation, of)(np.array(rows, dtype=np.int64))
    return list(zip(*(column.tolist() for column in columns), strict=True))


def entries_of(model, rows):
    """What a relation that holds ``model``, (row, item) → weight, gives for ``rows``."""
    return [
        (place, item, weight)
        for place, row in enumerate(rows)
        for (owner, item), weight in sorted(model.items())
        if owner == row and weight
    ]


class Driven:
    """A relation and the dictionary it should equal."""

    def __init__(self, relation):
        self.relation, self.model, self.prepared = relation, Counter(), None

    def add(self, triples):
        add(self.relation, triples)
        for row, item, weight in triples:
            self.model[row, item] += rounded(weight)

    def toggle(self, pairs):
        for pair in pairs:
            self.add([(*pair, -1 if self.model[pair] else 1)])

    def take_all_away(self):
        self.add([(*pair, -weight) for pair, weight in self.model.items()])

    def fold(self):
        self.relation.fold()
        self.prepared = None
        assert self.relation.delta_size == 0
        assert self.relation.entries == sum(weight != 0 for weight in self.model.values())

    def prepare(self):
        self.prepared = self.relation.folded()

    def swap(self):
        if self.prepared is not None:
            self.relation.swap(self.prepared)
            self.prepared = None

    def reload(self):
        self.fold()
        self.relation = Relation.of(read_only(self.relation.arrays()))

    def check(self, rows):
        relation = self.relation
        expected = entries_of(self.model, rows)
        assert gathered(relation, rows) == expected
        sizes = relation.sizes(np.array(rows, dtype=np.int64)).tolist()
        counts = Counter(place for place, _, _ in expected)
        assert all(counts[place] <= size for place, size in enumerate(sizes))
        outside = [size for row, size in zip(rows, sizes, strict=True) if not 0 <= row < ROWS]
        assert not any(outside)
        for row in range(ROWS):
            items = [item for _, item, _ in entries_of(self.model, [row])]
            assert relation.row(row).tolist() == items


def drive(relation, steps, rows):
    driven = Driven(relation)
    for name, *arguments in steps:
        getattr(driven, name)(*arguments)
        driven.check(rows)


@given(st.lists(STEP, max_size=14), ASKED)
def test_a_relation_is_a_dictionary_of_sums(steps, rows):
    drive(Relation(), steps, rows)


@given(st.lists(STEP, max_size=14), ASKED)
def test_narrow_limits_change_nothing(steps, rows):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in NARROW.items():
            patch.setattr(relations, name, value)
        drive(Relation(), steps, rows)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("toggle"), st.lists(st.tuples(ROW, ITEM), max_size=8)),
            st.tuples(st.sampled_from(["fold", "prepare", "swap", "reload"])),
        ),
        max_size=14,
    ),
    ASKED,
)
def test_a_relation_without_weights_is_a_set_of_pairs(steps, rows):
    relation = Relation(weights=False)
    assert "weights" not in relation.arrays()
    drive(relation, steps, rows)


@given(TRIPLES, TRIPLES, TRIPLES, ASKED)
def test_what_comes_between_folded_and_swap_is_kept(first, second, third, rows):
    driven = Driven(Relation())
    driven.add(first)
    driven.fold()
    driven.add(second)
    driven.prepare()
    driven.add(third)
    driven.swap()
    assert driven.relation.delta_size == len(third)
    driven.check(rows)
    driven.fold()
    driven.check(rows)


@given(TRIPLES, st.randoms(use_true_random=False), ASKED)
def test_the_order_of_adding_and_folding_changes_nothing(triples, random, rows):
    first = Relation()
    add(first, triples)
    shuffled = list(triples)
    random.shuffle(shuffled)
    second = Relation()
    for triple in shuffled:
        add(second, [triple])
        if random.random() < 0.3:
            second.fold()
    assert gathered(first, rows) == gathered(second, rows)
    first.fold()
    second.fold()
    for name, array in first.arrays().items():
        kept = second.arrays()[name]
        # One that knew a row only for a moment may know it still, empty.
        shorter = min(len(array), len(kept))
        assert array[:shorter].tolist() == kept[:shorter].tolist()


def test_folding_goes_on_beside_adding():
    relation, prepared = Relation(), []

    def fold_often():
        while not prepared or prepared[-1].size < 20_000:
            prepared.append(relation.folded())

    thread = Thread(target=fold_often)
    thread.start()
    for step in range(400):
        relation.add(np.full(50, step % 7), np.arange(50))
    thread.join()
    for folded in prepared:
        copy = Relation()
        copy.swap(folded)
        assert copy.gather(range(7))[2].sum() == folded.size


def test_large_relations_equal_a_matrix():
    random = np.random.default_rng(5)
    relation, dense = Relation(), np.zeros((400, 90))

    def grow(count):
        rows, items = random.integers(0, 400, count), random.integers(0, 90, count)
        weights = random.integers(-2, 3, count) / 4
        relation.add(rows, items, weights)
        np.add.at(dense, (rows, items), weights)

    def check(count):
        asked = random.integers(0, 400, count)
        places, items, weights = relation.gather(asked)
        found = np.zeros((count, 90))
        found[places, items] = weights
        assert np.array_equal(found, dense[asked])
        assert len(places) == np.count_nonzero(dense[asked])
        assert (np.diff(places * 90 + items) > 0).all()

    grow(8000)
    check(20)
    relation.fold()
    for _ in range(30):
        grow(400)
        check(10)
    check(3000)
    prepared = relation.folded()
    grow(6000)
    relation.swap(prepared)
    assert relation.delta_size == 6000
    check(3000)
    relation.fold()
    check(3000)
    assert relation.entries == np.count_nonzero(dense)


def test_a_fold_in_parts_equals_one_at_once(monkeypatch):
    random = np.random.default_rng(6)
    triples = (random.integers(0, 300, 9000), random.integers(0, 900, 9000), random.random(9000))
    late = (np.array([0, 150, 299, 305]), np.array([3, 3, 3, 3]))
    folded = []
    for size in (1 << 18, 500):
        monkeypatch.setattr(relations, "MERGED_AT_ONCE", size)
        relation = Relation()
        relation.add(*triples)
        relation.fold()
        relation.add(*late)
        relation.fold()
        folded.append(relation.arrays())
    assert len(folded[0]["starts"]) == 307
    for name, array in folded[0].items():
        assert np.array_equal(array, folded[1][name])


def test_an_entry_taken_away_can_come_back():
    relation = Relation(weights=False)
    relation.add([3], [5])
    relation.fold()
    relation.add([3], [5], -1)
    assert relation.row(3).tolist() == []
    assert relation.sizes([3, 4]).tolist() == [2, 0]
    relation.fold()
    assert relation.entries == 0
    assert relation.sizes([3, 4]).tolist() == [0, 0]
    relation.add([3], [5])
    assert gathered(relation, [3, 3]) == [(0, 5, 1.0), (1, 5, 1.0)]


def test_weights_that_no_float_adds_exactly_cancel():
    relation = Relation()
    assert 0.1 + 0.2 - 0.1 - 0.2 != 0
    for weight in (0.1, 0.2, 7):
        relation.add([0], [1], weight)
    relation.fold()
    for weight in (-0.1, -0.2):
        relation.add([0], [1], weight)
    assert gathered(relation, [0]) == [(0, 1, 7.0)]
    relation.add([0], [1], -7)
    assert gathered(relation, [0]) == []
    assert relation.entries == 1
    relation.fold()
    assert relation.entries == 0


def test_the_highest_position_is_known():
    relation = Relation()
    relation.add([0], [2**31 - 2], 0.5)
    assert gathered(relation, [0]) == [(0, 2**31 - 2, 0.5)]
    relation.fold()
    relation.add([0], [2**31 - 2], 0.25)
    assert gathered(relation, [0, 2**31 - 2, 2**40]) == [(0, 2**31 - 2, 0.75)]


@pytest.mark.parametrize(
    ("rows", "items", "weights"),
    [
        ([-1], [0], None),
        ([0], [-1], None),
        ([2**31 - 1], [0], None),
        ([0, 1], [0], None),
        ([0, 1], [0, 1], [1.0]),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(rows, items, weights):
    relation = Relation()
    with pytest.raises(InvalidInput):
        relation.add(rows, items, weights)
    assert relation.delta_size == 0
    relation.add([0, 1], [0, 1], [1.0, 2.0])
    assert gathered(relation, [0, 1]) == [(0, 0, 1.0), (1, 1, 2.0)]


@pytest.mark.parametrize("weights", [[1, 1], [-1, 1], [0.5, 1]])
def test_a_relation_without_weights_folds_nothing_but_zero_and_one(weights):
    relation = Relation(weights=False)
    relation.add([0, 1], [0, 1])
    relation.fold()
    relation.add([2, 2 if weights[0] == 1 else 1], [0, 0], weights)
    with pytest.raises(InvalidInput, match="weights=True"):
        relation.fold()
    assert relation.entries == 2


def test_a_base_may_be_mapped(tmp_path):
    source = Relation()
    source.add(np.arange(3000) // 2, np.arange(3000), 0.5)
    source.fold()
    for name, array in source.arrays().items():
        np.save(tmp_path / name, array)
    arrays = {n: np.load(tmp_path / f"{n}.npy", mmap_mode="r") for n in source.arrays()}
    relation = Relation.of(arrays)
    assert source.nbytes > 36_000
    assert relation.nbytes < 1000
    relation.add([1], [3], -0.5)
    assert relation.row(1).tolist() == [2]
    relation.fold()
    assert relation.entries == 2999
    assert arrays["items"][3] == 3

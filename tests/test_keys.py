from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.keys import KeyTable

# Few enough to meet again, some of them too large for a signed number or a float.
KEYS = (0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1)
KEY = st.sampled_from(KEYS)
STEP = st.one_of(
    st.tuples(st.just("add"), KEY, st.integers(0, 9)),
    st.tuples(st.just("many"), st.lists(st.tuples(KEY, st.integers(0, 9)), max_size=6)),
    st.tuples(st.just("number"), st.lists(KEY, max_size=6), st.integers(0, 9)),
    st.tuples(st.just("drop"), KEY),
    st.tuples(st.sampled_from(["fold", "prepare", "swap", "reload"])),
)


def array_of(keys):
    return np.array(keys, dtype=np.uint64)


def read_only(arrays):
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def assert_holds(table, model):
    assert len(table) == len(model)
    expected = [model.get(key, -1) for key in KEYS]
    assert table.find(array_of(KEYS)).tolist() == expected
    assert [table.get(key) for key in KEYS] == expected


class Driven:
    """A table and the dictionary it should equal."""

    def __init__(self):
        self.table, self.model, self.prepared = KeyTable(), {}, None

    def add(self, key, position):
        self.table.add(key, position)
        self.model[key] = position

    def many(self, pairs):
        keys = array_of([key for key, _ in pairs])
        self.table.add_many(keys, np.array([position for _, position in pairs], dtype=np.int64))
        self.model.update(pairs)

    def drop(self, key):
        self.table.drop(key)
        self.model.pop(key, None)

    def fold(self):
        self.table.fold()
        self.prepared = None
        assert self.table.delta_size == 0

    def number(self, keys, first):
        places = []
        for place, key in enumerate(keys):
            if key not in self.model:
                self.model[key] = first + len(places)
                places.append(place)
        positions, fresh = self.table.number(array_of(keys), first)
        assert positions.tolist() == [self.model[key] for key in keys]
        assert fresh.tolist() == places

    def prepare(self):
        self.prepared = self.table.folded()

    def swap(self):
        if self.prepared is not None:
            self.table.swap(self.prepared)
            self.prepared = None

    def reload(self):
        self.fold()
        arrays = self.table.arrays()
        assert arrays["keys"].tolist() == sorted(self.model)
        self.table = KeyTable.of(read_only(arrays))


@given(st.lists(STEP, max_size=30))
def test_a_table_is_a_dictionary(steps):
    driven = Driven()
    for name, *arguments in steps:
        getattr(driven, name)(*arguments)
        assert_holds(driven.table, driven.model)


def test_changes_between_folded_and_swap_are_kept():
    table = KeyTable()
    for key in (1, 2, 3):
        table.add(key, key * 10)
    prepared = table.folded()
    table.add(1, 11)
    table.drop(2)
    table.add(2**63, 5)
    table.swap(prepared)
    assert_holds(table, {1: 11, 3: 30, 2**63: 5})
    assert table.delta_size == 3
    table.fold()
    assert table.arrays()["keys"].tolist() == [1, 3, 2**63]


def test_a_dropped_key_can_come_back():
    table = KeyTable()
    table.add(2**64 - 1, 4)
    table.fold()
    table.drop(2**64 - 1)
    assert_holds(table, {})
    table.fold()
    table.add(2**64 - 1, 6)
    assert_holds(table, {2**64 - 1: 6})


def test_mapped_keys_take_no_memory(tmp_path):
    source = KeyTable()
    source.add_many(np.arange(2000, dtype=np.uint64) * 7, np.arange(2000))
    source.fold()
    for name, array in source.arrays().items():
        np.save(tmp_path / name, array)
    table = KeyTable.of({n: np.load(tmp_path / f"{n}.npy", mmap_mode="r") for n in source.arrays()})
    assert source.nbytes >= 24_000
    assert table.nbytes < 1000
    table.add(3, 9)
    assert table.find(array_of([0, 3, 4, 7, 13_993])).tolist() == [0, 9, -1, 1, 1999]

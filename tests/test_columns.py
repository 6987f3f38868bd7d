from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.columns import Column, Ragged, resident, runs

NUMBERS = st.lists(st.integers(-9, 9), max_size=8)
SEQUENCES = st.lists(NUMBERS, max_size=6)


def mapped(folder, name, array):
    np.save(folder / name, array)
    return np.load(folder / f"{name}.npy", mmap_mode="r")


@given(st.lists(st.one_of(NUMBERS, st.integers(0, 40)), max_size=12))
def test_a_column_is_a_list_that_grows(steps):
    column, model = Column(np.int16), []
    for step in steps:
        if isinstance(step, list):
            column.append(step)
            model += step
        else:
            column.resize(step, 7)
            model = model[:step] + [7] * (step - len(model))
        assert len(column) == len(model)
        assert column.values.tolist() == model
        assert column.values.dtype == np.int16


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40))
def test_a_column_holds_rows(rows):
    column = Column(np.float32, 2)
    for row in rows:
        column.append(row)
    assert column.values.shape == (len(rows), 2)
    assert column.values.tolist() == [list(row) for row in rows]
    column.append(np.ones((3, 2)))
    column.resize(len(rows) + 4, (5, 6))
    assert column.values[-2:].tolist() == [[1, 1], [5, 6]]


def test_a_column_copies_what_it_starts_with():
    start = np.arange(3)
    start.flags.writeable = False
    column = Column(np.int64, values=start)
    column.values[0] = 9
    column.append(4)
    assert column.values.tolist() == [9, 1, 2, 4]
    assert start[0] == 0


def test_a_view_taken_before_it_grew_still_shows_what_it_showed():
    column = Column(np.int32, values=[1, 2])
    before = column.values
    column.append(np.zeros(100))
    column.values[0] = 5
    assert before.tolist() == [1, 2]


def test_a_column_grows_by_a_half():
    column = Column(np.int8)
    for _ in range(1000):
        column.append(1)
    assert 1000 <= column.nbytes <= 1500


@given(SEQUENCES, SEQUENCES, SEQUENCES, st.data())
def test_ragged_is_a_list_of_lists(first, second, third, data):
    ragged = Ragged(np.int32)
    ragged.append(first)
    arrays = ragged.arrays()
    for array in arrays.values():
        array.flags.writeable = False
    ragged = Ragged.of(arrays)
    ragged.append(second)
    for sequence in third:
        ragged.append(np.array(sequence, dtype=np.int64))
    items = [item for sequence in second for item in sequence]
    ragged.extend(
        np.array(items, dtype=np.int64), np.array([len(one) for one in second], dtype=int)
    )
    model = first + second + third + second
    assert len(ragged) == len(model)
    assert [ragged[position].tolist() for position in range(len(model))] == model
    positions = st.lists(st.integers(0, len(model) - 1), max_size=8) if model else st.just([])
    wanted = data.draw(positions)
    places, items = ragged.gather(np.array(wanted, dtype=np.int64))
    assert items.dtype == np.int32
    expected = [(place, item) for place, one in enumerate(wanted) for item in model[one]]
    assert list(zip(places.tolist(), items.tolist(), strict=True)) == expected
    lengths = ragged.lengths(np.array(wanted, dtype=np.int64)).tolist()
    assert lengths == [len(model[one]) for one in wanted]
    again = Ragged.of(ragged.arrays())
    assert [again[position].tolist() for position in range(len(again))] == model


def test_large_numbers_beside_an_empty_list_stay_exact():
    ragged = Ragged(np.uint64)
    ragged.append([[], [2**64 - 1]])
    assert ragged[1].tolist() == [2**64 - 1]


def test_numbers_alone_are_no_sequence():
    with pytest.raises(TypeError):
        Ragged(np.int32).append([1, 2])


def test_mapped_items_take_no_memory(tmp_path):
    source = Ragged(np.int32)
    source.append([range(5000)])
    arrays = {name: mapped(tmp_path, name, array) for name, array in source.arrays().items()}
    ragged = Ragged.of(arrays)
    ragged.append([[7]])
    assert source.nbytes >= 20_000
    assert ragged.nbytes < 1000
    assert ragged[0].tolist() == list(range(5000))
    assert ragged[1].tolist() == [7]
    assert resident(arrays["items"]) == resident(np.asarray(arrays["items"])[3:]) == 0
    assert resident(np.zeros(4, dtype=np.int32)) == 16


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=8))
def test_runs_lie_end_to_end(pairs):
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    places, indices = runs(array[:, 0], array[:, 1])
    expected = [
        (place, begin + step)
        for place, (begin, length) in enumerate(pairs)
        for step in range(length)
    ]
    assert list(zip(places.tolist(), indices.tolist(), strict=True)) == expected

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphmem.index.ids import Ids

LONG = "x" * 50
KEYS = st.sampled_from(["a", "b", "c", "é", "頑張", LONG, ""])


@given(st.lists(st.tuples(KEYS, st.sampled_from(["add", "drop", "fold"])), max_size=30))
def test_ids_have_one_position_each_that_is_never_anothers(steps):
    ids, model, texts = Ids(), {}, []
    for key, step in steps:
        if step == "fold":
            ids.fold()
        elif step == "drop":
            ids.drop([key, "unknown"])
            if key in model:
                texts[model.pop(key)] = ""
        elif key not in model:
            model[key] = len(texts)
            texts.append(key)
            assert ids.add([key]).tolist() == [model[key]]
    assert len(ids) == len(texts)
    assert ids.here == len(model)
    wanted = ["a", "b", LONG, "頑張", "é", "", "nobody"]
    assert ids.find(wanted).tolist() == [model.get(key, -1) for key in wanted]
    assert [ids.get(key) for key in wanted] == ids.find(wanted).tolist()
    assert ids.texts(np.arange(len(texts))) == texts
    assert [ids.text(position) for position in range(len(texts))] == texts


def of(*keys):
    ids = Ids()
    assert ids.add(keys).tolist() == list(range(len(keys)))
    return ids


@given(st.lists(st.text("abc", min_size=1, max_size=3), unique=True, max_size=8), st.data())
def test_ranks_are_places_in_order(keys, data):
    wanted = data.draw(st.permutations(range(len(keys))))
    found = of(*keys).ranks(np.array(wanted, dtype=np.int64)).tolist()
    chosen = [keys[place] for place in wanted]
    assert found == [sorted(chosen).index(key) for key in chosen]


@given(st.permutations("abcdefgh"), st.lists(st.integers(0, 3), max_size=8), st.integers(0, 9))
def test_highest_orders_by_value_then_id(keys, values, count):
    positions = np.arange(8)[::-1][: len(values)]
    found = of(*keys).highest(positions, np.array(values, dtype=float), count).tolist()
    best = sorted(range(len(values)), key=lambda i: (-values[i], keys[positions[i]]))
    assert found == best[:count]

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NOON
from graphmem.index.threads import Threads
from graphmem.threads import in_order
from graphmem.types import Passage

OFFSETS = (-4, -2, -1, 0, 1, 3)
SAID_AT = st.none() | st.integers(0, 4).map(lambda hours: NOON + timedelta(hours=hours))
THREADS = "abc"
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from(THREADS), SAID_AT),
        st.tuples(st.just("leave"), st.integers(0, 30)),
        st.tuples(st.just("move"), st.integers(0, 30), st.integers(0, 40), SAID_AT),
        st.just(("arrange",)),
        st.just(("fold",)),
    ),
    max_size=25,
)


def stamp(said_at):
    return np.nan if said_at is None else said_at.timestamp()


class Model:
    """The same threads as passages in a list."""

    def __init__(self):
        self.threads = Threads()
        self.passages: list[Passage | None] = []
        self.touched: set[int] = set()

    def say(self, thread, said_at):
        at = len(self.passages)
        one = Passage(
            f"{at:03}", "m", "text", thread=thread, said_at=said_at, ordinal=at // 2, part=at % 2
        )
        self.passages.append(one)
        self.threads.add(
            np.array([THREADS.index(thread)]), [one.ordinal << 20 | one.part], [stamp(said_at)]
        )
        self.threads.enter(np.array([at]))
        self.touched.add(at)

    def leave(self, number):
        here = self.here()
        if here:
            at = here[number % len(here)]
            self.passages[at] = None
            self.threads.leave(np.array([at]))
            self.touched.add(at)

    def move(self, number, ordinal, said_at):
        here = self.here()
        taken = {(one.thread, one.ordinal, one.part) for one in self.passages if one}
        if here:
            at = here[number % len(here)]
            one = replace(self.passages[at], ordinal=ordinal, said_at=said_at)
            if (one.thread, one.ordinal, one.part) not in taken:
                self.passages[at] = one
                self.threads.move(at, ordinal << 20 | one.part, stamp(said_at))
                self.touched.add(at)

    def fold(self):
        self.threads.fold()

    def arrange(self):
        before = self.around()
        moved = self.threads.arrange(np.array(sorted(self.touched), dtype=np.int64))
        self.touched.clear()
        after = self.around()
        differ = [at for at in self.here() if before[at] != after[at]]
        assert set(differ) <= set(moved.tolist()) <= set(self.here())

    def here(self):
        return [at for at, one in enumerate(self.passages) if one is not None]

    def around(self):
        """What stands just before and after each."""
        every = np.arange(len(self.passages))
        found = self.threads.around(every, (-1, 1))
        return list(zip(found[-1].tolist(), found[1].tolist(), strict=True))

    def expected(self, offset):
        ordered = in_order([one for one in self.passages if one is not None])
        found = np.full(len(self.passages), -1)
        for place, one in enumerate(ordered):
            there = place + offset
            if 0 <= there < len(ordered) and ordered[there].thread == one.thread:
                found[int(one.id)] = int(ordered[there].id)
        return found


@given(STEPS)
def test_any_history_gives_the_order_of_what_is_there(steps):
    model = Model()
    for name, *arguments in steps:
        getattr(model, name)(*arguments)
    model.arrange()
    here = np.array(model.here(), dtype=np.int64)
    found = model.threads.around(here, OFFSETS)
    assert list(found) == list(OFFSETS)
    for offset in OFFSETS:
        assert found[offset].tolist() == model.expected(offset)[here].tolist(), offset


def talk(*threads):
    model = Model()
    for thread in threads:
        model.say(thread, None)
    model.arrange()
    return model.threads


def test_a_gap_ends_nothing_and_a_thread_does():
    threads = talk(*"aabaa")
    every = np.arange(5)
    assert threads.around(every, [1])[1].tolist() == [1, 3, -1, 4, -1]
    assert threads.around(every, [-3])[-3].tolist() == [-1, -1, -1, -1, 0]
    assert threads.of(every).tolist() == [0, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("asked", "offsets", "near", "seen_by"),
    [
        ([2], [1], [2, 3], [1, 2]),
        ([0], [-1, 2], [0, 2], [0, 1]),
        ([], [1, -1], [], []),
        ([0, 4], [0], [0, 4], [0, 4]),
    ],
)
def test_who_stands_near_and_who_sees(asked, offsets, near, seen_by):
    threads = talk(*"aaaaa")
    wanted = np.array(asked, dtype=np.int64)
    assert threads.near(wanted, offsets).tolist() == near
    assert threads.seen_by(wanted, offsets).tolist() == seen_by


def test_who_left_stands_beside_nobody():
    model = Model()
    for thread in "aaa":
        model.say(thread, NOON)
    model.arrange()
    model.leave(1)
    model.arrange()
    assert model.around() == [(-1, 2), (-1, -1), (0, -1)]
    assert model.threads.stamps.tolist() == [NOON.timestamp()] * 3

"""The passages that an index knows (``graphmem.index.passages``)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from builders import NOON
from graphmem.index.document import Document
from graphmem.index.passages import Passages
from worlds import Said, entity_id

SAID = (
    Said("a", "I was in Oslo in May.", speaker="Ana", session="s", said_at=NOON),
    Said("b", "where is it?", speaker="Zoe", session="s", said_at=NOON + timedelta(hours=12)),
    Said("c", "It is in Norway.", speaker="assistant", session="t", role="assistant"),
    Said("d", "Oslo has 700000 people.", title="Oslo (city)"),
    Said("e", "I like it.", title="Oslo"),
)


def added(passages, *said):
    rows = [one.passage(number) for number, one in enumerate(said, len(passages))]
    return passages.add(rows, [Document.of(row) for row in rows])


def name_titles(passages, **names):
    ids = [entity_id(name) for name in names]
    return sorted(passages.name_titles(ids, np.array(list(names.values()))).tolist())


def admitted(*said):
    passages = Passages(0.1)
    assert added(passages, *said).tolist() == list(range(len(said)))
    passages.enter(np.arange(len(said)))
    passages.threads.arrange(np.arange(len(said)))
    return passages


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("spoken", "abc"),
        ("person", "abde"),
        ("user", "ab"),
        ("personal", "a"),
        ("question", "b"),
        ("timed", "a"),
    ],
)
def test_flags(flag, expected):
    passages = admitted(*SAID)
    found = passages.flag(flag, np.arange(5))
    assert [one.id for one, is_set in zip(SAID, found, strict=True) if is_set] == list(expected)


def test_who_said_what_when_and_where():
    passages = admitted(*SAID)
    assert len(passages) == passages.here == 5
    days = passages.days(np.arange(5))
    assert days[1] - days[0] == pytest.approx(0.5)
    assert days[0] * 86400 == pytest.approx(NOON.timestamp())
    assert np.isnan(days[2:]).all()
    assert passages.session("s").tolist() == [0, 1]
    assert passages.session("t").tolist() == [2]
    assert passages.session("nowhere").tolist() == []
    assert passages.speaker[:2].tolist() == [passages.speakers.number(n) for n in ("Ana", "Zoe")]
    assert passages.speaker[3:].tolist() == [-1, -1]
    assert passages.threads.around(np.arange(5), [1])[1].tolist() == [1, -1, -1, -1, -1]


def test_titles_name_an_entity_while_there_is_one():
    passages = admitted(*SAID)
    every = np.arange(5)
    assert passages.titles(every).tolist() == [-1] * 5
    assert name_titles(passages, Oslo=7) == [3, 4]
    assert passages.titles(every).tolist() == [-1, -1, -1, 7, 7]
    assert name_titles(passages, Norway=8) == []
    assert name_titles(passages, Norway=8, Oslo=-1) == [3, 4]
    assert passages.titles(every).tolist() == [-1] * 5


def test_what_leaves_is_nowhere():
    passages = admitted(*SAID)
    name_titles(passages, Oslo=7)
    passages.leave(np.array([0, 3]))
    passages.threads.arrange(np.array([0, 3]))
    every = np.arange(5)
    assert passages.here == 3
    assert passages.is_here.tolist() == [False, True, True, False, True]
    assert passages.ids.find(["a", "b", "d"]).tolist() == [-1, 1, -1]
    assert passages.session("s").tolist() == [1]
    assert passages.speakers.called(["ana", "zoe", "assistant"]) == ["Zoe", "assistant"]
    assert passages.flag("spoken", every).tolist() == [False, True, True, False, False]
    assert passages.titles(every).tolist() == [-1, -1, -1, -1, 7]
    assert name_titles(passages, Oslo=7) == [4]
    assert passages.threads.around(every, [-1])[-1].tolist() == [-1] * 5


def test_who_comes_again_has_a_new_place():
    passages = admitted(*SAID)
    passages.leave(np.array([0]))
    assert passages.add([SAID[0].passage(0)], [Document.of(SAID[0].passage(0))]).tolist() == [5]
    passages.enter(np.array([5]))
    passages.threads.arrange(np.array([5]))
    assert passages.session("s").tolist() == [1, 5]
    assert passages.threads.around(np.array([5]), [1])[1].tolist() == [1]


def test_a_passage_may_move():
    passages = admitted(*SAID)
    passages.move(0, replace(SAID[0].passage(0), said_at=NOON + timedelta(days=1)))
    passages.threads.arrange(np.array([0]))
    assert passages.threads.around(np.array([1]), [1])[1].tolist() == [0]
    assert np.diff(passages.days(np.array([1, 0]))) == pytest.approx(0.5)


def test_what_was_kept_is_taken_back():
    passages, fresh = admitted(*SAID), Passages(0.1)
    name_titles(passages, Oslo=7)
    passages.leave(np.array([4]))
    passages.fold()
    fresh.take(passages.arrays())
    every = np.arange(5)
    assert fresh.here == 4
    assert fresh.is_here.tolist() == passages.is_here.tolist()
    assert fresh.titles(every).tolist() == passages.titles(every).tolist()
    assert fresh.session("s").tolist() == [0, 1]
    late = Said("f", "late", speaker="Bo", session="new", title="Bergen")
    assert added(fresh, late).tolist() == [5]
    fresh.enter(np.array([5]))
    assert fresh.session("new").tolist() == [5]
    assert fresh.threads.of(np.array([5]))[0] not in fresh.threads.of(every)
    assert name_titles(fresh, Bergen=9) == [5]

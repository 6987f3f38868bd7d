"""Indexes that outlive their process: saved, found again, discarded when they cannot be trusted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graphmem import indexes as indexes_module
from graphmem.faults import Faults
from graphmem.identity import key64
from graphmem.indexes import LATEST_SECONDS, PAUSE_SECONDS, Indexes, _News
from graphmem.memory import GraphMemory
from graphmem.settings import RecallSettings
from graphmem.store import Store
from graphmem.testing import HashEmbedder
from graphmem.types import Extraction, Recall, Scope, Triple

OWNER = Scope("ana")
QUESTIONS = ("Where does Maja17 live?", "Who lives in Lisbon3?", "harbour 12", "Oslo9")


class Cities:
    """Reads "Maja3 lives in Lisbon3 by the harbour." """

    name = "cities/1"

    def extract(self, passages):
        return [
            Extraction(one.id, (Triple(words[0], "lives in", words[3]),))
            if (words := one.text.split())[1:3] == ["lives", "in"]
            else Extraction(one.id)
            for one in passages
        ]


def opened(path: Path, **options) -> GraphMemory:
    return GraphMemory.open(
        path, scope=OWNER, embed_model=HashEmbedder(), extractor=Cities(), **options
    )


def told(memory: GraphMemory, numbers: range) -> None:
    texts = [
        f"Maja{n} lives in {('Lisbon', 'Oslo')[n % 2]}{n} by the harbour {n}." for n in numbers
    ]
    memory.remember(texts, session=f"s{numbers.start}")
    assert memory.drain(60) == 0


def shown(found: Recall):
    return (
        found.route,
        [(one.passage, round(one.score, 9), one.facts) for one in found],
        [(one.entity, round(one.weight, 9)) for one in found.seeds],
    )


def answers(memory: GraphMemory):
    return [shown(memory.recall(question, top_k=8)) for question in QUESTIONS]


def id_of(name: str, memory: GraphMemory) -> str:
    (found,) = [one.id for one in memory.passages() if one.text.startswith(f"{name} ")]
    return found


def folder(path: Path) -> Path:
    return path.with_name(f"{path.name}.index")


def files(path: Path) -> list[Path]:
    return sorted(one for one in folder(path).rglob("*") if one.is_file())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store whose index was saved when it was closed."""
    path = tmp_path / "m.db"
    with opened(path) as memory:
        told(memory, range(60))
        memory.recall("anything")
    assert files(path)
    return path


def rebuilt(path: Path):
    """What a memory answers that builds its index from the rows."""
    shutil.rmtree(folder(path))
    with opened(path) as memory:
        return answers(memory)


def loads(path: Path) -> bool:
    """Whether an index comes from a snapshot, without a row being read."""
    store = Store.open(path)
    indexes = Indexes(store, RecallSettings(), Faults())
    try:
        asked = []
        real = store.changed
        store.changed = lambda scope, *, after: asked.append(after) or real(scope, after=after)  # type: ignore[method-assign]
        indexes.current(OWNER)
        return None not in asked
    finally:
        indexes.close()
        store.close()


def test_an_index_that_was_saved_answers_as_one_that_is_built_anew(path):
    assert loads(path)
    with opened(path) as memory:
        found = answers(memory)
    assert found == rebuilt(path)


def test_what_came_after_the_snapshot_is_learnt_from_the_log(path):
    with opened(path) as memory:
        memory.recall("anything")
        told(memory, range(60, 75))
        found = answers(memory)
        assert any("Maja61" in one.text for one in memory.passages())
    assert found == rebuilt(path)


def test_other_constants_of_the_index_build_it_anew(path):
    assert loads(path)
    with opened(path, settings=RecallSettings(hub_share=0.5)) as memory:
        assert answers(memory)
    assert not loads(path)  # it was replaced by the other's


@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 0.99])
def test_a_damaged_snapshot_is_discarded(path, at):
    for one in files(path):
        data = bytearray(one.read_bytes())
        data[int(at * (len(data) - 1))] ^= 0x55
        one.write_bytes(data)
    with opened(path) as memory:
        found = answers(memory)
    assert found == rebuilt(path)


def test_a_torn_snapshot_is_discarded(path):
    for one in files(path):
        one.write_bytes(one.read_bytes()[:-7])
    assert not loads(path)
    with opened(path) as memory:
        found = answers(memory)
    assert found == rebuilt(path)


def test_another_store_at_the_same_place_does_not_take_it(path):
    for one in path.parent.glob("m.db*"):
        if one.is_file():
            one.unlink()
    with opened(path) as memory:
        told(memory, range(200, 203))
        assert {one.passage.text.split()[0] for one in memory.recall("harbour", top_k=20)} == {
            "Maja200", "Maja201", "Maja202",
        }  # fmt: skip


def test_an_older_copy_of_the_store_does_not_take_a_newer_snapshot(path, tmp_path):
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    with opened(path) as memory:
        memory.recall("anything")
        told(memory, range(60, 140))
        memory.recall("anything")
    shutil.copy(copy, path)
    with opened(path) as memory:
        found = answers(memory)
        assert len(memory.passages()) == 60
    assert found == rebuilt(path)


def test_what_is_forgotten_leaves_the_snapshots_at_once(path):
    with opened(path) as memory:
        assert "Maja17" in str(answers(memory))
        receipt = memory.forget(passage=id_of("Maja17", memory))
        assert receipt.forgotten
        assert not receipt.deferred
        assert files(path) == []
        assert "Maja17" not in str(answers(memory))
        found = answers(memory)
    assert found == rebuilt(path)


def test_a_forgotten_passage_does_not_come_back_with_the_next_snapshot(path):
    with opened(path) as memory:
        memory.recall("anything")
        memory.forget(passage=id_of("Maja17", memory))
        told(memory, range(60, 140))
        memory.recall("anything")
    assert loads(path)
    with opened(path) as memory:
        assert "Maja17" not in str(answers(memory))


def test_nothing_of_what_is_forgotten_is_in_the_next_snapshot(path):
    def saved() -> bytes:
        return b"".join(one.read_bytes() for one in files(path))

    with opened(path) as memory:
        memory.remember("Zacharias: the password is Tannenzapfen.", speaker="Zacharias")
        told(memory, range(60, 140))
        memory.recall("anything")
    key = key64("tannenzapfen").to_bytes(8, "little")
    assert b"Zacharias" in saved()
    assert key in saved()
    with opened(path) as memory:
        memory.forget(passage=id_of("Zacharias:", memory))
        told(memory, range(140, 220))
        memory.recall("anything")
        found = answers(memory)
    assert b"Maja" not in saved()  # no words at all
    assert b"Zacharias" not in saved()
    assert key not in saved()
    assert loads(path)
    assert found == rebuilt(path)


def test_scopes_that_are_not_used_are_closed_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr("graphmem.indexes.MOST_OPEN", 3)
    with opened(tmp_path / "m.db") as memory:
        for user in range(8):
            memory.remember(f"Maja{user} lives in Lisbon{user} by the harbour.", scope=f"u{user}")
        assert memory.drain(60) == 0
        for _ in range(2):
            for user in range(8):
                (first, *others) = memory.recall("Who lives by the harbour?", scope=f"u{user}")
                assert first.passage.text.startswith(f"Maja{user} ")
                assert not others
                assert len(memory._indexes._open) <= 3


def test_a_store_in_memory_saves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with GraphMemory.open(
        "sqlite://", scope=OWNER, embed_model=HashEmbedder(), extractor=Cities()
    ) as memory:
        told(memory, range(60))
        assert answers(memory)
    assert list(tmp_path.iterdir()) == []


# --- news that the thread is about to learn -----------------------------------------------------


class Clock:
    """A monotonic clock that stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(indexes_module, "time", clock)
    return clock


def test_without_news_nobody_waits(clock):
    news = _News()
    assert news.wait() == 0
    assert not news.is_awaited


def test_news_are_learnt_when_they_have_paused(clock):
    news = _News()
    news.come()
    assert news.wait() == pytest.approx(PAUSE_SECONDS)
    clock.now += PAUSE_SECONDS / 2
    assert news.wait() == pytest.approx(PAUSE_SECONDS / 2)
    news.come()
    assert news.wait() == pytest.approx(PAUSE_SECONDS), "counted from the last"
    clock.now += PAUSE_SECONDS + 0.001
    assert news.wait() == 0
    assert news.is_awaited, "it is time, but nobody has learnt it yet"


def test_news_without_a_pause_are_learnt_all_the_same(clock):
    news, first, step = _News(), clock.now, PAUSE_SECONDS / 3
    waits = []
    while clock.now < first + LATEST_SECONDS + step:
        news.come()
        waits.append(news.wait())
        assert clock.now + news.wait() <= max(clock.now, first + LATEST_SECONDS + 1e-9)
        clock.now += step
    assert waits[0] == pytest.approx(PAUSE_SECONDS)
    assert waits[-1] == 0


def test_news_that_nobody_learns_are_awaited_no_longer(clock):
    news = _News()
    news.come()
    clock.now += LATEST_SECONDS
    assert news.is_awaited
    clock.now += PAUSE_SECONDS
    assert not news.is_awaited
    assert news.wait() == 0


@pytest.fixture
def slow_news(monkeypatch):
    """News are awaited for as long as a test takes."""
    monkeypatch.setattr(indexes_module, "PAUSE_SECONDS", 3600.0)
    monkeypatch.setattr(indexes_module, "LATEST_SECONDS", 3600.0)


def with_news(memory: GraphMemory) -> None:
    """Something new of another scope is awaited."""
    memory.recall("tea", scope="bob")
    for number in range(20):
        memory.remember(f"Bob likes tea {number}.", scope="bob")
        if memory._indexes._news.is_awaited:  # else the thread was just looking
            return
    raise AssertionError("no news are awaited")


def recalled(memory: GraphMemory) -> list[str]:
    """All that an index knows; what has no vector yet comes late."""
    return [one.passage.text for one in memory.recall("Who lives in Quito?", top_k=100)]


def test_what_a_memory_is_told_of_a_scope_that_is_closed_is_recalled_at_once(path, slow_news):
    """Though its snapshot does not know it, and the thread is about to learn other news."""
    with opened(path) as memory:
        with_news(memory)
        assert OWNER not in memory._indexes._open
        memory.remember("Zacharias lives in Quito by the pier.")
        assert memory._indexes._news.is_awaited
        texts = recalled(memory)
        assert "Zacharias lives in Quito by the pier." in texts
        assert len(texts) == 61, "and what the snapshot knows"


def test_what_a_memory_is_told_of_an_open_scope_is_recalled_at_once(path, slow_news):
    with opened(path) as memory:
        memory.recall("anything")
        with_news(memory)
        memory.remember("Zacharias lives in Quito by the pier.")
        assert "Zacharias lives in Quito by the pier." in recalled(memory)


def test_others_move_up_where_another_memory_has_forgotten_the_best(path, slow_news):
    question = "Where does Maja4 live? Lisbon4"

    def best(memory: GraphMemory) -> list[str]:
        return [one.passage.id for one in memory.recall(question, top_k=5)]

    with opened(path) as memory, opened(path) as other:
        memory.recall("anything")
        with_news(memory)
        gone = best(memory)
        assert len(set(gone)) == 5
        assert best(memory) == gone, "without a forget they come again"
        for one in gone:
            other.forget(passage=one)
        index = memory._indexes.current(OWNER)
        assert (index.passages.ids.find(gone) >= 0).all(), "the index does not know of it yet"
        left = best(memory)
        assert len(set(left)) == 5
        assert not set(left) & set(gone)
        assert left == best(other)

"""The queue behind remember: failures, retries, and what a broken extractor may not do."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import open_memory
from graphmem import Extraction, GraphMemory, Message, Passage, Triple
from graphmem.salvage import PROBES
from graphmem.testing import HashEmbedder, ScriptedExtractor


def threads() -> list[str]:
    prefixes = ("graphmem-extract", "graphmem-embed")
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(prefixes)]


def test_a_failing_extractor_loses_nothing_and_is_tried_again(tmp_path: Path) -> None:
    is_down = True

    def read(passage: Passage) -> list[Triple]:
        if is_down:
            raise ConnectionError("model is down")
        return [Triple("Ana", "drinks", "tea")]

    with open_memory(tmp_path / "m.db", extractor=ScriptedExtractor(read)) as memory:
        memory.remember("I drink tea", speaker="Ana")
        assert memory.drain(10) == 1
        stats = memory.stats()
        assert (stats.pending, stats.failed, stats.facts) == (1, 1, 0)
        assert stats.faults["extraction"] >= 1
        assert "model is down" in stats.last_error
        assert [one.passage.text for one in memory.recall("tea")] == ["I drink tea"]
        is_down = False
        assert memory.drain(10) == 0
        assert memory.stats().facts == 1


def test_one_failed_passage_does_not_hold_up_its_batch(tmp_path: Path) -> None:
    def read(passage: Passage) -> Extraction | list[Triple]:
        if "bad" in passage.text:
            return Extraction(passage.id, error="cannot read this")
        return [Triple("Ana", "owns", "boats")]

    with open_memory(tmp_path / "m.db", extractor=ScriptedExtractor(read)) as memory:
        memory.remember([Message("bad one"), Message("Ana owns boats")])
        assert memory.drain(10) == 1
        assert [fact.object for fact in memory.facts()] == ["boats"]
        assert memory.stats().pending == 1


@pytest.mark.parametrize("poisoned", [1, 4])
def test_passages_that_make_an_extractor_raise_do_not_hold_up_their_batch(
    tmp_path: Path, poisoned: int
) -> None:
    def read(passage: Passage) -> list[Triple]:
        if "poison" in passage.text:
            raise ValueError("cannot read poison")
        return [Triple("Ana", "owns", "boats")]

    lines = [f"poison {number}" for number in range(poisoned)]
    lines += [f"Ana owns boats {number}" for number in range(9)]
    with open_memory(tmp_path / "m.db", extractor=ScriptedExtractor(read)) as memory:
        memory.remember(list(map(Message, lines)))
        for _ in range(6):
            left = memory.drain(10)
        assert left == poisoned
        (fact,) = memory.facts()
        assert len(fact.passages) == 9


def test_a_model_that_is_down_is_not_asked_for_every_passage(tmp_path: Path) -> None:
    def read(passage: Passage) -> list[Triple]:
        raise ConnectionError("model is down")

    extractor = ScriptedExtractor(read)
    with open_memory(tmp_path / "m.db", extractor=extractor) as memory:
        memory.remember([Message(f"line {number}") for number in range(40)])
        assert memory.drain(10) == 40
        # Once or twice: the drain may find the first try under way.
        assert len(extractor.batches) <= 2 * (1 + PROBES)


class PickyEmbedder(HashEmbedder):
    """Cannot take a text that holds the word poison, alone or in a batch."""

    def embed(self, texts: Sequence[str]) -> Any:
        if any("poison" in text for text in texts):
            raise ValueError("cannot embed poison")
        return super().embed(texts)


def test_one_text_that_cannot_be_embedded_does_not_hold_up_the_others(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db", embed_model=PickyEmbedder()) as memory:
        memory.remember([Message("green tea"), Message("poison ivy"), Message("black tea")])
        assert memory.drain(10) == 1
        assert memory.stats().unembedded == 1
        found = memory.recall("ivy")
        assert found.passages[0].passage.text == "poison ivy"
        assert memory.recall("green tea").passages[0].passage.text == "green tea"


def test_a_few_bad_texts_do_not_pass_for_a_model_that_is_down(tmp_path: Path) -> None:
    lines = [f"poison {number}" for number in range(4)] + [f"tea {number}" for number in range(9)]
    with open_memory(tmp_path / "m.db", embed_model=PickyEmbedder()) as memory:
        memory.remember(list(map(Message, lines)))
        for _ in range(6):
            left = memory.drain(10)
        assert left == 4


class GrowingEmbedder(HashEmbedder):
    """Takes one text at a time, and gives some a longer vector."""

    def embed(self, texts: Sequence[str]) -> Any:
        if len(texts) > 1:
            raise ValueError("one at a time")
        size = 9 if "odd" in texts[0] else 8
        return np.ones((1, size)) / size**0.5


def test_a_vector_of_another_size_waits_and_the_others_do_not(tmp_path: Path) -> None:
    embedder = GrowingEmbedder(8)
    with open_memory(tmp_path / "m.db", embed_model=embedder) as memory:
        memory.remember("plain tea", session="s")
        assert memory.drain(10) == 0
        memory.remember([Message("green tea"), Message("odd tea"), Message("black tea")])
        assert memory.drain(10) == 1
        assert "dimensions" in memory.stats().last_error


@pytest.mark.parametrize(
    "error",
    [ValueError("bad \udc9a"), SystemExit(1), KeyboardInterrupt(), StopIteration()],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("where", ["extractor", "embedder"])
def test_whatever_a_model_raises_its_work_is_tried_again(
    tmp_path: Path, error: BaseException, where: str
) -> None:
    faults: list[BaseException] = [error]

    class Embedder(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            if faults and where == "embedder":
                raise faults[0]
            return super().embed(texts)

    def read(passage: Passage) -> list[Triple]:
        if faults and where == "extractor":
            raise faults[0]
        return [Triple("Ana", "drinks", "tea")]

    extractor = ScriptedExtractor(read)
    with open_memory(tmp_path / "m.db", embed_model=Embedder(), extractor=extractor) as memory:
        memory.remember("Ana drinks tea", speaker="Ana")
        assert memory.drain(10) > 0
        said = memory.stats().last_error
        assert type(error).__name__ in said
        assert said.encode()
        faults.clear()
        assert memory.drain(10) == 0
        assert [fact.object for fact in memory.facts()] == ["tea"]
        assert memory.stats().unembedded == 0


@pytest.mark.parametrize("table", ["evidence", "vector"])
def test_what_the_store_refused_to_take_is_tried_again_soon(tmp_path: Path, table: str) -> None:
    path = tmp_path / "m.db"
    with open_memory(path) as memory, closing(sqlite3.connect(path)) as other:
        other.execute(
            f"CREATE TRIGGER refuse BEFORE INSERT ON {table} "
            "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )
        memory.remember("Maja moved to Oslo")
        assert memory.drain(10) > 0
        assert "StoreFull" in memory.stats().last_error
        other.execute("DROP TRIGGER refuse")
        assert memory.drain(10) == 0
        assert len(memory.facts()) == 2
        assert memory.stats().unembedded == 0


def test_work_left_by_a_closed_memory_is_done_by_the_next(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db", extractor=None, workers=0) as memory:
        memory._worker.stop()  # nothing is extracted or embedded any more
        memory.remember("Maja moved to Oslo")
    with open_memory(tmp_path / "m.db") as memory:
        assert memory.drain(10) == 0
        assert len(memory.facts()) == 2


def test_idle_memories_hold_no_threads(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("Maja moved to Oslo")
        memory.drain(10)
        assert threads()
        deadline = time.monotonic() + 10
        while threads() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not threads()
        memory.remember("Tomo moved to Oslo")
        assert memory.drain(10) == 0
        assert len(memory.facts()) == 4


def test_one_flush_is_one_call(tmp_path: Path) -> None:
    extractor = ScriptedExtractor()
    with open_memory(tmp_path / "m.db", extractor=extractor) as memory:
        memory.remember([Message(f"{number} " + "word " * 55) for number in range(40)])
        memory.drain(10)
    assert [len(batch) for batch in extractor.batches] == [40]


def test_an_extractor_never_sees_two_scopes_at_once(tmp_path: Path) -> None:
    extractor = ScriptedExtractor()
    with open_memory(tmp_path / "m.db", extractor=extractor) as memory:
        for number in range(20):
            memory.remember(f"note {number} of ann", scope="ann", session="s")
            memory.remember(f"note {number} of ben", scope="ben", session="s")
        memory.drain(10)
    for batch in extractor.batches:
        owners = {passage.text.split()[-1] for passage in batch}
        owners |= {earlier.text.split()[-1] for passage in batch for earlier in passage.before}
        assert len(owners) == 1


def test_a_drain_waits_for_what_another_memory_works_on(tmp_path: Path) -> None:
    is_reading, may_end = threading.Event(), threading.Event()

    def read(passage: Passage) -> list[Triple]:
        is_reading.set()
        assert may_end.wait(20)
        return [Triple("Ana", "drinks", "tea")]

    with open_memory(tmp_path / "m.db", extractor=ScriptedExtractor(read)) as busy:
        busy.remember("I drink tea")
        assert is_reading.wait(20)
        # Opened only now: it might take the message first.
        with open_memory(tmp_path / "m.db") as other:
            assert other.drain(0.5) == 1  # out of time, the other one still reads
            threading.Timer(0.5, may_end.set).start()
            assert other.drain(20) == 0
            assert len(other.facts()) == 1


def test_a_drain_ends_only_when_nothing_is_left() -> None:
    # What is read becomes what is to be embedded: a look at one, then at the other, sees neither.
    reader = ScriptedExtractor(lambda passage: [Triple("Bob", "is in", "Oslo")])
    for number in range(60):
        with GraphMemory.open("sqlite://", embed_model=HashEmbedder(), extractor=reader) as memory:
            memory.remember([f"Bob is in Oslo, {number} times {n}." for n in range(8)], session="s")
            assert memory.drain(60) == 0
            assert memory.stats().unembedded == 0

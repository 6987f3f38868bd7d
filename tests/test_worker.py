"""The queue behind remember: failures, retries, and what a broken extractor may not do."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from builders import open_memory
from graphmem import Extraction, Message, Passage, Triple
from graphmem.errors import ExtractionError
from graphmem.testing import HashEmbedder, ScriptedExtractor
from graphmem.worker import checked_extractions


def threads() -> list[str]:
    prefixes = ("graphmem-extract", "graphmem-embed")
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(prefixes)]


def test_an_extraction_for_every_passage_in_order() -> None:
    passages = [Passage("p-1", "m-1", "one"), Passage("p-2", "m-2", "two")]
    found = checked_extractions(
        [Extraction("p-2", (Triple("a", "b", "c"),)), Extraction("p-9")], passages
    )
    assert [one.passage_id for one in found] == ["p-1", "p-2"]
    assert "returned nothing" in str(found[0].error)
    assert found[1].triples == (Triple("a", "b", "c"),)


@pytest.mark.parametrize("odd", [None, ..., {"a"}, 3, b"x"])
def test_what_is_no_string_is_dropped_with_a_reason_and_the_rest_stays(odd: Any) -> None:
    good = Triple("Ana", "likes", "tea")
    triples = (Triple("Ana", "likes", odd), good, odd)
    (found,) = checked_extractions([Extraction("p", triples)], [Passage("p", "m", "x")])
    assert found.triples == (good,)
    assert len(found.dropped) == 2
    assert found.error is None


@pytest.mark.parametrize("odd", [None, 5, ["text"], [None]])
def test_what_is_no_extraction_is_an_error(odd: Any) -> None:
    with pytest.raises(ExtractionError, match="one Extraction per passage"):
        checked_extractions(odd, [Passage("p", "m", "x")])


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

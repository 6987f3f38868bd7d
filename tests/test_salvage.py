"""What is saved of a batch that failed as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from graphmem import Extraction, Passage, Triple
from graphmem.errors import EmbeddingError
from graphmem.salvage import PROBES, read, read_alone, vectors
from graphmem.testing import HashEmbedder, ScriptedExtractor

PASSAGES = [Passage(f"p-{number}", "m", f"line {number}") for number in range(12)]


def picky(bad: Iterable[int]) -> ScriptedExtractor:
    """Raises at some of the passages, alone or in a batch."""
    ids = {f"p-{number}" for number in bad}

    def triples(passage: Passage) -> list[Triple]:
        if passage.id in ids:
            raise ValueError(f"cannot read {passage.id}")
        return [Triple("Ana", "owns", passage.id)]

    return ScriptedExtractor(triples)


class Embedder(HashEmbedder):
    """Raises at texts that hold the word poison, and has other dimensions for those with odd."""

    def embed(self, texts: Sequence[str]) -> Any:
        if any("poison" in text for text in texts):
            raise ValueError("cannot embed poison")
        rows = super().embed(texts)
        return rows[:, :-1] if any("odd" in text for text in texts) else rows


def test_not_even_an_exit_ends_the_thread():
    def leave(passage: Passage) -> list[Triple]:
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        read(ScriptedExtractor(leave), PASSAGES)


@pytest.mark.parametrize("turn", range(13))
def test_one_bad_passage_fails_alone_whichever_are_tried_first(turn):
    found = read_alone(picky([5]), PASSAGES, ValueError("whole"), turn=turn)
    assert [one.passage_id for one in found] == [one.id for one in PASSAGES]
    assert [one.passage_id for one in found if one.error] == ["p-5"]
    assert "cannot read p-5" in str(found[5].error)


def test_a_model_that_is_down_is_asked_a_few_times_only():
    extractor = picky(range(12))
    found = read_alone(extractor, PASSAGES, ValueError("whole"), turn=0)
    assert all(one.error for one in found)
    assert len(extractor.batches) == PROBES


def test_what_no_retry_mends_is_not_asked_again():
    class Refused(ValueError):
        is_retryable = False

    extractor = picky([])
    found = read_alone(extractor, PASSAGES, Refused("no key"), turn=0)
    assert found == [
        Extraction(one.id, error="Refused: no key", is_retryable=False) for one in PASSAGES
    ]
    assert not extractor.batches


def test_vectors_of_the_good_texts_and_errors_of_the_bad_ones():
    texts = ["tea", "poison", "an odd one", "tea", "rice"]
    rows, failures = vectors(Embedder(dims=8), texts, turn=0)
    assert rows is not None
    assert sorted(failures) == [1, 2]
    assert isinstance(failures[2], EmbeddingError)
    good = HashEmbedder(dims=8).embed(["tea", "rice"])
    assert np.array_equal(rows[[0, 3, 4]], good[[0, 0, 1]])
    assert not rows[[1, 2]].any()


def test_no_vectors_at_all_where_every_text_fails():
    rows, failures = vectors(Embedder(dims=8), ["poison", "poison"], turn=0)
    assert rows is None
    assert sorted(failures) == [0, 1]

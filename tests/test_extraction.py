"""What an extractor may return, and what becomes of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from graphmem import Extraction, Passage, Triple
from graphmem.errors import ExtractionError
from graphmem.extraction import checked_extractions
from graphmem.faults import MAX_CHARS


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


@pytest.mark.parametrize(
    "odd",
    [
        Extraction("p-1", None),
        Extraction("p-1", 5),
        Extraction("p-1", (), dropped=None),
        Extraction({}, (Triple("a", "b", "c"),)),
    ],
)
def test_one_malformed_extraction_fails_its_own_passage_alone(odd: Any) -> None:
    passages = [Passage("p-1", "m-1", "one"), Passage("p-2", "m-2", "two")]
    good = Extraction("p-2", (Triple("a", "b", "c"),))
    found = checked_extractions([odd, good], passages)
    assert found[0].error
    assert found[1] == good


@pytest.mark.parametrize("odd", [None, 0, "no", (True,)])
def test_a_triple_that_neither_affirms_nor_denies_is_dropped(odd: Any) -> None:
    denied = Triple("Ana", "eats", "meat", polarity=False)
    triples = (Triple("Ana", "eats", "fish", polarity=odd), denied)
    (found,) = checked_extractions([Extraction("p", triples)], [Passage("p", "m", "x")])
    assert found.triples == (denied,)
    assert "polarity" in found.dropped[0]


def test_reasons_can_be_stored_and_shown_whatever_is_in_them() -> None:
    error, reasons = "bad \udc9a " + "x" * 10**6, (5, "\ud83d")
    (found,) = checked_extractions(
        [Extraction("p", error=error, dropped=reasons)], [Passage("p", "m", "x")]
    )
    assert str(found.error).startswith("bad \ufffd xxx")
    assert len(str(found.error)) == MAX_CHARS
    assert found.dropped == ("5", "\ufffd")


@pytest.mark.parametrize("odd", [None, 5, ["text"], [None]])
def test_what_is_no_extraction_is_an_error(odd: Any) -> None:
    with pytest.raises(ExtractionError, match="one Extraction per passage"):
        checked_extractions(odd, [Passage("p", "m", "x")])

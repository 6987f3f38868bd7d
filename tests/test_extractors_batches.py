from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.errors import ExtractionError
from graphmem.extractors.batches import (
    EXTRA_CALLS,
    MAX_REASONS,
    Answer,
    PromptTooLong,
    extract,
    is_too_long,
    split,
)
from graphmem.extractors.prompts import EXAMPLE, SYSTEM, Prompt, estimated_tokens
from graphmem.types import Extraction, Passage, Triple
from model_server import reply_to, shown_in

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def chat(*texts: str, speaker: str = "Zoe", said_at: datetime | None = NOON) -> list[Passage]:
    passages: list[Passage] = []
    for number, text in enumerate(texts):
        before = tuple(passages[-8:])
        passage = Passage(
            f"p{number}", f"m{number}", text, speaker=speaker, said_at=said_at, before=before
        )
        passages.append(passage)
    return passages


class Model:
    """Answers with a function of the texts that it is shown, and keeps them."""

    def __init__(self, answer: Callable[[list[str]], str | Answer]) -> None:
        self.batches: list[list[str]] = []
        self._answer = answer

    def __call__(self, system: str, user: str) -> Answer:
        assert system == SYSTEM
        self.batches.append([line["text"] for line in shown_in(user) if "label" in line])
        answer = self._answer(self.batches[-1])
        return Answer(answer) if isinstance(answer, str) else answer


def run(passages: Sequence[Passage], model: Model, *, batch_tokens: int = 4000) -> list[Extraction]:
    found = extract(passages, prompt=Prompt(), ask=model, batch_tokens=batch_tokens)
    assert [each.passage_id for each in found] == [passage.id for passage in passages]
    return found


def replying(*items: object) -> Model:
    return Model(lambda _: json.dumps({"triples": items}))


def item(
    source: object, subject: str = "Ann", object_: str = "Oslo", **more: object
) -> dict[str, object]:
    return {
        "source": source,
        "subject": subject,
        "predicate": "lives in",
        "object": object_,
        **more,
    }


def sound(texts: Sequence[str]) -> str:
    """The whole reply of a sound model that reads "X lives in Y"."""
    lines = [json.dumps({"label": f"m{n}", "text": text}) for n, text in enumerate(texts, 1)]
    return reply_to("\n".join(lines))


LIVES = [f"N{n} lives in Place" for n in "abcdefghijkl"]


def names(found: Sequence[Extraction]) -> list[str]:
    return [triple.subject for each in found for triple in each.triples]


def test_one_call_reads_a_flush() -> None:
    model = Model(sound)
    found = run(chat(*[f"{text}. {'word ' * 55}" for text in LIVES]), model)
    assert len(model.batches) == 1
    assert names(found) == [text.split()[0] for text in LIVES]


def test_nothing_to_read_makes_no_call() -> None:
    model = Model(sound)
    assert run([], model) == []
    assert run(chat("", " \n"), model) == [Extraction("p0"), Extraction("p1")]
    assert model.batches == []


def test_larger_batches_are_split_into_about_equal_calls() -> None:
    model = Model(sound)
    found = run(chat(*[f"{text}. {'word ' * 50}" for text in LIVES]), model, batch_tokens=400)
    assert [len(batch) for batch in model.batches] == [4, 4, 4]
    assert names(found) == [text.split()[0] for text in LIVES]


@given(st.lists(st.integers(1, 900), max_size=30), st.integers(50, 400))
def test_splitting_keeps_order_and_limit(sizes: list[int], limit: int) -> None:
    passages = chat(*("x" * size for size in sizes))
    batches = split(passages, limit)
    assert [passage for batch in batches for passage in batch] == passages
    for batch in batches:
        assert batch
        assert len(batch) == 1 or sum(estimated_tokens([p]) for p in batch) <= limit
    if sum(estimated_tokens([passage]) for passage in passages) <= limit:
        assert len(batches) <= 1


@pytest.mark.parametrize("label", ["m2", "M2", " [m2] ", "2", 2, "message 2", "m2:", ["m1", "m2"],
                                   "m1, m2", "m02", "(m2)", "#2"])  # fmt: skip
def test_labels_are_understood_in_many_spellings(label: object) -> None:
    found = run(chat("Hello", "Ann lives in Oslo"), replying(item(label)))
    assert [len(each.triples) for each in found] == [0, 1]


@pytest.mark.parametrize("label", ["m3", "x1", "m0", "Ann", "c7"])
def test_an_unknown_label_is_dropped_with_its_reason(label: str) -> None:
    found = run(chat("Ann lives in Oslo", "Hi"), replying(item(label), item("m1", "Bo")))
    assert names(found) == ["Bo"]
    assert label in found[0].dropped[0]


def test_a_reply_that_names_no_message_at_all_was_not_read() -> None:
    found = run(chat("Ann lives in Oslo", "Hi"), replying(item("A"), item("B")))
    assert all("unknown label" in (each.error or "") for each in found)
    assert all(each.is_retryable for each in found)


def test_a_missing_label_means_the_only_passage() -> None:
    assert names(run(chat("She lives there"), replying(item(None)))) == ["Ann"]


def test_a_missing_label_means_the_only_passage_that_states_it() -> None:
    texts = ("Hi", "ann lives in OSLO", "Bye")
    assert [len(each.triples) for each in run(chat(*texts), replying(item(None)))] == [0, 1, 0]
    twice = run(chat("Ann: Oslo", "Ann, Oslo"), replying(item(None), item("m1", "Bo")))
    assert names(twice) == ["Bo"]
    assert "no label" in twice[0].dropped[0]


def test_nothing_is_taken_from_the_context() -> None:
    passages = chat("Ann lives in Oslo", "She likes it")[1:]
    found = run(passages, replying(item("c1")))
    assert found[0].triples == ()
    assert found[0].error is None
    assert "context" in found[0].dropped[0]
    assert names(run(passages, replying(item("m1")))) == ["Ann"]


def test_an_echo_of_the_example_is_no_fact() -> None:
    echo = [item("m1", t.subject, t.object) for _, t in EXAMPLE]
    found = run(chat("Ann lives in Oslo"), replying(*echo, item("m1")))
    assert names(found) == ["Ann"]
    assert len(found[0].dropped) == len({(t.subject, t.object) for _, t in EXAMPLE})
    only_echo = run(chat("Ann lives in Oslo"), replying(*echo))
    assert (only_echo[0].triples, only_echo[0].error) == ((), None)


def test_the_example_said_in_earnest_is_a_fact() -> None:
    triple = EXAMPLE[0][1]
    found = run(
        chat(f"{triple.subject} left {triple.object}"),
        replying(item("m1", triple.subject, triple.object)),
    )
    assert names(found) == [triple.subject]


def test_the_first_person_is_the_speaker() -> None:
    found = run(chat("I live in Oslo"), replying(item("m1", "I"), item("m1", "Ann", "me")))
    assert [(t.subject, t.object) for t in found[0].triples] == [("Zoe", "Oslo"), ("Ann", "Zoe")]


@pytest.mark.parametrize(
    ("speaker", "claimant"),
    [("Zoe", None), ("zoe", None), ("user", None), (None, None), ("Bo", "Bo")],
)
def test_who_claims_it_is_kept_where_it_is_not_the_speaker(
    speaker: str | None, claimant: str | None
) -> None:
    found = run(chat("Ann lives in Oslo"), replying(item("m1", speaker=speaker)))
    assert found[0].triples[0].speaker == claimant


@pytest.mark.parametrize(
    ("text", "said_at", "kept"),
    [("since last year", None, False), ("since 2023", None, True), ("since last year", NOON, True)],
)
def test_a_date_that_nothing_can_vouch_for_is_unknown(
    text: str, said_at: datetime | None, kept: bool
) -> None:
    passages = chat(f"Ann lives in Oslo {text}", said_at=said_at)
    found = run(passages, replying(item("m1", valid_from="2023-05")))
    assert found[0].triples == (
        Triple("Ann", "lives in", "Oslo", valid_from="2023-05" if kept else None),
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [("Ann lives in Oslo", False), ("Ann lives in Oslo as of today", True),
     ("今日からオスロ", True), ("Since 1 March 2026 in Oslo", True)],
)  # fmt: skip
def test_a_messages_own_date_is_no_date_of_the_fact(text: str, kept: bool) -> None:
    found = run(chat(text), replying(item("m1", valid_from="2026-03-01", valid_to="2026-03-02")))
    (triple,) = found[0].triples
    assert triple.valid_from == ("2026-03-01" if kept else None)
    assert triple.valid_to == "2026-03-02"


@pytest.mark.parametrize(
    ("written", "predicate", "polarity"),
    [("doesn't eat", "eat", False), ("does not eat", "eat", False), ("never liked", "liked", False),
     ("is not", "is", False), ("isn't from", "is from", False), ("is never at", "is at", False),
     ("cannot stand", "cannot stand", True), ("is notary of", "is notary of", True),
     ("eats", "eats", True), ("never", "never", True), ("do", "do", True)],
)  # fmt: skip
def test_a_denial_in_the_predicate_is_a_polarity(
    written: str, predicate: str, polarity: bool
) -> None:
    found = run(chat("Ann, Oslo"), replying(item("m1", predicate=written)))
    assert found[0].triples == (Triple("Ann", predicate, "Oslo", polarity),)


def test_equal_triples_of_one_passage_are_one() -> None:
    found = run(chat("I live in Oslo"), replying(item("m1", "I"), item("m1", "Zoe")))
    assert names(found) == ["Zoe"]


def test_reasons_are_bounded() -> None:
    found = run(
        chat("Ann lives in Oslo"), replying(item("m1"), *[["a", str(n)] for n in range(99)])
    )
    assert len(found[0].dropped) == MAX_REASONS


@pytest.mark.parametrize("room", range(290, 1000, 90))
def test_a_cut_reply_is_finished_by_smaller_calls(room: int) -> None:
    def short_of_breath(texts: list[str]) -> Answer:
        whole = sound(texts)
        return Answer(whole[:room], is_cut=len(whole) > room)

    model = Model(short_of_breath)
    found = run(chat(*LIVES), model)
    assert names(found) == [text.split()[0] for text in LIVES]
    assert not any(each.error or each.dropped for each in found)
    assert len(model.batches) <= EXTRA_CALLS + 1


def test_a_cut_reply_for_one_passage_keeps_what_is_complete() -> None:
    whole = json.dumps({"triples": [item("m1", name) for name in ("Ann", "Bo", "Cy")]})
    found = run(chat("long"), Model(lambda _: Answer(whole[:-40], is_cut=True)))
    assert names(found) == ["Ann", "Bo"]
    assert found[0].error is None
    assert "cut" in found[0].dropped[-1]


def test_a_cut_empty_reply_is_a_failure() -> None:
    found = run(chat("long"), Model(lambda _: Answer("", is_cut=True)))
    assert found[0].error
    assert found[0].is_retryable


@pytest.mark.parametrize("poisoned", range(len(LIVES)))
def test_a_poisoned_message_does_not_keep_the_others_from_being_read(poisoned: int) -> None:
    texts = [*LIVES]
    texts[poisoned] = "POISON"
    model = Model(lambda shown: "I cannot." if "POISON" in shown else sound(shown))
    found = run(chat(*texts), model)
    assert [bool(each.error) for each in found] == [text == "POISON" for text in texts]
    assert found[poisoned].is_retryable
    assert len(names(found)) == len(LIVES) - 1


def test_a_model_that_talks_nonsense_costs_a_fixed_number_of_calls() -> None:
    model = Model(lambda _: "Sure, no problem!")
    found = run(chat(*(f"text {n}" for n in range(200))), model)
    assert all(each.error and each.is_retryable for each in found)
    assert len(model.batches) == EXTRA_CALLS + 1


def test_a_refusal_is_narrowed_down_and_final() -> None:
    def answer(shown: list[str]) -> Answer:
        return Answer("", refusal="no") if "BAD" in shown else Answer(sound(shown))

    found = run(chat(*LIVES[:3], "BAD"), Model(answer))
    assert [each.error is None for each in found] == [True, True, True, False]
    assert "refused" in (found[3].error or "")
    assert not found[3].is_retryable


def test_a_prompt_that_is_too_long_is_halved() -> None:
    def answer(shown: list[str]) -> str:
        if len(shown) > 3:
            raise PromptTooLong("4096 tokens at most")
        if "HUGE" in shown:
            raise PromptTooLong("4096 tokens at most")
        return sound(shown)

    found = run(chat(*LIVES[:7], "HUGE"), Model(answer))
    assert len(names(found)) == 7
    assert "4096" in (found[7].error or "")
    assert not found[7].is_retryable


@pytest.mark.parametrize("is_retryable", [True, False])
def test_an_error_fails_what_is_unread_and_asks_no_more(is_retryable: bool) -> None:
    def answer(shown: list[str]) -> str:
        if "N" in shown[0] and len(model.batches) == 3:
            raise ExtractionError("down", is_retryable=is_retryable)
        return sound(shown)

    model = Model(answer)
    found = run(chat(*LIVES[:5]), model, batch_tokens=estimated_tokens(chat(LIVES[0])))
    assert len(model.batches) == 3
    assert [each.error for each in found] == [None, None, "down", "down", "down"]
    assert [each.is_retryable for each in found[2:]] == [is_retryable] * 3


def test_only_errors_about_length_are_taken_for_such() -> None:
    assert is_too_long("This model's maximum context length is 8192 tokens")
    assert is_too_long("the request exceeds the available context size")
    assert not is_too_long("invalid value for response_format")

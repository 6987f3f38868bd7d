"""What is admitted as a memory, and how a message is cut into passages."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.context import HEADER
from graphmem.errors import InvalidInput
from graphmem.identity import content_id
from graphmem.passages import MAX_DOCUMENT_CHARS, MAX_PASSAGE_CHARS, admit, build, spans
from graphmem.types import Message

NOON = datetime(2025, 3, 8, 12, tzinfo=timezone.utc)


def admitted(text, role="user", **fields):
    message, reason = admit(Message(text, role=role, **fields), "ana")
    assert reason == ""
    return message


def refused(text, role="user"):
    _, reason = admit(Message(text, role=role), "ana")
    return reason


# --- spans


@given(
    st.text(alphabet="ab .!?\n\u3002\u0301\u4eac", max_size=600),
    st.integers(min_value=1, max_value=120),
)
def test_spans_cover_the_text_without_gaps_and_within_the_limit(text, limit):
    found = spans(text, limit)
    assert "".join(text[start:end] for start, end in found) == text
    assert all(0 < end - start <= limit for start, end in found)
    assert len(text) > limit or len(found) <= 1


@pytest.mark.parametrize(
    "sentence",
    [
        "The harbour was quiet before the first boat came in. ",
        "Kaut\u00e1 m\u00e1 r\u00e1da dlouh\u00e9 v\u011bty s mnoha slovy! ",
        "\u6e2f\u306f\u6700\u521d\u306e\u8239\u304c\u6765\u308b\u524d\u306f\u9759\u304b\u3060\u3063\u305f\u3002",
        "\u0628\u0646\u062f\u0631 \u0622\u0631\u0627\u0645 \u0628\u0648\u062f\u061f ",
        "\u092c\u0902\u0926\u0930\u0917\u093e\u0939 \u0936\u093e\u0902\u0924 \u0925\u093e\u0964 ",
    ],
)
def test_a_long_text_is_cut_between_sentences(sentence):
    text = sentence * (3 * MAX_PASSAGE_CHARS // len(sentence))
    found = spans(text)
    assert len(found) > 2
    assert all(text[start:end].endswith(sentence) for start, end in found)


def test_paragraphs_are_kept_whole():
    paragraph = "word " * 299 + "word."
    text = "\n\n".join([paragraph] * 4)
    assert [text[start:end].strip() for start, end in spans(text)] == [paragraph] * 4


def test_small_paragraphs_share_a_part_and_no_heading_stands_alone():
    text = "Chapter one\n\n" + "x. " * 500 + "\n\n" + "\n\n".join(["A short paragraph."] * 100)
    parts = [text[start:end] for start, end in spans(text)]
    assert parts[0].startswith("Chapter one\n\nx. x.")
    assert parts[1].count("A short paragraph.") > 10


def test_decimals_are_no_sentence_ends():
    text = ("It is 3.14159 and not 2.71828 " * 100).strip()
    assert all(not text[:end].endswith(".") for _, end in spans(text))


def test_a_word_without_end_is_cut_but_not_before_its_accent():
    text = "e\u0301" * 3_000
    found = spans(text)
    assert len(found) > 2
    assert all(text[start] == "e" for start, _ in found)


def test_an_emoji_text_and_white_space_alone_are_covered():
    assert spans("") == []
    assert spans("   ") == [(0, 3)]
    assert (
        "".join(("\U0001f600" * 9_000)[a:b] for a, b in spans("\U0001f600" * 9_000))
        == "\U0001f600" * 9_000
    )


def test_spans_refuse_a_limit_below_one():
    with pytest.raises(InvalidInput, match="at least 1"):
        spans("text", 0)


# --- build


def test_a_chat_message_is_one_passage_in_its_session():
    message = admitted("I moved to Lyon.", speaker="Priya", said_at=NOON, metadata={"k": [1]})
    (passage,) = build(message, "s1")
    assert passage.message_id == content_id("m", "s1", "user", "Priya", "", "I moved to Lyon.")
    assert passage.id == content_id("p", passage.message_id, "0")
    assert (passage.text, passage.speaker, passage.session) == ("I moved to Lyon.", "Priya", "s1")
    assert (passage.thread, passage.said_at, passage.part) == ("s1", NOON, 0)
    assert passage.metadata == {"k": [1]}


def test_ids_follow_content_and_session_not_time():
    message = admitted("I moved to Lyon.")
    (one,), (again,), (elsewhere,) = (
        build(message, "s1"),
        build(replace(message, said_at=NOON), "s1"),
        build(message, "s2"),
    )
    assert one.id == again.id
    assert one.id != elsewhere.id
    assert build(replace(message, speaker="Bo"), "s1")[0].id != one.id


def test_threads():
    document = admitted("A text.", role="document", title="Title")
    (lone,) = build(admitted("A text."), None)
    (paper,) = build(document, "s1")
    assert lone.thread == lone.message_id
    assert lone.session == ""
    assert paper.thread == paper.message_id
    assert build(admitted("A text."), "")[0].thread == ""


def test_a_long_message_becomes_parts_that_keep_its_id_and_order():
    text = "One more thing happened on the way to the harbour. " * 200
    parts = build(admitted(text), "s1")
    assert len(parts) > 5
    assert len({part.message_id for part in parts}) == 1
    assert len({part.id for part in parts}) == len(parts)
    assert [part.part for part in parts] == list(range(len(parts)))
    assert "".join(part.text for part in parts) == text.strip()


def test_a_document_stays_whole_for_longer_than_a_chat_message():
    text = "A sentence of a paper. " * 150
    assert MAX_PASSAGE_CHARS < len(text) < MAX_DOCUMENT_CHARS
    (document,) = build(admitted(text, role="document", title="Paper"), None)
    assert (document.title, document.speaker) == ("Paper", "")
    assert len(build(admitted(text), None)) > 1


def test_parts_of_white_space_are_left_out():
    text = "a" + "\n" * 5_000 + "b"
    parts = build(admitted(text), "s1")
    assert [part.text.strip() for part in parts] == ["a", "b"]


def test_a_huge_message_is_quick():
    text = "x" * 200_000
    assert sum(len(part.text) for part in build(admitted(text), "s1")) == 200_000


# --- admit: who speaks


def test_the_speaker_defaults_to_the_user_and_the_assistant():
    assert admitted("Hi").speaker == "ana"
    assert admitted("Hi", speaker="  ").speaker == "ana"
    assert admitted("Hi", role="assistant").speaker == "assistant"
    assert admitted("Hi", role="assistant", speaker="Max").speaker == "Max"
    assert admitted("Hi", speaker=" Bo \n Lee ").speaker == "Bo Lee"
    assert admitted("Hi", role="document").speaker is None


# --- admit: what is no memory


def test_system_prompts_tool_outputs_and_nothing_are_refused():
    assert "system" in refused("You are a helpful assistant.", "system")
    assert "tool" in refused('{"result": 3}', "tool")
    for empty in ("", "  \n", "\u200b\ufeff"):
        assert refused(empty) == "empty text"
    assert refused("\U0001f44d") == ""


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("<think>Who is she?</think>\nShe lives in Lyon.", "She lives in Lyon."),
        ("<thinking>a\nb</thinking>She lives<think>x</think> in Lyon.", "She lives in Lyon."),
        ("Let me see.\n</think>\n\nShe lives in Lyon.", "She lives in Lyon."),
        ("She lives in Lyon.\n<think>But", "She lives in Lyon.\n<think>But"),
        (
            "The tags `<think>` and `</think>` hide text.",
            "The tags `<think>` and `</think>` hide text.",
        ),
        ("Close it with </think> at the end.", "Close it with </think> at the end."),
        (
            "Thought: I can answer without using any more tools.\nAnswer: She lives in Lyon.",
            "She lives in Lyon.",
        ),
        (
            "Thought: look it up\nAction: search\nAction Input: {}\nObservation: Answer: 3\n"
            "Thought: done\nAnswer: She lives\nin Lyon.",
            "She lives\nin Lyon.",
        ),
        ("Answer: 42", "Answer: 42"),
        ("Thought: nice idea, that boat.", "Thought: nice idea, that boat."),
    ],
)
def test_the_assistants_thinking_and_traces_go(said, kept):
    assert admitted(said, role="assistant").text == kept


@pytest.mark.parametrize(
    "said",
    [
        "<think>only this</think>",
        "<think>cut off",
        "Thought: I need a tool.\nAction: search\nAction Input: {}",
    ],
)
def test_thinking_alone_is_refused(said):
    assert "thinking" in refused(said, "assistant")
    assert refused(said, "user") == ""


def test_recalled_notes_that_come_back_are_removed():
    notes = f'{HEADER}\n- "Ana lives in Lyon"\n- 2025-03-08 Ana: "I moved."'
    envelope = f"<memory>\n<graph>\n{notes}\n</graph>\n</memory>"
    assert admitted(f"{envelope}\nWhere do I live?").text == "Where do I live?"
    assert admitted(f"You said:\n{notes}\nThanks!").text == "You said:\n\nThanks!"
    assert "recalled" in refused(envelope)
    assert admitted(envelope, role="document").text == envelope


def test_talk_about_memory_tags_stays():
    for text in ("Put it in <memory> please.", "<memory>8 GB</memory>", "a </memory> b"):
        assert admitted(text).text == text


@pytest.mark.parametrize("tag", ["<think>", "</think>", "<memory><a>", "Thought:\n", "\n"])
def test_runs_of_tags_take_no_time(tag):
    admit(Message(tag * 30_000, role="assistant"), "ana")


# --- admit: damage and wrong types


def test_damaged_text_is_mended_everywhere():
    message = admitted(
        "bad \udc9a\x00", speaker="B\ud83d", metadata={"k\udc9a": ["\ud83d\ude00", {"x": "\x00"}]}
    )
    assert message.text == "bad \ufffd\ufffd"
    assert message.speaker == "B\ufffd"
    assert message.metadata == {"k\ufffd": ["\U0001f600", {"x": "\ufffd"}]}


def test_metadata_is_copied():
    given = {"tags": ["a"]}
    message = admitted("Hi", metadata=given)
    given["tags"].append("b")
    assert message.metadata == {"tags": ["a"]}


LOOP: dict[str, object] = {}
LOOP["self"] = LOOP


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"text": None}, "Message.text must be a string"),
        ({"text": b"x"}, "not bytes"),
        ({"text": "x", "role": "bot"}, "use one of user"),
        ({"text": "x", "role": ["user"]}, "use one of user"),
        ({"text": "x", "speaker": 3}, "Message.speaker"),
        ({"text": "x", "title": 3, "role": "document"}, "Message.title"),
        ({"text": "x", "said_at": datetime(2025, 3, 8)}, "tzinfo=timezone.utc"),
        ({"text": "x", "said_at": "2025-03-08"}, "must be a datetime"),
        ({"text": "x", "metadata": [1]}, "must be a mapping"),
        ({"text": "x", "metadata": {"k": {1, 2}}}, "JSON"),
        ({"text": "x", "metadata": {"k": float("nan")}}, "JSON"),
        ({"text": "x", "metadata": LOOP}, "JSON"),
        ({"text": "x", "title": "T"}, "role='document'"),
        ({"text": "x", "role": "document", "speaker": "Bo"}, "not a speaker"),
    ],
)
def test_wrong_values_are_refused_with_the_way_out(fields, hint):
    with pytest.raises(InvalidInput, match=hint):
        admit(Message(**fields), "ana")


def test_what_is_no_message_is_refused():
    with pytest.raises(InvalidInput, match="not str"):
        admit("Hi", "ana")


@given(st.text(st.characters(), max_size=60), st.sampled_from(["user", "assistant", "document"]))
def test_admitting_twice_changes_nothing(text, role):
    message, reason = admit(Message(text, role=role), "ana")
    if not reason:
        assert admit(message, "ana") == (message, "")

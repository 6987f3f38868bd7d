import io
import re
from datetime import timedelta

import pytest
from rich.cells import cell_len
from rich.console import Console

from graphmem import GraphMemory, GraphMemoryBlock, demo
from graphmem.errors import InvalidInput
from graphmem.extractors.rules import RulesExtractor
from graphmem.testing import HashEmbedder, ScriptedExtractor

CONVERSATION = demo.load()


@pytest.fixture(scope="module")
def rules():
    return RulesExtractor()


@pytest.fixture(scope="module")
def kept(tmp_path_factory, rules):
    """The demo, run once with the bundled model and the rules: its store, text and answers."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('demo') / 'demo.db'}"
    text, answers = played(uri=uri, extractor=rules)
    return uri, text, answers


def played(width=80, **options):
    out = io.StringIO()
    answers = demo.run(Console(file=out, width=width, highlight=False, markup=False), **options)
    return out.getvalue(), answers


def test_the_conversation_is_long_and_in_order():
    lines = CONVERSATION.lines
    assert len(CONVERSATION.sessions) >= 6
    assert sum(line.role == "user" for line in lines) >= 32
    assert len(lines) >= 64
    assert {line.role for line in lines} == {"user", "assistant"}
    assert len({line.text for line in lines}) == len(lines)
    times = [line.said_at for line in lines]
    assert times == sorted(times)
    assert times[-1] - times[0] > timedelta(days=90)
    assert all(time.utcoffset() is not None for time in times)


def test_speakers_take_turns_and_the_user_begins():
    for session in CONVERSATION.sessions:
        roles = [line.role for line in session.lines]
        assert roles == ["user", "assistant"] * (len(roles) // 2)


def test_questions_need_as_many_conversations_as_they_say():
    session_of = {
        line.key: session.id
        for session in CONVERSATION.sessions
        for line in session.lines
        if line.key
    }
    assert {question.hops for question in CONVERSATION.questions} == {0, 1, 2, 3}
    for question in CONVERSATION.questions:
        assert len(question.gold) == question.hops
        assert len({session_of[key] for key in question.gold}) == question.hops


def test_no_question_repeats_what_was_said():
    said = {word for line in CONVERSATION.lines for word in [line.text]}
    assert all(question.text not in said for question in CONVERSATION.questions)


def test_the_demo_recalls_what_its_questions_need(kept):
    _, _, answers = kept
    shares = {hops: [] for hops in (1, 2, 3)}
    for answer in answers:
        if answer.question.hops:
            shares[answer.question.hops].append(answer.share)
    means = {hops: sum(found) / len(found) for hops, found in shares.items()}
    assert means[1] == 1.0
    assert means[2] >= 0.8
    assert means[3] >= 0.75


def test_the_present_address_comes_before_the_outdated_one(kept):
    _, _, answers = kept
    (answer,) = [answer for answer in answers if "Aunt Vera" in answer.question.text]
    texts = [ranked.passage.text for ranked in answer.recall]
    places = [text for text in texts if "Aunt Vera lives in" in text]
    assert "Tavistock" in places[0]
    assert "Truro now" in places[1]


def test_the_text_shows_every_question_and_how_it_was_answered(kept):
    _, text, answers = kept
    for answer in answers:
        assert answer.question.text in text
    assert text.count("graph route") == len(answers)
    assert text.count("✓") == sum(
        ranked.passage.id in answer.gold for answer in answers for ranked in answer.recall
    )
    assert text.count("facts on the way") == len(answers)
    assert re.search(r"✓ \d\.\d{3} 2025-02-19 Nell Kit, what a night\.", text)
    assert "Nobody said. These are the nearest passages, no answer." in text


def test_the_text_ends_with_the_counts(kept):
    uri, text, _ = kept
    counts = dict(
        re.findall(r"^([a-z ,]+?)  +(\S.*)$", text.split("what the memory holds")[1], re.M)
    )
    with GraphMemory.open(uri) as memory:
        stats = memory.stats("Nell")
    assert counts["messages"] == counts["passages"] == str(len(CONVERSATION.lines))
    assert counts["facts"] == str(stats.facts)
    assert counts["entities"] == str(stats.entities)
    assert counts["pending"] == "0"
    assert counts["model calls"] == "0"
    assert counts["model tokens"] == "0 read, 0 written"
    assert counts["recalled, one hop"].startswith("2 of 2 ")


def test_piped_text_is_plain_and_fits(kept):
    _, text, _ = kept
    assert "\x1b" not in text
    assert "\r" not in text
    assert max(map(cell_len, text.splitlines())) <= 80
    assert all(line == line.rstrip() for line in text.splitlines())


def test_playing_again_on_the_kept_store_changes_nothing(kept, rules):
    uri, text, _ = kept
    again, _ = played(uri=uri, extractor=rules)
    assert again.split("what the memory holds")[1] == text.split("what the memory holds")[1]


def test_who_said_it_and_when_is_kept(kept):
    uri, _, _ = kept
    with GraphMemory.open(uri, extractor=ScriptedExtractor()) as memory:
        stored = sorted(memory.passages("Nell"), key=lambda passage: passage.said_at)
        assert memory.passages() == []
    lines = CONVERSATION.lines
    names = {"user": "Nell", "assistant": "Kit"}
    assert [(p.text, p.speaker, p.said_at) for p in stored] == [
        (line.text, names[line.role], line.said_at) for line in lines
    ]


async def test_most_of_it_falls_out_of_the_chat_window(tmp_path):
    """With parts of the public doubles, so that only the host's flushes are at work."""
    seen = []
    block = GraphMemoryBlock(
        uri=str(tmp_path / "memory.db"),
        scope="Nell",
        assistant_name="Kit",
        embed_model=HashEmbedder(),
        extractor=ScriptedExtractor(),
    )
    fell_out = await demo.play(CONVERSATION, block, lambda done, total: seen.append((done, total)))
    total = len(CONVERSATION.lines)
    assert total * 0.5 < fell_out < total
    assert seen == [(done, total) for done in range(1, total + 1)]
    assert await block.adrain() == 0
    assert block.stats().passages == total
    block.close()


def test_a_temporary_store_is_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    text, _ = played(width=120, embed_model=HashEmbedder(), extractor=ScriptedExtractor())
    text = " ".join(text.split())
    assert "kept in a temporary file" in text
    assert "Facts are read by the model scripted/1" in text
    assert list(tmp_path.iterdir()) == []


def test_the_demo_does_not_mix_into_other_memories_of_that_name(tmp_path):
    path = tmp_path / "mine.db"
    with GraphMemory.open(path, embed_model=HashEmbedder(), extractor=ScriptedExtractor()) as mine:
        mine.remember("my own words", scope=CONVERSATION.user)
        mine.drain(20)
    with pytest.raises(InvalidInput, match="other memories"):
        played(uri=str(path), embed_model=HashEmbedder(), extractor=ScriptedExtractor())
    with GraphMemory.open(path, embed_model=HashEmbedder(), extractor=ScriptedExtractor()) as mine:
        assert [each.text for each in mine.passages(CONVERSATION.user)] == ["my own words"]

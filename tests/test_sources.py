"""Where a fact comes from: from the fact down to the words, and no further than its scope."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import FrozenInstanceError, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from builders import open_memory, stated
from graphmem import Fact, GraphMemory, Message, Scope, Source, Triple
from graphmem.errors import InvalidInput, NotFound
from graphmem.facts import fact_id
from graphmem.store import Store
from graphmem.testing import ScriptedExtractor
from store_parts import ANA, at, drain, put, said

LISBON = timezone(timedelta(hours=1))
KATHMANDU = timezone(timedelta(hours=5, minutes=45))
NINE = datetime(2026, 3, 1, 9, 30, tzinfo=LISBON)
MOVED = fact_id("Maja", "moved to", "Oslo", True)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[GraphMemory]:
    with open_memory(tmp_path / "m.db", scope="Ana") as opened:
        yield opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.open(tmp_path / "m.db")) as opened:
        yield opened


def tell(memory: GraphMemory, *messages: Message, session: str = "s", **options: str) -> None:
    memory.remember(messages, session=session, **options)
    assert memory.drain(10) == 0


def read(store: Store, script: dict[str, list[Triple]]) -> None:
    """Do all queued work, reading what the script says."""
    drain(store, ScriptedExtractor(script))


def test_every_fact_of_a_recall_leads_to_the_words(memory):
    first = Message("note 1:  Maja moved to Oslo", speaker="Zoe", said_at=NINE)
    tell(memory, first, session="may")
    tell(memory, Message("the cheese was good"), Message("and Rui moved to Oslo"), session="june")
    found = memory.recall("Where did Maja move?")
    on_the_way = {fact.id: fact for ranked in found for fact in ranked.facts}
    assert MOVED in on_the_way
    words = {passage.id: passage for passage in memory.passages()}
    for fact in (*on_the_way.values(), *(hit.fact for hit in found.facts)):
        sources = memory.sources(fact)
        assert tuple(sorted(one.passage_id for one in sources)) == fact.passages
        for one in sources:
            passage = words[one.passage_id]
            assert (one.quote, one.message_id) == (passage.text, passage.message_id)
            assert fact.subject in one.quote
    (source,) = memory.sources(on_the_way[MOVED])
    assert source == Source(
        passage_id=source.passage_id,
        message_id=source.message_id,
        session="may",
        role="user",
        speaker="Zoe",
        claimed_by=None,
        said_at=(NINE,),
        recorded_at=on_the_way[MOVED].recorded_at,
        extractor="scripted/1",
        grounded=True,
        quote="note 1:  Maja moved to Oslo",
        heard_at=source.heard_at,
    )
    assert source.heard_at <= source.recorded_at
    assert memory.sources(MOVED) == [source]


def test_a_source_is_a_value(memory):
    tell(memory, Message("Maja moved to Oslo"))
    (source,) = memory.sources(MOVED)
    assert source == memory.sources(MOVED)[0]
    assert {source} == {memory.sources(MOVED)[0]}
    with pytest.raises(FrozenInstanceError):
        source.quote = "Maja moved to Rome"


def test_a_message_said_twice_has_two_times_in_the_zone_given(memory):
    for said_at in (NINE + timedelta(days=1), NINE, NINE):
        tell(memory, Message("Maja moved to Oslo", said_at=said_at))
    (source,) = memory.sources(MOVED)
    assert source.said_at == (NINE, NINE + timedelta(days=1))
    assert [one.utcoffset() for one in source.said_at] == [timedelta(hours=1)] * 2
    tell(memory, Message("Rui moved to Ghent", said_at=NINE.astimezone(KATHMANDU)))
    (other,) = memory.sources(fact_id("Rui", "moved to", "Ghent", True))
    assert [one.isoformat() for one in other.said_at] == ["2026-03-01T14:15:00+05:45"]


def test_an_unknown_time_stays_unknown_until_it_is_told(memory):
    tell(memory, Message("Maja moved to Oslo"))
    tell(memory, Message("Maja moved to Oslo"))
    assert [one.said_at for one in memory.sources(MOVED)] == [()]
    tell(memory, Message("Maja moved to Oslo", said_at=NINE))
    assert [one.said_at for one in memory.sources(MOVED)] == [(NINE,)]


def test_two_speakers_are_two_sources_in_the_order_said(memory):
    tell(memory, Message("so Maja moved to Oslo", speaker="Zoe", said_at=NINE))
    tell(memory, Message("Maja moved to Oslo", said_at=NINE - timedelta(days=1)), session="t")
    tell(memory, Message("yes Maja moved to Oslo", role="assistant"), session="u")
    assert [(one.speaker, one.role, one.session) for one in memory.sources(MOVED)] == [
        ("assistant", "assistant", "u"),
        ("Ana", "user", "t"),
        ("Zoe", "user", "s"),
    ]


def test_unstamped_messages_keep_their_place_in_the_conversation(store):
    texts = [f"{word}, Maja moved to Oslo" for word in ("first", "then", "last")]
    put(store, said(texts[0], 1), said(texts[1]), said(texts[2]))
    put(store, said("later, Maja moved to Oslo", 2), session="t")
    drain(store, ScriptedExtractor(stated))
    quotes = [one.quote for one in store.sources(ANA, MOVED)]
    assert quotes == [*texts, "later, Maja moved to Oslo"]


def test_times_that_say_nothing_leave_the_order_to_the_ids(memory):
    for session in ("a", "b", "c", "d"):
        tell(memory, Message(f"{session}: Maja moved to Oslo"), session=session)
    ids = [one.passage_id for one in memory.sources(MOVED)]
    assert len(ids) == 4
    assert ids == sorted(ids)


def test_whom_the_triple_names_as_claiming_it(store):
    text = "Bob says Maja moved to Oslo, and Eva says so too"
    claims = [Triple("Maja", "moved to", "Oslo", speaker=who) for who in ("Bob", "Eva", "ANA")]
    put(store, said(text, 0), said("Maja moved to Oslo", 1))
    read(store, {text: claims, "Maja moved to Oslo": [Triple("Maja", "moved to", "Oslo")]})
    assert [(one.speaker, one.claimed_by) for one in store.sources(ANA, MOVED)] == [
        ("ana", "Bob"),
        ("ana", "Eva"),
        ("ana", None),  # the speaker's own name, spelt otherwise
        ("ana", None),
    ]


def test_two_spellings_in_one_passage_are_one_source(store):
    text = "Maja moved to Oslo"
    put(store, said(text, 0))
    read(store, {text: [Triple("Maja", "moved to", "Oslo"), Triple("maja", "moved to", "OSLO")]})
    assert len(store.evidence(ANA, MOVED)) == 2
    assert [one.grounded for one in store.sources(ANA, MOVED)] == [True]


def test_a_document_has_no_speaker_and_its_part_is_quoted(memory):
    text = "\n\n".join(["The harbour was quiet. " * 200, "And then Maja moved to Oslo"])
    memory.remember(text, title="The Harbour")
    assert memory.drain(10) == 0
    (source,) = memory.sources(MOVED)
    assert (source.speaker, source.role, source.session) == ("", "document", "")
    assert source.claimed_by is None
    assert source.quote.endswith("Maja moved to Oslo")
    assert source.quote != text
    assert source.quote in text


def test_the_reader_and_the_time_of_its_first_reading(store):
    old = ScriptedExtractor(stated, name="careful/7")
    put(store, said("Maja moved to Oslo", 5))
    drain(store, old, now=at(60))
    assert [(one.extractor, one.recorded_at) for one in store.sources(ANA, MOVED)] == [
        ("careful/7", at(60))
    ]
    # An earlier message comes late: what stands behind it is read again, by another.
    put(store, said("the cheese was good", 0), now=at(70))
    drain(store, ScriptedExtractor(stated, name="careful/8"), now=at(80))
    assert [(one.extractor, one.recorded_at) for one in store.sources(ANA, MOVED)] == [
        ("careful/8", at(60))
    ]


def test_a_fact_that_rests_on_a_known_name_is_marked(store):
    owner = fact_id("Henrik Dahl", "owns", "Copper Loaf", True)
    script = {
        "Henrik Dahl bakes in Skagen": [Triple("Henrik Dahl", "bakes in", "Skagen")],
        "the owner of the Copper Loaf rang": [Triple("Henrik Dahl", "owns", "Copper Loaf")],
        "Henrik Dahl has the Copper Loaf": [Triple("Henrik Dahl", "owns", "Copper Loaf")],
    }
    earlier, by_name, by_words = script
    put(store, said(earlier, 0), session="a")
    put(store, said(by_name, 1), session="b")
    read(store, script)
    (known,) = store.sources(ANA, owner)
    assert (known.grounded, known.quote) == (False, by_name)
    assert store.by_id(ANA, facts=[owner])[1][owner].status == "asserted"
    put(store, said(by_words, 2), session="c")
    read(store, script)
    assert [(one.grounded, one.quote) for one in store.sources(ANA, owner)] == [
        (False, by_name),
        (True, by_words),
    ]


def test_what_is_made_up_is_marked_and_not_among_the_passages_that_state_it(store):
    script = {
        "it rains": [Triple("Maja", "moved to", "Oslo")],
        "Maja moved to Oslo": [Triple("Maja", "moved to", "Oslo")],
    }
    for minute, text in enumerate(script):
        put(store, said(text, minute), session=text)
    read(store, script)
    invented, held = store.sources(ANA, MOVED)
    assert (invented.grounded, held.grounded) == (False, True)
    assert store.by_id(ANA, facts=[MOVED])[1][MOVED].passages == (held.passage_id,)


def test_a_forgotten_message_is_no_source_any_more(memory):
    tell(memory, Message("Maja moved to Oslo", said_at=NINE))
    tell(memory, Message("Maja moved to Oslo", speaker="Zoe", said_at=NINE), session="t")
    first, second = sorted(memory.sources(MOVED), key=lambda one: one.speaker)
    memory.forget(message=first.message_id)
    assert memory.sources(MOVED) == [second]
    memory.forget(message=second.message_id)
    with pytest.raises(NotFound):
        memory.sources(MOVED)


def test_a_fact_that_was_replaced_still_has_its_sources(store):
    script = {
        "Maja lives in Oslo": [Triple("Maja", "lives in", "Oslo")],
        "Maja lives in Porto": [Triple("Maja", "lives in", "Porto")],
    }
    put(store, *(said(text, minute) for minute, text in enumerate(script)))
    read(store, script)
    (old,) = [one for one in store.facts(ANA) if one.object == "Oslo"]
    assert old.replaced_by
    assert [one.quote for one in store.sources(ANA, old.id)] == ["Maja lives in Oslo"]


def test_another_scope_has_no_part_in_it(memory):
    tell(memory, Message("Maja moved to Oslo"))
    tell(memory, Message("Maja moved to Porto"), scope="Ben")
    porto = fact_id("Maja", "moved to", "Porto", True)
    assert [one.quote for one in memory.sources(porto, scope="Ben")] == ["Maja moved to Porto"]
    for scope in (None, "Ana", Scope("Ben", "coach"), "nobody"):
        with pytest.raises(NotFound, match=porto):
            memory.sources(porto, scope=scope)
    assert [one.quote for one in memory.sources(MOVED)] == ["Maja moved to Oslo"]
    with pytest.raises(NotFound):
        memory.sources(memory.facts()[0], scope="Ben")


def test_one_fact_of_two_scopes_has_its_own_sources_in_each(memory):
    # One speaker: so it is one message id in each of them, too.
    same = Message("Maja moved to Oslo", speaker="Zoe", said_at=NINE)
    tell(memory, same)
    tell(memory, same, scope=Scope("Ana", "coach"))
    tell(memory, replace(same, said_at=NINE + timedelta(days=2)), scope="Ben")
    tell(memory, same, scope="Ben")
    times = {
        scope: [one.said_at for one in memory.sources(MOVED, scope=scope)]
        for scope in (Scope("Ana"), Scope("Ana", "coach"), Scope("Ben"))
    }
    assert list(times.values()) == [[(NINE,)], [(NINE,)], [(NINE, NINE + timedelta(days=2))]]
    memory.forget("Ben", everything=True)
    with pytest.raises(NotFound):
        memory.sources(MOVED, scope="Ben")
    assert len(memory.sources(MOVED)) == 1


@pytest.mark.parametrize("unknown", ["", "f-0", "p-1", "' OR 1=1 --", "%", "\ud800", "a\x00b"])
def test_an_id_that_nobody_has_is_not_found(memory, unknown):
    tell(memory, Message("Maja moved to Oslo"))
    with pytest.raises(NotFound):
        memory.sources(unknown)
    assert memory.sources(MOVED)


@pytest.mark.parametrize("wrong", [None, 7, True, b"f-0", ["f-0"], Triple("a", "b", "c")])
def test_what_is_no_fact_is_invalid(memory, wrong):
    with pytest.raises(InvalidInput, match="Fact"):
        memory.sources(wrong)
    with pytest.raises(InvalidInput):
        memory.sources(MOVED, scope=7)


def test_a_fact_that_was_never_stored_is_not_found(memory):
    with pytest.raises(NotFound):
        memory.sources(Fact("f-1", "e-1", "e-2", "Maja", "moved to", "Rome"))

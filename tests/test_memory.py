"""Stories by the public door of the engine."""

from __future__ import annotations

import random
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from builders import NOON, batches, open_memory, stated, story
from graphmem import GraphMemory, Message, RecallSettings, Scope, demo
from graphmem.errors import (
    EmbedderMismatch,
    GraphMemError,
    InvalidInput,
    NotFound,
)
from graphmem.extractors.rules import RulesExtractor
from graphmem.identity import clean_text
from graphmem.testing import HashEmbedder, ScriptedExtractor


def everything(memory: GraphMemory) -> dict[str, Any]:
    """What a scope knows, free of ids that arrival gives and of recording times."""
    facts = [
        (fact.text, fact.status, fact.valid_from, fact.valid_to, fact.passages)
        for fact in memory.facts()
    ]
    return {
        "facts": sorted(facts),
        "entities": [entity.name for entity in memory.entities()],
        "passages": {passage.id: passage.text for passage in memory.passages()},
        "order": {
            session: [passage.id for passage in memory.passages(session=session)]
            for session in sorted({passage.session for passage in memory.passages()})
        },
    }


def ranking(memory: GraphMemory, query: str) -> list[tuple[str, float]]:
    return [(one.passage.id, round(one.score, 6)) for one in memory.recall(query, top_k=10)]


QUESTIONS = ("Who moved to Oslo?", "Where did Maja go?", "what happened near Porto", "note 17")


def test_remember_then_recall_through_the_graph(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        receipt = memory.remember(
            [Message("Maja moved to Oslo"), Message("the cheese was good"), Message("Oslo is wet")]
        )
        assert len(receipt.stored) == 3
        assert memory.drain(10) == 0
        found = memory.recall("Where did Maja move?", top_k=2)
        assert found.route == "graph"
        assert found.passages[0].passage.text == "Maja moved to Oslo"
        assert {hit.fact.object for hit in found.facts} >= {"Oslo"}
        assert found.seeds
        assert set(found.timings) >= {"embed", "update", "total"}


def test_words_are_recalled_before_anything_is_extracted(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory._worker.stop()
        memory.remember("the password of the shed is walrus")
        found = memory.recall("what is the shed's password?")
        assert [one.passage.text for one in found] == ["the password of the shed is walrus"]
        assert found.route == "lexical"


def test_an_empty_memory_recalls_nothing(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        for query in ("anything?", "", "   ", "🦜", "\ud800"):
            found = memory.recall(query)
            assert (found.route, len(found)) == ("empty", 0)
            assert found.reason
        assert memory.stats().passages == 0


def test_batching_and_order_of_stamped_messages_change_nothing(tmp_path: Path) -> None:
    told = story(500)
    outcomes = []
    for attempt in range(10):
        with open_memory(tmp_path / f"{attempt}.db") as memory:
            for session, messages in batches(told, random.Random(attempt)):
                memory.remember(messages, session=session)
                if attempt % 2 and len(messages) > 10:
                    memory.drain(30)
            assert memory.drain(60) == 0, memory.stats()
            outcomes.append((everything(memory), [ranking(memory, q) for q in QUESTIONS]))
    assert len(outcomes[0][0]["facts"]) > 60  # positive control: there is something to agree on
    assert all(outcomes[0][1])
    for outcome in outcomes[1:]:
        assert outcome == outcomes[0]


def test_forgetting_gives_the_graph_that_never_saw_it(tmp_path: Path) -> None:
    told = story(120)
    with open_memory(tmp_path / "twin.db") as twin, open_memory(tmp_path / "m.db") as memory:
        gone = [index for index in range(120) if index % 7 == 3]
        for index, (session, message) in enumerate(told):
            memory.remember([message], session=session)
            if index not in gone:
                twin.remember([message], session=session)
        memory.drain(30)
        by_text = {passage.text: passage.id for passage in memory.passages()}
        before = everything(memory)
        for index in gone:
            receipt = memory.forget(passage=by_text[told[index][1].text])
            assert len(receipt.forgotten) == 1
        assert memory.drain(30) == 0
        assert twin.drain(30) == 0
        after, never = everything(memory), everything(twin)
        assert after == never
        assert after != before
        for query in QUESTIONS:
            assert ranking(memory, query) == ranking(twin, query)


def test_redelivery_changes_nothing(tmp_path: Path) -> None:
    told = [message for _, message in story(30, sessions=1)]
    with open_memory(tmp_path / "m.db") as memory:
        first = memory.remember(told, session="s")
        memory.drain(10)
        before = everything(memory)
        again = memory.remember(told, session="s")
        pieces = [memory.remember(told[i : i + 3], session="s") for i in range(0, 30, 3)]
        memory.drain(10)
        assert (len(first.stored), again.stored, len(again.merged)) == (30, (), 30)
        assert not any(piece.stored for piece in pieces)
        assert everything(memory) == before


def test_scopes_are_walls(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("Maja moved to Oslo", scope="ann")
        memory.remember("Maja moved to Porto", scope="ben")
        memory.remember("Maja moved to Brno", scope=Scope("ann", "coach"))
        memory.drain(10)
        for scope, place in (("ann", "Oslo"), ("ben", "Porto"), (Scope("ann", "coach"), "Brno")):
            found = memory.recall("Where did Maja move?", scope=scope)
            assert [one.passage.text for one in found] == [f"Maja moved to {place}"]
            assert {fact.object for fact in memory.facts(scope)} == {place, "Maja"}
        assert len(memory.recall("Where did Maja move?")) == 0
        memory.forget("ann", everything=True)
        assert len(memory.recall("Where did Maja move?", scope="ann")) == 0
        assert len(memory.recall("Where did Maja move?", scope="ben")) == 1


def test_forget_a_session_and_a_message(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember([Message("Maja moved to Oslo"), Message("Rui moved to Ghent")], session="a")
        memory.remember([Message("Bea moved to Oslo")], session="b")
        memory.drain(10)
        assert len(memory.forget(session="a").forgotten) == 2
        assert {entity.name for entity in memory.entities()} == {"Bea", "Oslo"}
        (left,) = memory.passages()
        assert memory.forget(message=left.message_id).forgotten == (left.id,)
        assert memory.stats().entities == 0
        assert memory.recall("Bea").route == "empty"


def test_forget_names_what_is_not_there(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("Maja moved to Oslo", scope="ann")
        (passage,) = memory.passages("ann")
        with pytest.raises(NotFound):
            memory.forget("ben", passage=passage.id)
        with pytest.raises(NotFound):
            memory.forget("ann", session="nowhere")
        with pytest.raises(InvalidInput, match="exactly one"):
            memory.forget("ann")
        assert len(memory.passages("ann")) == 1


def test_a_document_keeps_title_and_order(tmp_path: Path) -> None:
    text = "\n\n".join(f"Chapter {n}. " + "The harbour was quiet. " * 80 for n in range(6))
    with open_memory(tmp_path / "m.db") as memory:
        receipt = memory.remember(text, title="The Harbour")
        assert len(receipt.stored) > 1
        parts = memory.passages()
        assert [part.part for part in parts] == list(range(len(parts)))
        assert {part.title for part in parts} == {"The Harbour"}
        assert "".join(part.text for part in parts).split() == text.split()
        memory.drain(10)
        assert memory.recall("chapter 4 harbour").passages[0].passage.title == "The Harbour"


@pytest.mark.parametrize(
    "text",
    [
        "bad \udc9a text",
        "\ud83d",
        "\ud83d\ude00 joined",
        "nul \x00 inside",
        "مرحبا بالعالم، هذا نص من اليمين",
        "田中さんは京都に住んでいる",
        "x" * 200_000,
        "word " * 40_000,
        "zero\u200bwidth",
    ],
)
def test_any_text_is_kept_and_found(tmp_path: Path, text: str) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("Maja moved to Oslo")
        assert memory.remember(text).stored
        assert memory.drain(60) == 0
        kept = [passage for passage in memory.passages() if passage.text != "Maja moved to Oslo"]
        said = "".join(passage.text for passage in kept)
        if text.isascii() and text.isprintable():
            assert said.replace(" ", "") == text.replace(" ", "")
        else:
            assert said == clean_text(text)
        assert memory.recall(text[:40]).passages
        assert memory.recall("Where did Maja move?").passages[0].passage.text.startswith("Maja")
    with open_memory(tmp_path / "m.db") as memory:
        assert len(memory.passages()) == len(kept) + 1


def test_cjk_is_found_by_a_word_in_it(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("田中さんは京都に住んでいる")
        memory.remember("鈴木さんは大阪で働いている")
        memory.drain(10)
        assert memory.recall("京都").passages[0].passage.text.startswith("田中")
        assert memory.recall("大阪").passages[0].passage.text.startswith("鈴木")


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda m: m.remember(5), "int"),
        (lambda m: m.remember([5]), "int"),
        (lambda m: m.remember(None), "NoneType"),
        (lambda m: m.remember(Message(None)), "text"),
        (lambda m: m.remember("x", said_at=datetime(2026, 1, 1)), "time zone|timezone|naive"),
        (lambda m: m.remember("x", said_at="yesterday"), "said_at"),
        (lambda m: m.remember("x", role="wizard"), "role"),
        (lambda m: m.remember("x", session=5), "session"),
        (lambda m: m.remember("x", metadata={"a": object()}), "metadata"),
        (lambda m: m.remember(Message("x"), speaker="Ana"), "speaker"),
        (lambda m: m.recall(5), "query"),
        (lambda m: m.recall("x", top_k=0), "top_k"),
        (lambda m: m.recall("x", top_k="5"), "top_k"),
        (lambda m: m.recall("x", scope=5), "scope"),
        (lambda m: m.recall("x", scope=""), "user"),
        (lambda m: m.recall("x", session=5), "session"),
        (lambda m: m.remember({"text": "x"}), "dict"),
        (lambda m: m.remember({"x", "y"}), "set"),
        (lambda m: m.facts(subject=5), "subject"),
        (lambda m: m.facts(passage=[]), "passage"),
        (lambda m: m.facts(status="certain"), "status"),
        (lambda m: m.passages(session=5), "session"),
        (lambda m: m.forget(passage=5), "passage"),
        (lambda m: m.forget(message=["m"]), "message"),
        (lambda m: m.forget(session=5), "session"),
        (lambda m: m.forget(session="s", reason=5), "reason"),
        (lambda m: m.forget(session="s", everything=True), "exactly one"),
        (lambda m: m.drain("soon"), "timeout"),
    ],
)
def test_wrong_input_is_named_and_nothing_is_stored(tmp_path: Path, call: Any, names: str) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        with pytest.raises(InvalidInput, match=names):
            call(memory)
        assert memory.stats().messages == 0


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"uri": None}, "uri"),
        ({"uri": 5}, "uri"),
        ({"workers": -1}, "workers"),
        ({"workers": "2"}, "workers"),
        ({"workers": None}, "workers"),
        ({"settings": {"damping": 0.5}}, "settings"),
        ({"extractor": "rules"}, "extractor"),
        ({"extractor": ScriptedExtractor(name=None)}, "extractor"),
        ({"embed_model": 5}, "embed_model"),
        ({"scope": ""}, "user"),
    ],
)
def test_wrong_parts_are_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], names: str
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"uri": tmp_path / "m.db", "embed_model": HashEmbedder(), **options}
    with pytest.raises(InvalidInput, match=names):
        GraphMemory.open(**given)
    # No file is made of what is no address.
    assert {path.name for path in tmp_path.iterdir()} <= {"m.db"}
    GraphMemory.open(tmp_path / "m.db", embed_model=HashEmbedder()).close()


@pytest.mark.parametrize("odd", ["\udc9a", "a\x00b"])
def test_names_that_no_disk_takes_mean_the_same_at_every_door(tmp_path: Path, odd: str) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("Maja moved to Oslo", session=odd, speaker=odd, metadata={odd: odd})
        memory.remember("Maja moved to Porto", session="other")
        assert memory.drain(10) == 0
        (passage,) = memory.passages(session=odd)
        found = memory.recall("Maja", session=odd)
        assert [one.passage for one in found] == [passage]
        assert memory.facts(subject=odd) == []
        assert memory.facts(passage=odd) == []
        for named in ({"passage": odd}, {"message": odd}):
            with pytest.raises(NotFound):
                memory.forget(**named)
        assert memory.forget(session=odd, reason=odd).forgotten == (passage.id,)
        assert [one.text for one in memory.passages()] == ["Maja moved to Porto"]


def test_an_empty_batch_stores_nothing_and_says_so(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        assert memory.remember([]).passages == ()
        receipt = memory.remember([Message("  \n"), Message("be nice", role="system")])
        assert receipt.passages == ()
        assert len(receipt.dropped) == 2


def test_another_embedder_is_refused_by_name(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("Maja moved to Oslo")
        memory.drain(10)
    with pytest.raises(EmbedderMismatch, match="other") as caught:
        open_memory(tmp_path / "m.db", embed_model=HashEmbedder(name="other"))
    assert caught.value.stored == ("hash", 64)
    with pytest.raises(EmbedderMismatch, match="32"):
        open_memory(tmp_path / "m.db", embed_model=HashEmbedder(32))
    with open_memory(tmp_path / "m.db") as memory:
        assert memory.recall("Maja").passages


def test_a_store_without_vectors_takes_any_embedder(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("Maja moved to Oslo")
        memory.drain(10)
        memory.forget(everything=True)
    with open_memory(tmp_path / "m.db", embed_model=HashEmbedder(32, "other")) as memory:
        memory.remember("Tomo moved to Oslo")
        assert memory.drain(10) == 0
        assert memory.recall("Oslo").passages
    with pytest.raises(EmbedderMismatch, match="other"):
        open_memory(tmp_path / "m.db")


def test_an_error_does_not_go_on_quoting_what_is_forgotten(tmp_path: Path) -> None:
    def read(passage: Any) -> list[Any]:
        raise ValueError(f"cannot read {passage.text}")

    with open_memory(tmp_path / "m.db", extractor=ScriptedExtractor(read)) as memory:
        memory.remember("the canary sings", session="s")
        memory.drain(10)
        assert "canary" in memory.stats().last_error
        memory.forget(session="s")
        assert "canary" not in memory.stats().last_error


def test_both_extractor_and_llm_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not both"):
        open_memory(tmp_path / "m.db", llm=object())
    assert not (tmp_path / "m.db").exists()


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "m.db")
    memory.close()
    memory.close()
    with pytest.raises(GraphMemError, match="closed"):
        memory.recall("x")


def test_two_memories_on_one_store_see_each_other(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as one, open_memory(tmp_path / "m.db") as other:
        one.remember("Maja moved to Oslo")
        assert one.drain(10) == 0
        assert other.recall("Maja").passages[0].passage.text == "Maja moved to Oslo"
        other.forget(passage=other.passages()[0].id)
        assert one.recall("Maja").route == "empty"


def test_a_fact_of_many_passages_survives_the_loss_of_one(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db", extractor=ScriptedExtractor(stated)) as memory:
        memory.remember([Message("Maja moved to Oslo"), Message("yes, Maja moved to Oslo")])
        memory.drain(10)
        (fact,) = [fact for fact in memory.facts() if fact.predicate == "moved to"]
        assert len(fact.passages) == 2
        memory.forget(passage=fact.passages[0])
        memory.drain(10)
        (left,) = [fact for fact in memory.facts() if fact.predicate == "moved to"]
        assert left.passages == fact.passages[1:]


def test_stamps_keep_their_order_and_zone(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("first note", said_at=NOON, session="s")
        (passage,) = memory.passages()
        assert passage.said_at == NOON
        assert passage.said_at.tzinfo is not None


def test_a_recall_reads_in_a_shell(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("Maja moved to Oslo")
        memory.drain(10)
        found = memory.recall("Where did Maja move?")
        assert repr(found) == (
            "<Recall 'Where did Maja move?': graph route, 1 passages, best 'Maja moved to Oslo'>"
        )
        assert found[0] == found.passages[0]
        assert repr(memory.recall("")) == "<Recall '': empty route, 0 passages>"


def rules_memory(path: Path) -> GraphMemory:
    return GraphMemory.open(path, embed_model=HashEmbedder(), extractor=RulesExtractor())


def told_in_the_demo() -> list[tuple[str, Message]]:
    return [
        (session.id, Message(line.text, role=line.role, said_at=line.said_at))
        for session in demo.load().sessions
        for line in session.lines
    ]


RULES_QUESTIONS = ("Where does Aunt Vera live?", "Who plays the accordion?", "What did Kit say?")


def test_the_offline_rules_give_the_same_in_any_order_and_batching(tmp_path: Path) -> None:
    told = told_in_the_demo()
    outcomes = []
    for attempt in range(3):
        with rules_memory(tmp_path / f"{attempt}.db") as memory:
            for session, messages in batches(told, random.Random(attempt)):
                memory.remember(messages, session=session)
            assert memory.drain(60) == 0, memory.stats()
            outcomes.append((everything(memory), [ranking(memory, q) for q in RULES_QUESTIONS]))
    assert len(outcomes[0][0]["facts"]) > 40  # positive control
    assert outcomes[1:] == outcomes[:1] * 2


def test_the_offline_rules_never_saw_what_is_forgotten(tmp_path: Path) -> None:
    told = told_in_the_demo()
    gone = set(range(3, len(told), 7))
    with rules_memory(tmp_path / "m.db") as memory, rules_memory(tmp_path / "twin.db") as twin:
        for index, (session, message) in enumerate(told):
            memory.remember([message], session=session)
            if index not in gone:
                twin.remember([message], session=session)
        assert memory.drain(60) == 0
        before = everything(memory)
        by_time = {one.said_at: one.message_id for one in memory.passages()}
        for index in gone:
            memory.forget(message=by_time[told[index][1].said_at])
        assert memory.drain(60) == twin.drain(60) == 0
        assert everything(memory) == everything(twin) != before
        for query in RULES_QUESTIONS:
            assert ranking(memory, query) == ranking(twin, query)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("damping", 3, "0 to 0.99"),
        ("damping", 1.0, "0 to 0.99"),
        ("look_k", 0, "1 or more"),
        ("weigh_k", 0, "1 or more"),
        ("settle_k", 0, "1 or more"),
        ("look_all", -1, "0 or more"),
        ("walk_all", -1, "0 or more"),
        ("most_work", 1.5, "whole number"),
        ("bridge_k", -1, "0 or more"),
        ("seed_k", "4", "whole number"),
        ("bm25_k1", float("nan"), "more than 0"),
        ("bm25_k1", 0, "more than 0"),
        ("walk_half", 0.0, "more than 0"),
        ("synonym_cosine", 0.0, "more than 0, at most 1"),
        ("synonym_cosine", 1.1, "more than 0, at most 1"),
        ("topic_weight", float("inf"), "0 or more"),
        ("hub_share", -0.1, "0 to 1"),
        ("window", ((-1, 0.5),), "offset 0"),
        ("window", ((0, 1.0), (0, 2.0)), "each once"),
        ("window", ((0, float("nan")),), "weight"),
        ("window", 3, "pairs"),
    ],
)
def test_a_constant_out_of_range_is_named(name: str, value: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} must be .*{says}"):
        RecallSettings(**{name: value})


@pytest.mark.parametrize("name", [one.name for one in fields(RecallSettings)])
def test_a_recall_stands_every_constant_at_its_least(tmp_path: Path, name: str) -> None:
    least = next(
        settings
        for value in (0, 0.0, 1e-3, 1, ((0, 1.0),))
        if (settings := _settings_or_none(name, value)) is not None
    )
    with open_memory(tmp_path / "m.db", settings=least) as memory:
        memory.remember([Message("Maja moved to Oslo"), Message("Oslo is cold on 3 May")])
        memory.drain(10)
        assert len(memory.recall("Where did Maja move in May?")) > 0


def _settings_or_none(name: str, value: Any) -> RecallSettings | None:
    try:
        return RecallSettings(**{name: value})
    except InvalidInput:
        return None


def test_stats_without_a_scope_are_the_memorys_own(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db", scope="ann") as memory:
        memory.remember("Maja moved to Oslo")
        memory.remember(["Rui moved to Ghent", "Bea moved to Brno"], scope="ben")
        assert (memory.stats().passages, memory.stats("ben").passages) == (1, 2)

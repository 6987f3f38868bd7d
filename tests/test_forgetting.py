"""Forgetting at the public door: what goes, what stays, what the receipt says, and the file."""

from __future__ import annotations

import functools
import shutil
import sys
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from builders import open_memory
from graphmem import GraphMemory, Message, Scope
from graphmem.errors import Ambiguous, InvalidInput, NotAllowed, NotFound
from graphmem.grounding import ground
from graphmem.memo import Memo, let_go
from graphmem.testing import ScriptedExtractor
from graphmem.types import Actor, Passage, Triple


def read(passage: Passage) -> list[Triple]:
    """Reads "I live in X", "My dog is called X", "X is the boss of Y" sentence by sentence."""
    found = []
    for sentence in passage.text.split("."):
        words = sentence.split()
        if " ".join(words[:3]) == "I live in":
            found.append(Triple(passage.speaker, "lives in", words[-1]))
        elif " ".join(words[:4]) == "My dog is called":
            found.append(Triple(passage.speaker, "has dog", words[-1]))
        elif words[1:5] == ["is", "the", "boss", "of"]:
            found.append(Triple(words[0], "is boss of", words[-1]))
        elif words[1:4] == ["was", "born", "in"]:
            found.append(Triple(passage.speaker, "was born in", words[-1]))
    if passage.text == "Yes.":
        found.append(Triple(passage.speaker, "lives in", "Tromsoe"))
    return found


@pytest.fixture
def memory(tmp_path: Path):
    with open_memory(tmp_path / "m.db", scope="Ana", extractor=ScriptedExtractor(read)) as opened:
        yield opened


def tell(memory: GraphMemory, *texts: str, session: str = "s", speaker: str = "Ana") -> Any:
    receipt = memory.remember([Message(one, speaker=speaker) for one in texts], session=session)
    assert memory.drain(30) == 0
    return receipt


def texts(memory: GraphMemory) -> list[str]:
    return sorted(one.text for one in memory.passages())


def fact(memory: GraphMemory, object_: str) -> Any:
    (one,) = [one for one in memory.facts() if one.object == object_]
    return one


def everywhere(memory: GraphMemory, *questions: str) -> str:
    """All that a reader can get to see."""
    found = [repr(memory.facts()), repr(memory.passages()), repr(memory.entities())]
    found += [repr(memory._store.log(memory.scope)), repr(memory.bans())]
    for question in questions:
        recall = memory.recall(question)
        found += [repr(recall.passages), repr(recall.facts), repr(recall.seeds)]
    return "\n".join(found)


# -- facts ---------------------------------------------------------------------------------------


def test_a_fact_goes_with_the_sentences_that_state_it_and_nothing_else(memory):
    tell(memory, "I live in Oslo. My dog is called Rex.", "It rains a lot.")
    tell(memory, "I live in Oslo.", session="t")
    wanted = fact(memory, "Oslo")
    assert any("Oslo" in one.passage.text for one in memory.recall("Where does Ana live?"))
    receipt = memory.forget(fact=wanted, actor="Ana", reason="private")
    assert receipt.facts == (wanted.id,)
    assert len(receipt.forgotten) == len(receipt.cut) == len(receipt.bans) == 1
    assert receipt.state == "erased"
    assert len(receipt.outside) == 3
    assert texts(memory) == ["It rains a lot.", "My dog is called Rex."]
    found = everywhere(memory, "Where does Ana live?", "Oslo", "What is the dog called?")
    assert "Oslo" not in found
    assert "oslo" not in found
    assert "Rex" in found
    assert fact(memory, "Rex").passages == receipt.cut
    memory.drain(30)
    assert memory.recall("dog called Rex")[0].passage.text == "My dog is called Rex."


def test_a_sentence_that_tells_something_else_of_the_object_stays(memory):
    tell(memory, "I live in Oslo. Ana was born in Oslo. Oslo is where I sleep.")
    assert len(memory.facts()) == 2
    memory.forget(fact=next(one for one in memory.facts() if one.predicate == "lives in"))
    assert texts(memory) == ["Ana was born in Oslo."]
    assert [one.predicate for one in memory.facts()] == ["was born in"]


def test_who_is_the_object_and_speaks_does_not_take_all_sentences(memory):
    tell(memory, "Zoe is the boss of Ana. Ana was born in Oslo.")
    memory.forget(fact=fact(memory, "Ana"))
    assert texts(memory) == ["Ana was born in Oslo."]


def test_a_bare_yes_goes_whole(memory):
    memory.remember(
        [Message("Do you live in Tromsoe?", role="assistant"), Message("Yes.", speaker="Ana")],
        session="s",
    )
    tell(memory, "It rains.")
    memory.forget(fact=fact(memory, "Tromsoe"))
    assert texts(memory) == ["Do you live in Tromsoe?", "It rains."]
    assert memory.facts() == []


def test_a_part_of_a_long_message_loses_its_sentence_and_the_others_stay(memory):
    filler = "\n\n".join(f"Line {n} tells of the harbour and its boats." for n in range(150))
    tell(memory, f"{filler}\n\nI live in Oslo.\n\n{filler}")
    before = {one.id: one.text for one in memory.passages()}
    receipt = memory.forget(fact=fact(memory, "Oslo"))
    after = {one.id: one.text for one in memory.passages()}
    assert len(before) > 3
    assert after.keys() == before.keys()
    (cut,) = receipt.cut
    assert [id_ for id_ in after if after[id_] != before[id_]] == [cut]
    assert "Oslo" in before[cut]
    assert "Oslo" not in after[cut]
    assert memory.recall("Line 149 tells of the harbour").passages
    memory.drain(30)
    assert memory.stats().pending == memory.stats().unembedded == 0


def test_evidence_of_others_goes_with_the_value_and_other_values_stay(memory):
    tell(memory, "I live in Oslo.", "I live in Rome.")
    tell(memory, "I live in Oslo.", speaker="Ben", session="t")
    ana = next(one for one in memory.facts(subject="Ana") if one.object == "Oslo")
    memory.forget(fact=ana.id)
    assert [(one.subject, one.object) for one in memory.facts()] in (
        [("Ben", "Oslo"), ("Ana", "Rome")], [("Ana", "Rome"), ("Ben", "Oslo")],
    )  # fmt: skip
    assert texts(memory) == ["I live in Oslo.", "I live in Rome."]


def test_a_fact_that_waits_to_be_read_is_refused_when_it_is(memory):
    tell(memory, "I live in Oslo.")
    oslo = fact(memory, "Oslo")
    with open_memory(
        memory._store.path, scope="Ana", extractor=ScriptedExtractor(lambda _: [])
    ) as other:
        other._worker.stop()
        other.remember("Well, now, I live in Oslo", session="u")
    memory.forget(fact=oslo)
    memory.drain(30)
    assert all(one.object != "Oslo" for one in memory.facts())


# -- entities ------------------------------------------------------------------------------------


def test_an_entity_goes_with_what_names_it_and_what_it_said(memory):
    tell(memory, "Zoe is the boss of Ben. My dog is called Rex.", "I met Zoe's sister. Fine.")
    tell(memory, "Hello from me.", speaker="Zoe", session="t")
    tell(memory, "Zoey is the boss of Rui.", session="u")
    receipt = memory.forget(entity="ZOE")
    assert texts(memory) == ["Fine.", "My dog is called Rex.", "Zoey is the boss of Rui."]
    assert sorted(one.name for one in memory.entities()) == ["Ana", "Rex", "Rui", "Zoey"]
    assert len(receipt.forgotten) == 1
    assert len(receipt.cut) == 2
    assert len(receipt.facts) == 1
    found = everywhere(memory, "Who is the boss?", "Zoe")
    assert "Zoe " not in found
    assert "'Zoe'" not in found
    assert tell(memory, "Zoe was here.", session="v").refused
    (ban,) = memory.bans()
    assert (ban.kind, receipt.bans) == ("entity", (ban.id,))
    memory.unforget(entity="Zoe")
    assert tell(memory, "Zoe was here.", session="v").stored
    with pytest.raises(NotFound):
        memory.forget(entity="Nobody")


def test_an_entity_may_be_named_by_its_id(memory):
    tell(memory, "Zoe is the boss of Ben.")
    (zoe,) = [one for one in memory.entities() if one.name == "Zoe"]
    memory.forget(entity=zoe.id)
    tell(memory, "Ann is the boss of Ben.")
    memory.forget(entity=next(one for one in memory.entities() if one.name == "Ann"))
    assert texts(memory) == []


# -- previews ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["fact", "passage", "message", "entity", "session", "everything"])
def test_a_preview_says_what_would_go_and_changes_nothing(memory, kind):
    tell(memory, "I live in Oslo. My dog is called Rex.")
    (passage,) = memory.passages()
    target = {
        "fact": fact(memory, "Oslo"),
        "passage": passage.id,
        "message": passage.message_id,
        "entity": "Oslo",
        "session": "s",
        "everything": True,
    }[kind]
    seq, log = memory.forget_seq(), len(memory._store.log(memory.scope))
    before = everywhere(memory, "Oslo")
    shown = memory.forget(**{kind: target}, preview=True)
    assert shown.state == "preview"
    assert (shown.forgotten, shown.cut, shown.facts, shown.bans) == ((), (), (), ())
    assert (memory.forget_seq(), len(memory._store.log(memory.scope))) == (seq, log)
    assert everywhere(memory, "Oslo") == before
    assert memory.bans() == []
    done = memory.forget(**{kind: target})
    assert {one.id for one in shown.candidates} == {*done.forgotten, *done.cut, *done.facts}


def test_in_words_a_preview_comes_first_and_two_meanings_are_none(memory):
    tell(memory, "I live in Oslo. My dog is called Rex.")
    tell(memory, "I live in Oslo.", speaker="Ben", session="t")
    with pytest.raises(Ambiguous) as caught:
        memory.forget(query="forget who lives in Oslo", preview=False)
    assert len(caught.value.candidates) == 2
    unclear = memory.forget(query="forget who lives in Oslo")
    assert len(unclear.candidates) == 2
    assert unclear.unclear == str(caught.value)
    shown = memory.forget(query="Please forget that I live in Oslo.")
    assert shown.candidates[0].id == next(
        one.id for one in memory.facts(subject="Ana") if one.object == "Oslo"
    )
    assert (shown.state, shown.unclear) == ("preview", "")
    assert len(texts(memory)) == 2
    done = memory.forget(query="Please forget that I live in Oslo.", preview=False)
    assert done.state == "erased"
    assert {*done.cut, *done.facts} <= {one.id for one in shown.candidates}
    assert texts(memory) == ["I live in Oslo.", "My dog is called Rex."]
    with pytest.raises(Ambiguous, match="nothing"):
        memory.forget(query="forget my shoe size", preview=False)
    assert "shoe" not in repr(memory._store.log(memory.scope))


def test_in_words_no_more_passages_change_than_is_reckoned_with(memory):
    tell(memory, *(f"Zoe is the boss of Ben{n}." for n in range(12)))
    with pytest.raises(Ambiguous, match="12 passages"):
        memory.forget(query="forget everything about Zoe", preview=False)
    assert len(texts(memory)) == 12
    assert memory.bans() == []
    memory.forget(query="forget everything about Zoe", preview=False, most=12)
    assert texts(memory) == []


# -- the door ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.forget(), "exactly one"),
        (lambda m: m.forget(fact="f", entity="e"), "exactly one"),
        (lambda m: m.forget(fact=5), "fact"),
        (lambda m: m.forget(entity=5), "entity"),
        (lambda m: m.forget(query="x", most=0), "most"),
        (lambda m: m.forget(session="s", actor=5), "actor"),
        (lambda m: m.unforget(), "exactly one"),
        (lambda m: m.unforget(fact=("a", "b")), "three"),
        (lambda m: m.unforget(fact=0), "fact"),
        (lambda m: m.unforget(fact=[]), "fact"),
        (lambda m: m.forget(session="s", actor=Actor(5)), "name"),
        (lambda m: m.unforget(text="a", entity="b"), "exactly one"),
        (lambda m: m.reject(5), "fact"),
        (lambda m: m.verify(None), "fact"),
    ],
)
def test_wrong_arguments_are_refused(memory, call, message):
    tell(memory, "I live in Oslo.")
    with pytest.raises(InvalidInput, match=message):
        call(memory)
    assert len(texts(memory)) == 1


def test_of_what_is_not_there_nothing_is_forgotten_or_ruled(memory):
    tell(memory, "I live in Oslo.")
    one = fact(memory, "Oslo")
    for call in (memory.reject, memory.verify, memory.dispute):
        with pytest.raises(NotFound):
            call("f-0")
        with pytest.raises(NotFound):
            call(one, scope="Ben")
    for named in ({"fact": one}, {"entity": "Oslo"}, {"passage": one.passages[0]}):
        with pytest.raises(NotFound):
            memory.forget("Ben", **named)
    assert fact(memory, "Oslo").status == "asserted"


def test_rulings_at_the_door(memory):
    tell(memory, "I live in Oslo.")
    one = fact(memory, "Oslo")
    memory.verify(one, actor="Ana")
    assert fact(memory, "Oslo").status == "verified"
    memory.dispute(one.id, actor="Ben")
    assert fact(memory, "Oslo").status == "disputed"
    memory.reject(one, actor="Ana")
    assert fact(memory, "Oslo").status == "rejected"
    assert not memory.recall("Where does Ana live?").statements
    with pytest.raises(InvalidInput, match="unforget"):
        memory.verify(one)
    with pytest.raises(NotAllowed):
        memory.unforget(fact=one, actor=Actor("bot", "agent"))
    memory.unforget(fact=one)
    memory.verify(one)
    assert fact(memory, "Oslo").is_live
    assert memory.recall("Where does Ana live?").statements


def test_a_reason_that_tells_what_is_forgotten_is_not_kept(memory):
    tell(memory, "I live in Oslo.", "It rains.")
    memory.forget(fact=fact(memory, "Oslo"), reason="nobody needs to know of Oslo")
    memory.forget(passage=memory.passages()[0].id, reason="on request")
    reasons = {one.reason for one in memory._store.log(memory.scope) if one.action == "forget"}
    assert reasons == {"", "on request"}
    assert [one.reason for one in memory.bans()] == ["", "on request"]


@pytest.mark.parametrize("is_all", [False, True])
def test_why_something_else_was_ruled_goes_with_the_words_that_it_repeats(memory, is_all):
    tell(memory, "I live in Oslo.", "My dog is called Rex.", "I was born in Perth.")
    memory.reject(fact(memory, "Rex"), reason="Rex is a cat in Oslo")
    memory.verify(fact(memory, "Perth"), reason="seen in Oslo")
    memory.forget(passage=tell(memory, "It rains.").stored[0], reason="too wet")
    assert {one.reason for one in memory.bans()} == {"Rex is a cat in Oslo", "too wet"}
    if is_all:
        memory.forget(everything=True)
        assert {one.reason for one in memory.bans()} == {""}
    else:
        memory.forget(fact=fact(memory, "Oslo"))
        assert {one.reason for one in memory.bans()} == {"", "too wet"}
        assert fact(memory, "Perth").status == "verified"
    assert "Oslo" not in everywhere(memory)


@pytest.mark.parametrize(
    "query", ["forget everything", "Please delete my memory.", "forget all you know about me"]
)
def test_words_for_all_of_it_say_how_to_say_that(memory, query):
    tell(memory, "I live in Oslo.")
    with pytest.raises(Ambiguous, match="everything=True"):
        memory.forget(query=query, preview=False)
    assert "everything=True" in memory.forget(query=query).unclear
    assert texts(memory) == ["I live in Oslo."]


# -- files, caches, copies -----------------------------------------------------------------------


def traces(folder: Path, word: str) -> list[str]:
    needles = [word.encode(), word.lower().encode(), word.encode("utf-16-le")]
    return [
        str(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    ]


@pytest.mark.parametrize("kind", ["fact", "entity", "query", "everything"])
def test_the_words_leave_every_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "m.db"
    extractor = ScriptedExtractor(read)
    with open_memory(path, scope="Ana", extractor=extractor) as memory:
        for n in range(30):
            tell(memory, f"I live in Quxley. My dog is called Rexford{n}.", session=f"s{n}")
        memory.recall("Quxley")
    assert traces(tmp_path, "Quxley")
    assert traces(tmp_path, "Rexford7")
    with open_memory(path, scope="Ana", extractor=extractor) as memory:
        target = {
            "fact": {"fact": fact(memory, "Quxley")},
            "entity": {"entity": "Quxley"},
            "query": {"query": "forget that I live in Quxley", "preview": False, "most": 30},
            "everything": {"everything": True},
        }[kind]
        receipt = memory.forget(**target)
        assert receipt.state == "erased"
        assert traces(tmp_path, "Quxley") == []
        tell(memory, "I live in Quxley.", session="again")
        memory.recall("Quxley")
    assert traces(tmp_path, "Quxley") == []
    assert bool(traces(tmp_path, "Rexford7")) == (kind != "everything")


def test_words_that_are_known_only_when_they_are_read_leave_the_files_too(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db", scope="Ana", extractor=ScriptedExtractor(read)) as memory:
        tell(memory, "I live in Quxley.")
        memory.forget(fact=fact(memory, "Quxley"))
        tell(memory, "It rains. I live in sunny Quxley.", session="t")
        assert texts(memory) == ["It rains."]
        assert not traces(tmp_path, "Quxley")
        tell(memory, "I live in Ambleford.")
        assert traces(tmp_path, "Ambleford")


def test_nothing_remembers_the_words_in_this_process(memory):
    tell(memory, "I live in Quxley.", "My dog is called Rexford.")
    memory.recall("Quxley")
    ground(Triple("Ana", "lives in", "Quxley"), Passage("p", "m", "I live in Quxley."))

    def kept() -> list[str]:
        return [
            name
            for name, module in list(sys.modules.items())
            if name.startswith("graphmem")
            for value in vars(module).values()
            if (isinstance(value, Memo) and any("quxley" in str(key).lower() for key in value))
        ]

    caches = [
        value
        for name, module in list(sys.modules.items())
        if name.startswith("graphmem")
        for value in vars(module).values()
        if isinstance(value, functools._lru_cache_wrapper)
    ]
    assert kept()
    assert sum(one.cache_info().currsize for one in caches) > 10
    memory._worker.stop()
    memory.forget(fact=fact(memory, "Quxley"))
    assert kept() == []
    let_go()
    assert sum(one.cache_info().currsize for one in caches) == 0


def test_a_copy_follows_what_the_original_forgot(tmp_path: Path) -> None:
    extractor = ScriptedExtractor(read)
    with open_memory(tmp_path / "m.db", scope="Ana", extractor=extractor) as memory:
        tell(memory, "I live in Oslo. My dog is called Rex.", "Zoe is the boss of Ben.")
        tell(memory, "My PIN is 4711.", session="t")
        tell(memory, "My PIN is 4711.", session="u")
        tell(memory, "I live in Lima.", session="v", speaker="Ben")
    shutil.copy(tmp_path / "m.db", tmp_path / "copy.db")
    with open_memory(tmp_path / "m.db", scope="Ana", extractor=extractor) as memory:
        memory.forget(fact=fact(memory, "Oslo"))
        memory.forget(entity="Zoe")
        memory.forget(session="t")
        memory.reject(fact(memory, "Lima"))
        expected = texts(memory), [(one.id, one.status) for one in memory.facts()]
    with open_memory(tmp_path / "copy.db", scope="Ana", extractor=extractor) as copy:
        assert "I live in Oslo. My dog is called Rex." in texts(copy)
        receipt = copy.follow(f"sqlite:///{tmp_path / 'm.db'}")
        assert (texts(copy), [(one.id, one.status) for one in copy.facts()]) == expected
        assert "My PIN is 4711." in texts(copy)  # its twin was not forgotten
        assert receipt.state == "erased"
        assert len(copy.bans()) == 4
        assert copy.follow(tmp_path / "m.db").state == ""
        assert tell(copy, "Zoe was here.", session="w").refused
        assert traces(tmp_path, "Oslo") == []
    with (
        open_memory(tmp_path / "other.db", scope="Ana") as other,
        pytest.raises(InvalidInput, match="no copy"),
    ):
        other.follow(tmp_path / "m.db")
    nowhere = tmp_path / "nowhere.db"
    with open_memory(tmp_path / "other.db") as other, pytest.raises(NotFound, match="nowhere"):
        other.follow(nowhere)
    assert not nowhere.exists()


def test_another_scope_keeps_what_this_one_forgets(memory):
    ben = Scope("Ben")
    tell(memory, "I live in Oslo. My dog is called Rex.")
    memory.remember([Message("I live in Oslo.", speaker="Ana")], scope=ben, session="s")
    memory.drain(30)
    before = memory.facts(ben), memory.passages(ben), memory._store.log(ben)
    memory.forget(fact=fact(memory, "Oslo"))
    memory.forget(query="forget everything about Ana", preview=False)
    memory.forget(everything=True) if texts(memory) else None
    assert (memory.facts(ben), memory.passages(ben), memory._store.log(ben)) == before
    memory.remember([Message("I live in Oslo.", speaker="Ana")], scope=ben, session="t")
    assert len(memory.passages(ben)) == 2
    assert memory.bans(ben) == []


def test_what_is_beside_a_message_goes_where_it_names_what_goes(memory):
    """Its title and its metadata; a later delivery does not bring them back."""
    noon = datetime(2025, 3, 1, 12, tzinfo=timezone.utc)
    data = {"city": "Oslo", "by": "Ana"}
    told = Message("I live in Oslo. It rains.", speaker="Ana", said_at=noon, metadata=data)
    other = Message("I live in Ghent.", speaker="Bo", metadata={"by": "Bo"})
    memory.remember([told, other], session="s")
    assert memory.drain(30) == 0
    page = Message("Kim is the boss of Lee. It snows.", role="document", title="About Lee")
    memory.remember(page)
    assert memory.drain(30) == 0
    memory.forget(fact=fact(memory, "Oslo"))
    memory.forget(fact=fact(memory, "Lee"))
    for _ in range(2):
        said = everywhere(memory, "Where does Ana live?", "Who is whose boss?")
        assert "Oslo" not in said
        assert "Lee" not in said
        beside = {one.text.strip(): (one.title, dict(one.metadata)) for one in memory.passages()}
        assert beside["It rains."] == ("", {})
        assert beside["It snows."] == ("", {})
        assert beside["I live in Ghent."] == ("", {"by": "Bo"}), "the control"
        earlier = replace(told, said_at=noon - timedelta(days=1))
        memory.remember([told, earlier, other], session="s")
        memory.remember(page)
        assert memory.drain(30) == 0

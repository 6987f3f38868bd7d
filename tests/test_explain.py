"""Why a passage was recalled, and why not: on the shipped conversation and on small memories."""

from __future__ import annotations

import io
import json
import re
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from builders import NOON
from graphmem import Explanation, GraphMemory, Message, Scope, Triple, cli, demo
from graphmem.display.terminal import show_explanation
from graphmem.errors import InvalidInput
from graphmem.experiments.checking import Stored, faults
from graphmem.extractors.rules import RulesExtractor
from graphmem.recall import explain
from graphmem.testing import HashEmbedder, ScriptedExtractor
from graphmem.views import Shown
from graphmem.words import terms, words

CONVERSATION = demo.load()
VERA = "Aunt Vera lives in Tavistock."
PAVEL = "Pavel plays the accordion."
TAVISTOCK = "Tavistock has a canal with trout."
SCRIPT = {
    VERA: [("Aunt Vera", "lives in", "Tavistock")],
    PAVEL: [("Pavel", "plays", "accordion")],
    TAVISTOCK: [("Tavistock", "has", "canal")],
}
QUESTION = "Where does Aunt Vera live?"


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The demo as it is played, with the bundled model and the rules."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('explain') / 'demo.db'}"
    demo.run(Console(file=io.StringIO()), uri=uri, extractor=RulesExtractor())
    with GraphMemory.open(uri, scope=CONVERSATION.user) as memory:
        yield memory


@pytest.fixture
def memory(tmp_path):
    with opened(tmp_path) as memory:
        memory.remember(list(SCRIPT), session="s1")
        assert memory.drain(30) == 0
        yield memory


def opened(path, script=SCRIPT, **options):
    return GraphMemory.open(
        path / "memory.db",
        scope="ana",
        **{"embed_model": HashEmbedder(), "extractor": ScriptedExtractor(script), **options},
    )


class Down(HashEmbedder):
    """An embedder that does not answer."""

    def embed(self, texts):
        raise ConnectionError("the server is down")


def id_of(memory, text, **options):
    return next(one.id for one in memory.passages(**options) if one.text == text)


def total(parts):
    """As the score is added up: Python's own ``sum`` rounds otherwise from 3.12 on."""
    added = 0.0
    for part in parts:
        added += part.score
    return added


def check(memory, found):
    """Every step of an explanation exists in the store, and its parts add up."""
    assert not faults(found, Stored.of(memory, found.scope))
    index = memory._indexes.current(memory.scope)
    for step in found.steps:
        if step.kind == "alike":
            one, other = index.entities.ids.find([step.source.id, step.target.id])
            assert other in index.entities.synonyms.row(one)
    assert all(0 <= path.share <= 1 for path in found.paths)
    assert sum(path.share for path in found.paths if path.part == "walk") <= 1 + 1e-9
    assert {path.part for path in found.paths} <= {"newer", "itself", "walk", "bridge"}
    assert json.loads(json.dumps(found.as_dict())) == found.as_dict()


# --- why -----------------------------------------------------------------------------------------


def test_every_recalled_passage_of_the_conversation_is_explained(played):
    kinds = set()
    for question in CONVERSATION.questions:
        recall = played.recall(question.text)
        for place, ranked in enumerate(recall):
            found = played.explain(recall, place)
            assert (found.outcome, found.rank, found.score) == ("recalled", place + 1, ranked.score)
            assert found.passage == ranked.passage
            assert not found.notes
            check(played, found)
            kinds |= {step.kind for step in found.steps}
    assert {"fits", "names", "end", "fact", "mention", "answers", "bridge"} <= kinds


def test_other_passages_of_the_conversation_are_explained(played):
    recall = played.recall(CONVERSATION.questions[0].text)
    shown = {ranked.passage.id for ranked in recall}
    outcomes, scores = set(), {}
    for passage in played.passages():
        found = played.explain(recall, passage)
        assert found.is_recalled == (passage.id in shown)
        if not found.is_recalled:
            assert found.above == recall.passages
            assert total(found.against) == recall[-1].score
        if found.rank is not None:
            check(played, found)
            scores[found.rank] = found.score
        outcomes.add(found.outcome)
    assert {"recalled", "outranked"} <= outcomes
    assert sorted(scores) == list(range(1, len(scores) + 1))
    below = [score for rank, score in sorted(scores.items()) if rank > 10]
    assert below == sorted(below, reverse=True)
    deep = played.recall(recall.query, top_k=10)
    assert [ranked.score for ranked in deep] == [scores[rank] for rank in range(1, 11)]


def test_a_path_goes_from_the_question_over_facts_and_entities_to_the_words(memory):
    recall = memory.recall(QUESTION)
    found = memory.explain(recall, recall[0])
    check(memory, found)
    path = next(one for one in found.paths if one.steps[0].kind == "fits")
    assert [step.kind for step in path.steps] == ["fits", "end", "mention"]
    assert path.steps[0].facts[0].text == "Aunt Vera lives in Tavistock"
    assert path.steps[0].quotes[0].text == VERA
    assert path.steps[-1].quotes[0].message_id == recall[0].passage.message_id


def test_an_explanation_is_text_one_step_a_line(memory):
    recall = memory.recall(QUESTION)
    found = memory.explain(recall, 0)
    lines = str(found).splitlines()
    assert lines[0].startswith("recalled: rank 1 by the graph route")
    steps = [line for line in lines if " → " in line]
    assert [line.split()[0] for line in steps[:3]] == ["fits", "end", "mention"]
    assert len(set(steps)) <= sum(len(path.steps) for path in found.paths)
    told = re.findall(r"\[(\d+)\]", "".join(steps))
    words = [line for line in lines if re.match(r" +\[\d+\] ", line)]
    assert sorted({*map(int, told)}) == list(range(1, len(words) + 1))
    assert VERA in words[0]
    assert words[0].endswith(recall[0].passage.message_id)
    assert repr(found).startswith("<Explanation 'Where does Aunt Vera live?'")


def test_words_are_told_as_they_were_asked(memory):
    found = memory.explain("Which canals has Tavistock?", id_of(memory, TAVISTOCK))
    (itself,) = [step for step in found.steps if step.kind == "answers"][:1]
    assert itself.meaning.startswith("words of the question: canals, tavistock (covered 0.")


def test_words_are_told_of_the_message_that_has_them(played):
    """Neighbours count with a message, and are not taken for it."""
    counted = {"own": 0, "beside": 0}
    for asked in CONVERSATION.questions:
        recall = played.recall(asked.text)
        for ranked in recall:
            found = played.explain(recall, ranked)
            for step in found.steps:
                if step.kind != "answers" or step.target.id != ranked.passage.id:
                    continue
                told = step.meaning.partition("words of the question: ")[2].partition(" (")[0]
                told, _, beside = told.partition("beside it ")
                own, _, read = told.partition("in its facts ")
                has = terms(words(ranked.passage.full_text))
                for which, some in (("own", own), ("beside", read), ("beside", beside)):
                    for word in filter(None, some.strip(", ").split(", ")):
                        assert (not terms([word]) - has) == (which == "own"), (word, told)
                        counted[which] += 1
    assert min(counted.values()) > 5


def test_of_ways_through_the_same_places_the_text_tells_one(played):
    for asked in CONVERSATION.questions:
        recall = played.recall(asked.text)
        for rank in range(len(recall)):
            found = played.explain(recall, rank)
            told = [line for line in str(found).splitlines() if line.endswith(":")]
            more = [line for line in str(found).splitlines() if " more way" in line]
            count = sum(int(line.split()[1]) for line in more)
            assert len(told) + count == len(found.paths)
            assert told


def test_who_is_asked_in_words_or_by_a_recall_hears_the_same(memory):
    recall = memory.recall(QUESTION, top_k=2)
    ranked = recall[1]
    ways = [1, ranked, ranked.passage, ranked.passage.id]
    told = [memory.explain(recall, way) for way in ways]
    told.append(memory.explain(QUESTION, ranked.passage.id, top_k=2))
    assert len({str(one) for one in told}) == 1
    assert isinstance(told[0], Explanation)


@pytest.mark.parametrize(
    ("recall", "passage", "options"),
    [
        (None, "p", {}),
        ("x", 0, {}),
        ("x", True, {}),
        ("x", None, {}),
        ("x", "p", {"top_k": 0}),
        ("x", "p", {"as_of": datetime(2025, 1, 1)}),
    ],
)
def test_wrong_arguments_are_refused(memory, recall, passage, options):
    with pytest.raises(InvalidInput):
        memory.explain(recall, passage, **options)


def test_a_recall_brings_its_scope_and_has_so_many_places(memory):
    recall = memory.recall(QUESTION)
    with pytest.raises(InvalidInput, match="no place 3"):
        memory.explain(recall, 3)
    with pytest.raises(InvalidInput, match="brings its scope"):
        memory.explain(recall, 0, scope="zoe")
    assert memory.explain(recall, 2).is_recalled


def test_it_is_said_that_a_rank_has_changed(memory):
    recall = memory.recall(QUESTION)
    assert memory.explain(recall, 1).notes == ()
    memory.forget(passage=recall[0].passage.id)
    memory.drain(30)
    moved = memory.explain(recall, 1)
    assert moved.is_recalled
    assert "had rank 2 in the recall that was passed, and is rank 1 now" in moved.notes[0]


# --- routes --------------------------------------------------------------------------------------


def test_every_route_is_explained(tmp_path):
    """Before anything was read or embedded, then with vectors alone, then with facts."""
    with opened(tmp_path, workers=0, embed_model=Down()) as memory:
        for text in SCRIPT:
            memory.remember(text)
        id_ = id_of(memory, VERA)
        lexical = memory.explain(QUESTION, id_)
        assert (lexical.outcome, lexical.route) == ("recalled", "lexical")
        assert any("not read yet" in note for note in lexical.notes)
        assert any("no vector yet" in note for note in lexical.notes)
        check(memory, lexical)
        assert memory.explain(QUESTION, id_of(memory, PAVEL)).outcome == "not reached"
        empty = memory.explain("   ", id_)
        assert (empty.outcome, empty.route) == ("not reached", "empty")
    with opened(tmp_path, script={}) as memory:
        assert memory.drain(30) == 0
        dense = memory.explain(QUESTION, id_)
        assert (dense.outcome, dense.route, dense.notes) == ("recalled", "dense", ())
        assert {part.name for part in dense.parts} == {"itself", "own words"}
        check(memory, dense)


def test_what_is_newer_stands_above_what_it_replaced(tmp_path):
    old, new = "Ana lives in Oslo.", "Ana moved: Ana lives in Ghent."
    script = {old: [("Ana", "lives in", "Oslo")], new: [("Ana", "lives in", "Ghent")]}
    others = [f"Number {n} is a fine bus to take." for n in range(12)]
    with opened(tmp_path, script) as memory:
        memory.remember(Message(old, said_at=NOON, speaker="Bob"), session="a")
        later = Message(new, said_at=NOON + timedelta(days=9), speaker="Bob")
        memory.remember(later, session="b")
        memory.remember(others, session="c")
        memory.drain(30)
        question = "Does Ana live in Oslo, lives Ana in Oslo?"
        recall = memory.recall(question)
        assert [one.passage.text for one in recall][:2] == [new, old]
        found = memory.explain(recall, 0)
        check(memory, found)
        lifted = [path for path in found.paths if path.part == "newer"]
        assert bool(lifted) == (recall[0].score < recall[1].score)
        assert lifted
        assert lifted[0].steps[-1].kind == "newer"
        assert [fact.object for fact in lifted[0].steps[-1].facts] == ["Ghent", "Oslo"]
        assert not [p for p in memory.explain(recall, 1).paths if p.part == "newer"]
        below = memory.explain(question, recall[1].passage.id, top_k=1)
        assert below.outcome == "withheld"
        assert below.reason.startswith("superseded: ")


def test_the_bridge_names_its_first_hop(played):
    for question in CONVERSATION.questions:
        recall = played.recall(question.text)
        for place in range(len(recall)):
            found = played.explain(recall, place)
            bridges = [path for path in found.paths if path.part == "bridge"]
            parts = {part.name: part.score for part in found.parts}
            assert bool(bridges) == ("bridge" in parts)
            for path in bridges:
                step = path.steps[-1]
                assert step.weight == parts["bridge"]
                assert (step.source.kind, step.target.id) == ("passage", found.passage_id)
                assert "both name" in step.meaning


# --- why not -------------------------------------------------------------------------------------


def test_what_was_outranked_stands_against_what_was_shown(memory):
    recall = memory.recall(QUESTION, top_k=1)
    other = memory.explain(recall, id_of(memory, TAVISTOCK))
    assert other.outcome == "outranked"
    assert other.above == recall.passages
    assert total(other.against) == recall[0].score > other.score
    check(memory, other)
    deep = memory.recall(QUESTION, top_k=other.rank)
    assert deep[other.rank - 1].passage.id == other.passage_id
    assert memory.explain(QUESTION, other.passage_id, top_k=other.rank).outcome == "recalled"


def test_what_is_not_reached_says_how_far_it_is(tmp_path):
    with opened(tmp_path, workers=0, embed_model=Down()) as memory:
        memory.remember(VERA)
        memory.remember(PAVEL)
        far = memory.explain(QUESTION, id_of(memory, PAVEL))
        assert far.outcome == "not reached"
        assert "none of its words, similarity" in far.reason
        assert (far.rank, far.score, far.paths) == (None, None, ())
        assert memory.explain(QUESTION, id_of(memory, VERA)).outcome == "recalled"


@pytest.mark.parametrize("ruling", ["reject", "dispute"])
def test_what_is_withheld_is_named_with_its_reason(memory, ruling):
    fact = next(one for one in memory.facts() if one.object == "Tavistock")
    id_, asked = id_of(memory, VERA), "Has Tavistock a canal with trout?"
    before = memory.explain(asked, id_, top_k=1)
    assert (before.outcome, before.withheld) == ("outranked", ())
    getattr(memory, ruling)(fact, actor="Ana")
    after = memory.explain(asked, id_, top_k=1)
    assert after.outcome == "withheld"
    assert [one.passage.text for one in after.above] == [TAVISTOCK]
    assert [one.id for one in after.withheld] == [fact.id]
    assert after.withheld[0].status == {"reject": "rejected", "dispute": "disputed"}[ruling]


def test_an_assistants_guess_is_withheld(tmp_path):
    guess = "Perhaps Aunt Vera lives in Truro."
    script = {**SCRIPT, guess: [("Aunt Vera", "lives in", "Truro")]}
    with opened(tmp_path, script) as memory:
        said = [VERA, Message(guess, role="assistant"), PAVEL, TAVISTOCK]
        memory.remember(said, session="s")
        memory.drain(30)
        asked = "Where in Tavistock is Vera?"
        found = memory.explain(asked, id_of(memory, guess), top_k=2)
        assert found.outcome == "withheld"
        assert [(one.object, one.status) for one in found.withheld] == [("Truro", "candidate")]
        assert found.reason.startswith("candidate: ")
        assert "withheld, candidate: Aunt Vera lives in Truro" in str(found)
        assert memory.explain(asked, id_of(memory, PAVEL), top_k=2).outcome == "outranked"
        assert memory.explain(asked, id_of(memory, VERA), top_k=2).withheld == ()


def test_what_was_forgotten_says_when_and_by_whom_but_not_its_words(memory):
    id_, other = id_of(memory, VERA), id_of(memory, PAVEL)
    memory.forget(passage=id_, actor="Nell", reason="asked to")
    found = memory.explain(QUESTION, id_)
    assert found.outcome == "forgotten"
    assert "by Nell: asked to" in found.reason
    assert str(datetime.now(timezone.utc).year) in found.reason
    assert found.passage is None
    assert "Tavistock" not in str(found)
    assert memory.explain(QUESTION, other).is_recalled
    memory.forget(everything=True, actor="Zoe")
    assert "by Zoe" in memory.explain(QUESTION, other).reason


def test_another_scope_is_not_told_of(memory):
    secret = "Zoe keeps a tortoise in Tavistock."
    memory.remember(secret, scope="zoe")
    memory.drain(30)
    (passage,) = memory.passages("zoe")
    elsewhere = memory.explain(QUESTION, passage.id)
    nowhere = memory.explain(QUESTION, "p-0000")
    assert elsewhere.outcome == nowhere.outcome == "not in this scope"
    assert elsewhere.reason == nowhere.reason
    assert "tortoise" not in str(elsewhere)
    assert memory.explain(QUESTION, passage.id, scope="zoe").is_recalled
    memory.forget("zoe", passage=passage.id)
    assert memory.explain(QUESTION, passage.id).outcome == "not in this scope"
    assert memory.explain(QUESTION, passage.id, scope="zoe").outcome == "forgotten"


def test_agents_of_one_user_are_scopes_of_their_own(memory):
    agent = Scope("ana", "kit")
    assert memory.explain(QUESTION, id_of(memory, VERA), scope=agent).outcome == "not in this scope"
    assert memory.explain(QUESTION, id_of(memory, VERA), scope="ana").is_recalled


def test_of_another_session(memory):
    memory.remember("Trout swim in Tavistock.", session="s2")
    memory.drain(30)
    id_ = id_of(memory, VERA)
    assert memory.explain(QUESTION, id_, session="s2").outcome == "other session"
    assert memory.explain(QUESTION, id_, session="s1").is_recalled
    assert memory.explain(QUESTION, id_, session="nobody's").outcome == "other session"


def test_of_another_time(tmp_path):
    before = datetime.now(timezone.utc)
    with opened(tmp_path) as memory:
        memory.remember(Message(VERA, said_at=NOON), session="s1")
        memory.remember(Message(TAVISTOCK, said_at=NOON + timedelta(days=30)), session="s1")
        memory.drain(30)
        old, new = id_of(memory, VERA), id_of(memory, TAVISTOCK)
        then = NOON + timedelta(days=2)
        later = memory.explain(QUESTION, new, as_of=then)
        assert (later.outcome, later.as_of) == ("not of that time", then)
        found = memory.explain(memory.recall(QUESTION, as_of=then), old)
        assert (found.outcome, found.as_of) == ("recalled", then)
        check(memory, found)
        unknown = memory.explain(QUESTION, old, known_at=before)
        assert (unknown.outcome, unknown.reason) == ("not of that time", "it was not known then")
        now = datetime.now(timezone.utc)
        assert memory.explain(QUESTION, old, known_at=now).is_recalled


# --- elsewhere -----------------------------------------------------------------------------------


def test_another_memorys_writes_are_explained(tmp_path):
    with opened(tmp_path) as one, opened(tmp_path) as other:
        one.remember(VERA)
        assert one.drain(30) == 0
        assert other.explain(QUESTION, id_of(one, VERA)).is_recalled
        one.remember(TAVISTOCK)
        one.drain(30)
        assert other.explain(QUESTION, id_of(one, TAVISTOCK)).is_recalled


def test_what_was_shown_last_may_be_forgotten_meanwhile(memory):
    whole = memory.explain(QUESTION, id_of(memory, PAVEL), top_k=1)
    assert whole.outcome == "outranked"
    assert total(whole.against) == whole.above[-1].score
    (last,) = [ranked.passage.id for ranked in whole.above]
    index, words = memory._indexes.current(memory.scope), memory.recall(QUESTION).query
    shown = Shown(memory._store, memory.scope)

    def read(passages, facts, entities):
        rows = shown(passages, facts, entities)
        rows.passages.pop(last, None)
        return rows

    vector = HashEmbedder().embed_query(words)
    id_ = whole.passage_id
    found = explain(index, words, vector, read, passage_id=id_, scope=memory.scope, top_k=1)
    assert (found.outcome, found.above, found.against) == ("outranked", (), ())
    assert "last shown" not in str(found)
    assert "last shown" in str(whole)


def test_stored_words_do_not_steer_a_terminal(tmp_path):
    wild = "Zoe\x1b[31m lives in\u202e Rome\x07."
    script = {wild: [("Zoe\x1b[31m", "lives in", "Rome\x07")]}
    with opened(tmp_path, script) as memory:
        memory.remember([wild, VERA], speaker="E\x1b[2Jve", session="s")
        memory.drain(30)
        recall = memory.recall("Where does Zoe live? \x1b[2J")
        found = memory.explain(recall, 0)
        assert "\x1b" in found.passage.text or "\x1b" in recall.query
        out = io.StringIO()
        show_explanation(Console(file=out, width=80), found)
        for shown in (str(found), repr(found), out.getvalue()):
            assert "Rome" in shown or "Zoe" in shown
            assert not set(shown) & set("\x1b\x07\u202e")


def test_the_command_explains(tmp_path, capsys):
    path = tmp_path / "memory.db"
    with GraphMemory.open(path, scope="ana", extractor=ScriptedExtractor(SCRIPT)) as memory:
        memory.remember([*SCRIPT, "Zoe\x1b[31m is a tortoise."], session="s1")
        memory.drain(30)
        missing = id_of(memory, PAVEL)
    asked = ["recall", QUESTION, "--uri", str(path), "--scope", "ana", "--top-k", "1"]
    assert cli.main([*asked, "--explain", "--why-not", missing]) == 0
    out = capsys.readouterr().out
    assert "recalled: rank 1" in out
    assert "outranked: rank" in out
    assert "fits 1.000" in out
    assert cli.main([*asked, "--json", "--why-not", missing]) == 0
    capsys.readouterr()
    assert cli.main([*asked, "--json", "--why-not", missing, "--why-not", "p-nobody"]) == 1
    data = json.loads(capsys.readouterr().out)
    outcomes = [one["outcome"] for one in data["explanations"]]
    assert outcomes == ["outranked", "not in this scope"]
    assert data["explanations"][0]["above"][0].items() <= data["passages"][0].items()
    assert cli.main([*asked, "--json"]) == 0
    assert "explanations" not in json.loads(capsys.readouterr().out)


def test_the_help_shows_how_to_ask_why(capsys):
    with pytest.raises(SystemExit):
        cli.main(["recall", "--help"])
    assert "--explain" in capsys.readouterr().out.split("example:")[1]


# --- any memory ----------------------------------------------------------------------------------

NAMES = ["Ada", "Bo", "Cleo", "Dov", "Eli Vane", "Rome", "Oslo", "tea"]
FACTS = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(["likes", "knows", "saw"]), st.sampled_from(NAMES)
).filter(lambda one: one[0] != one[2])


@given(
    told=st.lists(st.lists(FACTS, max_size=3), min_size=1, max_size=8),
    asked=st.lists(st.sampled_from([*NAMES, "likes", "winter"]), min_size=1, max_size=3),
    top_k=st.integers(1, 6),
)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_recalled_passage_has_a_path(tmp_path_factory, told, asked, top_k):
    texts = [
        f"Note {n}. " + " ".join(f"{' '.join(fact)}." for fact in facts)
        for n, facts in enumerate(told)
    ]
    script = {
        text: [Triple(*fact) for fact in facts] for text, facts in zip(texts, told, strict=True)
    }
    with opened(tmp_path_factory.mktemp("any"), script) as memory:
        memory.remember(texts, session="s")
        memory.drain(30)
        recall = memory.recall(" ".join(asked), top_k=top_k)
        for place, ranked in enumerate(recall):
            found = memory.explain(recall, place)
            assert found.is_recalled
            assert found.score == ranked.score
            check(memory, found)

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NOON
from graphmem.errors import InvalidInput
from graphmem.recall import question_text, recall
from graphmem.recall.prior import weigh
from graphmem.recall.question import ask as ask_index
from graphmem.recall.sight import look
from graphmem.settings import RecallSettings
from graphmem.testing import HashEmbedder
from graphmem.types import Changes
from worlds import OWNER, Said, World, ask, facts_of, ids
from worlds import Memory as Index

# Two hops: the film's director, then where she grew up. The second passage shares no word with the
# question, and others do.
FILMS = [
    Said(
        "film",
        "Salt Road is a film directed by Iva Kos.",
        [("Salt Road", "is a", "film"), ("Salt Road", "directed by", "Iva Kos")],
        title="Salt Road",
    ),
    Said(
        "kos",
        "Iva Kos grew up in Motovun.",
        [("Iva Kos", "grew up in", "Motovun")],
        title="Iva Kos",
    ),
    Said("director", "A director leads actors."),
    Said("raised", "Raised beds were dug.", [("beds", "need", "soil")]),
    Said("born", "Many people are born in towns.", [("people", "born in", "towns")]),
    Said("oslo", "Oslo is the capital of Norway.", [("Oslo", "is capital of", "Norway")]),
]
QUESTION = "Where was the director of the film Salt Road raised?"


def test_a_second_hop_that_dense_search_misses():
    index = World(FILMS).index()
    found = ask(index, QUESTION)
    assert found.route == "graph"
    assert ids(found)[:2] == ["film", "kos"]
    bare = World([replace(one, triples=()) for one in FILMS]).index()
    flat = ask(bare, QUESTION)
    assert flat.route == "dense"
    assert "kos" not in ids(flat)[:2]


def test_the_facts_on_the_way_lead_from_the_question_to_each_passage():
    found = ask(World(FILMS).index(), QUESTION)
    by_id = {one.passage.id: [fact.text for fact in one.facts] for one in found}
    assert "Salt Road directed by Iva Kos" in by_id["film"]
    assert by_id["kos"] == ["Iva Kos grew up in Motovun"]
    seeds = [hit.fact.text for hit in found.facts]
    assert seeds[:2] == ["Salt Road is a film", "Salt Road directed by Iva Kos"]
    assert [hit.score for hit in found.facts] == sorted(
        (h.score for h in found.facts), reverse=True
    )
    assert len(found.facts) <= RecallSettings().seed_most


def test_seeds_are_shares_of_the_reset_heaviest_first():
    found = ask(World(FILMS).index(), QUESTION)
    weights = [seed.weight for seed in found.seeds]
    assert weights == sorted(weights, reverse=True)
    assert 0 < sum(weights) <= 1 + 1e-9
    assert {"Salt Road", "Iva Kos"} <= {seed.entity.name for seed in found.seeds}


def prior_of(said: list[Said], asked: str, settings: RecallSettings) -> dict[str, float]:
    """h of each passage by id."""
    memory = World(said).index()
    question = ask_index(memory, asked, HashEmbedder().embed_query(asked))
    seen = look(memory, question, np.arange(len(said)), settings)
    found = weigh(memory, question, seen, settings, len(said))
    return dict(zip(memory.passages.ids.texts(found.passages), found.scores.tolist(), strict=True))


def test_a_document_about_what_the_question_names_answers_better_by_itself():
    asked = "Is there a ferry at noon where Motovun has a hill?"
    off, on = RecallSettings(topic_weight=0.0), RecallSettings(topic_weight=1.0)
    said = [
        Said("ferry", "Ferry to Motovun at noon.", [("boat", "sails to", "Motovun")], title="Boat"),
        Said("town", "Old walls, on a hill.", [("Motovun", "has", "old walls")], title="Motovun"),
        *(Said(f"x{n}", f"Nothing of {n} here.", [(f"x{n}", "is", "far")]) for n in range(20)),
    ]
    silent, loud = prior_of(said, asked, off), prior_of(said, asked, on)
    assert (silent["ferry"], loud["town"]) == (1.0, 1.0)
    assert silent["town"] / silent["ferry"] < loud["town"] / loud["ferry"]
    # Of a message, what it is about says little.
    spoken = [replace(one, title="", speaker="Zoe", session=one.id) for one in said]
    assert prior_of(spoken, asked, off) == prior_of(spoken, asked, on)


def test_a_question_that_names_a_speaker_is_about_what_was_said():
    said = [
        Said("notes", "The boat leaks at the stern."),
        Said("talk", "The boat leaks at the stern.", speaker="Zoe", session="s"),
        Said("chat", "Which stern?", speaker="Bo", session="s2"),
    ]
    settings = RecallSettings(speaker_weight=0.0)
    plain = prior_of(said, "Where does the boat leak?", settings)
    named = prior_of(said, "Where did Zoe say the boat leaks?", settings)
    assert plain["notes"] == plain["talk"] == named["talk"] == 1.0 > named["notes"]


def test_of_neighbours_the_message_that_says_it_itself_comes_first():
    talk = told("Ana: how is the boat", "Bo: the boat leaks badly", "Ana: oh no", "Bo: well")
    leads = []
    for weight in (0.0, 0.5):
        settings = RecallSettings(own_weight=weight)
        found = ask(World(talk).index(), "boat leaks badly", settings=settings)
        assert ids(found)[0] == "s1"
        leads.append(found[0].score - found[1].score)
    assert leads[1] > leads[0]


def told(*lines, session="s", role="user"):
    """Messages "speaker: text" of one session, a minute apart."""
    rows = []
    for number, line in enumerate(lines):
        speaker, _, text = line.partition(": ")
        rows.append(
            Said(
                f"{session}{number}",
                text,
                speaker=speaker,
                session=session,
                said_at=NOON + timedelta(minutes=number),
                role=role,
            )
        )
    return rows


ROUTES = [
    ("nothing stored", [], "Oslo", HashEmbedder(), "empty", "nothing is stored"),
    ("blank question", FILMS, "  ", HashEmbedder(), "empty", "question is empty"),
    ("no question vector", FILMS, QUESTION, None, "lexical", "words alone"),
    (
        "few facts",
        [*FILMS[:1], *(Said(f"x{n}", f"plain text number {n}") for n in range(9))],
        QUESTION,
        HashEmbedder(),
        "dense",
        "only 10% of the passages",
    ),
    ("seeds", FILMS, QUESTION, HashEmbedder(), "graph", "seeded by facts: "),
]


@pytest.mark.parametrize(
    ("said", "query", "embedder", "route", "reason"),
    [case[1:] for case in ROUTES],
    ids=[case[0] for case in ROUTES],
)
def test_routes_and_their_reasons(said, query, embedder, route, reason):
    found = ask(World(said).index(), query, embedder=embedder)
    assert found.route == route
    assert reason in found.reason
    assert bool(found.passages) == (route != "empty")
    assert bool(found.seeds) == (route == "graph")
    assert found.timings["total"] > 0


def test_a_memory_whose_facts_are_all_withheld_has_no_seeds():
    said = [replace(one, status="candidate") for one in FILMS]
    found = ask(World(said).index(), "where was it directed")
    assert found.route == "dense"
    assert "no fact fits" in found.reason
    assert ids(found)
    assert found.facts == ()
    by_name = ask(World(said).index(), QUESTION)
    assert by_name.route == "graph"
    assert {seed.reason for seed in by_name.seeds} == {"name"}


def test_a_passage_that_answers_by_itself_stays_up_where_the_walk_does_not_come():
    quiz = Said("quiz", QUESTION, [("pub", "has", "prizes")], status="candidate")
    # Without a share of the reset, and nothing leads to a pub.
    alone = RecallSettings(passage_weight=0.0)
    found = ask(World([*FILMS, quiz]).index(), QUESTION, settings=alone)
    scores = {one.passage.id: one.score for one in found}
    assert found.route == "graph"
    assert scores["quiz"] >= 1
    assert scores["film"] > scores["kos"] > 0


def test_withheld_facts_are_counted_and_shown_nowhere():
    said = [
        *FILMS,
        Said(
            "guess",
            "Salt Road was directed by Max Bor, I guess.",
            [("Salt Road", "was directed by", "Max Bor")],
            speaker="assistant",
            session="s",
            role="assistant",
            status="candidate",
        ),
    ]
    found = ask(World(said).index(), "Who directed Salt Road? Was it directed by Max Bor?")
    assert found.withheld == {"candidate": 1}
    shown = [hit.fact.text for hit in found.facts]
    shown += [fact.text for one in found for fact in one.facts]
    assert "Salt Road directed by Iva Kos" in shown
    assert not any("Max Bor" in text for text in shown)
    assert "guess" in ids(found)


def test_by_words_alone_only_passages_that_share_a_word_are_found():
    index = World(FILMS, None).index()
    assert ids(ask(index, "Norway", embedder=None)) == ["oslo"]
    nothing = ask(index, "zebra", embedder=None)
    assert nothing.route == "lexical"
    assert ids(nothing) == []


def test_a_message_is_found_by_what_stands_around_it():
    said = told(
        "Ana: what was the hotel in Ghent called?",
        "Zoe: Drabstraat 3, yes",
        "Ana: thanks",
    ) + told("Ana: I had soup", "Zoe: Drabber than ever", "Ana: fine", session="t")
    found = ids(ask(World(said).index(), "the hotel in Ghent", top_k=3))
    assert found[:2] == ["s0", "s1"]


def test_speakers_are_hubs_and_leave_the_question():
    said = told("Ana: my cat is Tom", "Zoe: Ana sees the sea", "Ana: a dog", "Zoe: rain")
    index = World(said).index()
    assert question_text(index, "What is Ana's cat called?") == "What is cat called?"
    assert question_text(index, "Ana Zoe") == "Ana Zoe"
    assert ids(ask(index, "What is Ana's cat?"))[0] == "s0"
    documents = World(FILMS).index()
    assert question_text(documents, "What is Ana's cat called?") == "What is Ana's cat called?"


def test_the_speaker_who_is_asked_about_comes_first():
    said = told("Ana: I like jazz", "Bo: I like jazz", "Cy: rain", "Dee: snow")
    spread = [replace(one, session=one.id) for one in said]
    index = World(spread).index()
    assert ids(ask(index, "Does Bo like jazz?"))[0] == "s1"
    assert ids(ask(index, "Does Ana like jazz?"))[0] == "s0"


def home(day, place):
    return Said(
        f"home{day}",
        f"I live in {place} now",
        [("Maja", "lives in", place)],
        speaker="Maja",
        session=f"day{day}",
        said_at=NOON + timedelta(days=day),
    )


def test_later_stands_above_what_it_brings_up_to_date():
    others = told("Bo: it rains", "Bo: the bus was late", "Bo: soup again", session="z")
    index = World([home(1, "Oslo"), home(9, "Ghent"), *others]).index()
    question = "Maja lives in which place now, I guess"
    found = ids(ask(index, question, top_k=3))
    assert found[:2] == ["home9", "home1"]
    without = ask(index, question, top_k=3, settings=RecallSettings(later_among=0))
    assert ids(without)[:2] == ["home1", "home9"]


def test_one_session_alone():
    said = told("Ana: tea at five", session="a") + told("Ana: tea at six", session="b")
    index = World(said).index()
    assert set(ids(ask(index, "tea"))) == {"a0", "b0"}
    assert ids(ask(index, "tea", session="b")) == ["b0"]
    nothing = ask(index, "tea", session="c")
    assert nothing.route == "empty"
    assert "this session" in nothing.reason


def test_ties_go_by_id():
    said = [Said(key, "the same words") for key in ("c", "a", "b")]
    assert ids(ask(World(said).index(), "the same words")) == ["a", "b", "c"]


def test_no_more_than_asked_for():
    index = World(FILMS).index()
    assert [len(ask(index, QUESTION, top_k=k)) for k in (1, 3, 100)] == [1, 3, 6]
    scores = [one.score for one in ask(index, QUESTION, top_k=100)]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("top_k", [0, -1])
def test_fewer_than_one_is_refused(top_k):
    with pytest.raises(InvalidInput, match="top_k"):
        ask(World(FILMS).index(), QUESTION, top_k=top_k)


@pytest.mark.parametrize(
    "vector", [np.ones(3), np.ones((1, 64)), np.full(64, np.nan), np.full(64, np.inf)]
)
def test_a_vector_that_does_not_fit_is_refused(vector):
    index = World(FILMS).index()
    with pytest.raises(InvalidInput, match="vector"):
        recall(index, QUESTION, vector.astype(np.float32), index.read, scope=OWNER)


def test_a_memory_that_forgets_a_passage_answers_as_one_that_never_knew_it():
    index = World(FILMS).index()
    without = World(FILMS[:4]).index()
    gone = World(FILMS[4:]).changes()
    removed = frozenset([one.id for one in gone.passages] + [one.id for one in gone.facts])
    index.update(Changes(2, removed=removed))
    for question in (QUESTION, "Oslo in Norway", "born in towns"):
        found = ask(index, question)
        assert replace(found, timings={}) == replace(ask(without, question), timings={})
        assert "oslo" not in ids(found)


@given(st.text(max_size=60), st.integers(1, 8))
def test_any_question_is_answered(query, top_k):
    index = World([*FILMS, *told("Ana: hi", "Zoe: 頑張って")]).index()
    found = ask(index, query, top_k=top_k)
    assert len(found) <= top_k
    assert len(set(ids(found))) == len(found)
    assert all(np.isfinite(one.score) for one in found)
    assert found.route in ("graph", "dense", "empty")


def test_an_index_without_anything_answers():
    assert ask(Index(), QUESTION).route == "empty"


class Back(SimpleNamespace):
    """Another time: what held and what was known, by id."""

    def facts(self, ids):
        return {id_: self.held[id_] for id_ in ids if id_ in self.held}

    def passages(self, ids):
        return set(ids) - self.unknown


MOVES = [
    Said(
        f"in {place}",
        f"Maja lives in {place} since {NOON + timedelta(days=day):%B}",
        [("Maja", "lives in", place)],
        speaker="Maja",
        session=f"s{day}",
        said_at=NOON + timedelta(days=day),
    )
    for day, place in ((0, "Oslo"), (40, "Ghent"), (80, "Brno"))
]


def of_then(said, *, held, as_of=None, unknown=(), **options):
    """A recall of another time of a memory in which the last place replaced the others."""
    index = World(said).index()
    facts = {fact.object: fact for fact in facts_of(said)}
    now = facts["Brno"].id
    retired = {
        place: replace(one, retired_at=NOON, replaced_by=now)
        for place, one in facts.items()
        if place != "Brno"
    }
    index.update(Changes(2, facts=tuple(retired.values())))
    then = {one.id: one for place, one in (facts | retired).items() if place in held}
    past = Back(as_of=as_of, held=then, unknown=set(unknown))
    return ask(index, "Where does Maja live?", past=past, **options)


def test_of_another_time_what_held_then_seeds_and_is_shown():
    found = of_then(MOVES, held={"Ghent"}, as_of=NOON + timedelta(days=50))
    assert [hit.fact.object for hit in found.facts] == ["Ghent"]
    assert ids(found)[0] == "in Ghent"
    assert "in Brno" not in ids(found)
    assert {one.passage.id: [f.object for f in one.outdated] for one in found} == {
        "in Ghent": [],
        "in Oslo": ["Oslo"],
    }
    now = ask(World(MOVES).index(), "Where does Maja live?")
    assert "in Brno" in ids(now), "the control"


def test_what_is_told_later_of_that_time_belongs_to_it():
    told = replace(MOVES[2], text="Maja lived in Ghent then", triples=MOVES[1].triples)
    brno = replace(MOVES[2], id="brno", session="x")
    found = of_then([MOVES[0], told, brno], held={"Ghent"}, as_of=NOON + timedelta(days=50))
    assert "in Brno" in ids(found), "where the place is Ghent"
    assert "brno" not in ids(found)


def test_what_was_not_known_then_is_not_shown():
    found = of_then(MOVES, held={"Ghent"}, unknown={"in Brno"})
    assert sorted(ids(found)) == ["in Ghent", "in Oslo"]
    assert "in Brno" in ids(of_then(MOVES, held={"Ghent"})), "the control"
    nothing = of_then(MOVES, held={}, unknown={one.id for one in MOVES})
    assert (nothing.route, ids(nothing)) == ("empty", [])
    assert "of that time" in nothing.reason


def test_all_of_a_large_memory_is_looked_at_where_its_best_are_of_another_time():
    many = [replace(MOVES[2], id=f"b{number}", session=f"b{number}") for number in range(60)]
    few = RecallSettings(look_all=10, look_k=5)
    new = {one.id for one in many}
    found = of_then([*MOVES, *many], held={"Oslo"}, unknown=new, settings=few)
    assert "in Oslo" in ids(found)

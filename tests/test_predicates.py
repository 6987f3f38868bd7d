"""Relations and families: which spellings state the same, and what denies what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.families import FAMILIES, SINGLE_VALUED
from graphmem.identity import normal_form
from graphmem.predicates import affirmed, bare, key, read, relation, written
from graphmem.types import Triple


@pytest.mark.parametrize(
    ("predicate", "name"),
    [
        ("is no longer", "is"),
        ("isn't", "is"),
        ("is not", "is"),
        ("are not", "are"),
        ("is not a member of", "is a member of"),
        ("no longer lives in", "lives in"),
        ("does not eat", "eats"),
        ("doesn't watch", "watches"),
        ("does no longer carry", "carries"),
        ("do not eat", "eat"),
        ("never drinks", "drinks"),
        ("has never been to", "has been to"),
        ("will not come to", "will come to"),
        ("can't eat", "can eat"),
        ("does not live in any more", "lives in"),
        ("is_not_allergic_to", "is allergic to"),
        ("not allergic to", "allergic to"),
        ("does not currently work at", "works at"),
    ],
)
def test_a_denial_is_taken_out_of_a_predicate(predicate, name):
    assert (relation(predicate).name, relation(predicate).flips) == (name, True)


@pytest.mark.parametrize(
    "predicate",
    ["lives in", "must not eat", "did not go to", "has not drunk", "is not only", "never", "not",
     "is not just", "not only likes",
     "knows", "notices", "is notable for", "longer than", "rents"],
)  # fmt: skip
def test_what_is_no_denial_of_the_present(predicate):
    assert not relation(predicate).flips
    assert relation("is not").flips


def test_a_triple_denies_by_its_polarity():
    denial = affirmed(Triple("Priya", "is no longer", "vegan"))
    assert denial == Triple("Priya", "is", "vegan", polarity=False)
    assert affirmed(Triple("Ana", "is not", "at Acme any more")).object == "at Acme"
    assert affirmed(Triple("Ana", "likes", "jam anymore", polarity=False)).object == "jam"
    assert affirmed(Triple("Ana", "Is CEO of", "Acme")) == Triple("Ana", "Is CEO of", "Acme")
    assert affirmed(Triple("Ana", "wants", "any more")).object == "any more"
    assert affirmed(Triple("Ana", "doesn't like", "any more")).object == "any more"


NAME = st.text(alphabet="ab.'\"()[]<>*_`-5 \u00ab\u00bb\u300c\u300d\u2019\u0301", max_size=12)


@given(st.one_of(NAME, st.text(max_size=20)))
def test_a_name_in_normal_form_is_in_it_however_it_is_written(name):
    form = normal_form(bare(normal_form(name)))
    ways = written(form)
    assert len(ways) > 3
    if form:
        assert list(map(normal_form, ways)) == ways


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30), st.booleans())
def test_reading_never_raises_and_a_denial_is_read_once(subject, predicate, object_, polarity):
    triple = affirmed(Triple(subject, predicate, object_, polarity))
    assert affirmed(triple) == triple or relation(triple.predicate).flips
    said = read(triple.subject, triple.predicate, triple.object, triple.polarity)
    assert said.names


# --- families

SAME = [
    [("Ana", "works for", "Acme"), ("ana", "got a job at", "Acme"), ("Acme", "employs", "Ana"),
     ("Ana", "will work at", "ACME"), ("Ana's employer", "is", "Acme")],
    [("Ana", "employed_by", "Acme"), ("Ana", "employer", "Acme"), ("Ana", "has_employer", "Acme"),
     ("Ana", "worksAt", "Acme"), ("Ana", "current employer is", "Acme"),
     ("Ana", "hired by", "Acme")],
    [("Ana", "is allergic to", "nuts"), ("Ana", "allergic_to", "nuts")],
    [("Ana", "is a member of", "the choir"), ("Ana", "member of", "choir")],
    [("Ana", "married to", "Rui"), ("Ana", "spouse", "Rui"), ("Ana", "husband", "Rui")],
    [("Ana", "diet", "vegan"), ("Ana", "has_diet", "vegan"), ("Ana", "follows diet", "vegan")],
    [("Ana", "email", "ana@example.org"), ("Ana", "has new email", "ana@example.org")],
    [("Eva", "is", "CEO of Acme"), ("Eva", "became", "the new CEO of Acme"),
     ("Eva", "CEO of", "Acme"), ("Eva", "has been CEO of", "Acme"),
     ("Eva", "is the CEO of", "Acme"), ("Acme", "has_ceo", "Eva")],
    [("project", "deadline is", "Friday"), ("project", "deadline_moved_to", "Friday"),
     ("the project deadline", "was moved to", "Friday"), ("project's deadline", "is", "Friday")],
    [("wifi", "password changed to", "x9"), ("the new wifi password", "is", "x9")],
    [("fair", "date", "6 June"), ("fair", "rescheduled to", "6 June"),
     ("fair", "postponed until", "6 June"), ("fair", "got moved to", "6 June")],
    [("Ana", "current project is", "Apollo"), ("Ana", "current_project", "Apollo")],
    [("Ana", "lives in", "Oslo"), ("Ana", "moved to", "Oslo"), ("Ana", "now lives in", "Oslo"),
     ("Ana", "has since moved to", "Oslo"), ("Ana", "just moved to", "Oslo"),
     ("Ana", "recently relocated to", "Oslo"), ("Ana", "residence", "Oslo"),
     ("Ana", "has been living in", "Oslo"),
     ("Ana", "live in", "Oslo"), ("Ana", "Lives_In", "Oslo"), ("Ana's home", "is", "Oslo")],
    [("Ana's sister", "is called", "Lina"), ("Ana's sister", "now called", "Lina"),
     ("Ana's sister's name", "is", "Lina"),
     ("Lina", "is name of", "Ana's sister")],
    [("Rui", "is", "Ana's boss"), ("Rui", "is boss of", "Ana"),
     ("Ana", "reports to", "Rui"), ("Ana's boss", "is", "Rui")],
    [("Marta", "is builder of", "the house"), ("the house", "has builder", "Marta")],
    [("Ana", "is", "vegan"), ("Ana", "became", "a vegan"), ("Ana", "has been vegan since", "2020"),
     ("Ana", "eats fish but nothing else, is now", "vegan")],
    [("Ana", "favourite colour is", "red"), ("Ana", "favorite_color", "red"),
     ("Ana's favorite colour", "is", "red"),
     ("Ana", "has_favourite_colour", "red")],
    [("fair", "is on", "6 June 2026"), ("fair", "was moved to", "6 June 2026"),
     ("fair", "takes place on", "6 June 2026")],
    [("Ana", "loves", "jam"), ("Ana", "enjoys", "jam"), ("Ana", "likes", "jam")],
    [("Ana", "can't stand", "jam"), ("Ana", "hates", "jam")],
    [("France", "has capital", "Paris"), ("Paris", "is the capital of", "France")],
]  # fmt: skip


@pytest.mark.parametrize("spellings", SAME, ids=lambda group: group[0][1])
def test_spellings_of_one_family_are_one(spellings):
    assert len({key(*one, True) for one in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Ana", "works for", "Acme"), ("Ana", "administers", "Acme")),
        (("Ana", "works for", "Acme"), ("Acme", "works for", "Ana")),
        (("Ana", "rents", "flat 5"), ("Ana", "rent is", "flat 5")),
        (("book", "is on", "the table"), ("book", "takes place on", "the table")),
        (("fair", "moved to", "6 June 2026"), ("fair", "moved to", "Oslo")),
        (("Ana", "is", "vegan"), ("Ana", "is", "tall")),
        (("Ana", "favourite colour is", "red"), ("Ana", "favourite car is", "red")),
        (("Ana", "likes", "jam"), ("Ana", "hates", "jam")),
        (("Ana", "lives in", "Oslo"), ("Ana", "was born in", "Oslo")),
        (("Ana's brother", "is", "Rui"), ("Ana", "brother is", "Rui")),
        (("Ana", "tutors", "Rui"), ("Ana", "tutor is", "Rui")),
        (("they", "email", "Rui"), ("they", "email is", "Rui")),
        (("Ana", "dates", "Rui"), ("Ana", "date is", "Rui")),
        (("Ana", "painted in", "red"), ("Ana", "is painted in", "red")),
        (("Ana", "called", "Rui"), ("Ana", "is called", "Rui")),
        (("rent", "increased by", "50"), ("rent", "increased to", "50")),
        (("Ana", "also lives in", "Oslo"), ("Ana", "lives in", "Oslo")),
        (("Ana", "has been to", "Oslo"), ("Ana", "is", "to Oslo")),
        (("Ana", "has been moved to", "ward seven"), ("Ana", "moved to", "ward seven")),
        (("New York City", "is", "large"), ("New York", "lives in", "large")),
        (("Golden Gate", "is", "long"), ("Golden", "gate is", "long")),
        (("games", "held in", "1924"), ("games", "are held in", "1924")),
        (("today", "is", "Ana's birthday"), ("Ana", "birthday is", "today")),
        (("front door code", "is", "1"), ("back door code", "is", "1")),
        (("yoga", "is on", "Mondays"), ("yoga", "is on", "Monday")),
    ],
)
def test_what_is_alike_is_not_the_same(one, other):
    assert key(*one, True) != key(*other, True)
    assert key(*one, True) == key(*one, True)


def test_a_denial_has_the_key_of_a_denial():
    assert key("Ana", "is no longer", "vegan", True) == key("Ana", "is", "vegan", False)
    assert key("Ana", "is no longer", "vegan", False) == key("Ana", "is", "vegan", True)
    assert key("Ana", "is", "vegan", False) != key("Ana", "is", "vegan", True)


def test_registry_is_of_single_valued_families():
    assert {"lives in", "is boss of", "is (diet)", "favourite *"} <= SINGLE_VALUED
    assert SINGLE_VALUED.isdisjoint({"likes", "owns", "drives", "is", "is on"})
    names = [family.name for family in FAMILIES]
    assert len(names) == len(set(names))
    assert {other for family in FAMILIES for other in family.opposes} <= set(names)


def test_every_spelling_is_read_as_its_family():
    samples = {"diet": "vegan", "date": "6 June 2026", "age": "9 years old", "amount": "5 euros"}
    samples |= {"clock": "10:30", "place": "Oslo", "mark": "B4"}
    for family in FAMILIES:
        for spelling in family.spellings:
            bare, _, kind = spelling.partition(" (")
            said = read("it", bare.replace("*", "soup"), samples.get(kind[:-1], "that"))
            assert any(name.startswith(family.name) for name in said.names), spelling
            assert said.is_single == family.is_single, spelling


@pytest.mark.parametrize(
    ("object_", "is_date"),
    [("6 June 2026", True), ("the 6th of June", True), ("2026-06-06", True), ("June", False),
     ("Friday 6 June at 3 pm", True), ("Friday", True), ("next Tuesday evening", True),
     ("the 21st", True), ("the 5th floor", False), ("Monday's child", False),
     ("Rua 6, June Street", False), ("the shelf", False),
     ("Flat 5, Oslo on 26 July 2025", False), ("Tuesdays", False)],
)  # fmt: skip
def test_a_date_is_nothing_but_a_date(object_, is_date):
    assert ("date" in read("fair", "is on", object_).names) == is_date


# --- what ends what


@pytest.mark.parametrize(
    ("ender", "ended"),
    [
        (("Ana", "left", "Acme"), ("Ana", "works at", "Acme")),
        (("Ana", "resigned from", "Acme"), ("Acme", "employs", "Ana")),
        (("Ana", "moved out of", "Oslo"), ("Ana", "lives in", "Oslo")),
        (("Ana", "resigned from", "the board"), ("Ana", "is on", "the board")),
        (("Ana", "quit", "her job at Acme"), ("Ana", "works at", "Acme")),
        (("Ana", "quit Ana's job at", "Acme"), ("Ana", "works at", "Acme")),
        (("Ana", "cancelled", "Ana's membership at the gym"), ("Ana", "joined", "the gym")),
        (("Ana", "moved from", "Oslo to Rome"), ("Ana", "lives in", "Oslo")),
        (("Ana", "used to live in", "Oslo"), ("Ana", "moved to", "Oslo")),
        (("Ana", "used to be", "vegan"), ("Ana", "is", "vegan")),
        (("Ana", "formerly lived in", "Oslo"), ("Ana", "lives in", "Oslo")),
        (("Ana", "was previously employed by", "Acme"), ("Ana", "works for", "Acme")),
        (("Ana", "stopped working at", "Acme"), ("Ana", "works for", "Acme")),
        (("Ana", "stopped drinking", "coffee"), ("Ana", "drinks", "coffee")),
        (("Ana", "stopped", "drinking coffee"), ("Ana", "drinks", "coffee")),
        (("Ana", "gave up", "coffee"), ("Ana", "drinks", "coffee")),
        (("Ana", "has given up", "running"), ("Ana", "does", "running")),
        (("Ana", "sold", "the Clio"), ("Ana", "drives", "the Clio")),
        (("Ana", "broke up with", "Rui"), ("Ana", "is dating", "Rui")),
        (("Ana", "quit", "the choir"), ("Ana", "sings in", "the choir")),
        (("crate", "goes by", "sea instead of air"), ("crate", "goes by", "air")),
        (("Ana", "hates", "jam"), ("Ana", "loves", "jam")),
        (("Ana", "likes", "jam"), ("Ana", "can't stand", "jam")),
        (("Ana", "does not like", "jam"), ("Ana", "enjoys", "jam")),
    ],
)
def test_what_one_statement_ends(ender, ended):
    end, state = read(*ender), read(*ended)
    assert set(end.denies) & set(state.names)
    assert (end.subject, end.denied) == (state.subject, state.object)


@pytest.mark.parametrize(
    ("ender", "kept"),
    [
        (("Ana", "left", "Acme"), ("Ana", "works at", "Globex")),
        (("Ana", "left", "Acme"), ("Ana", "founded", "Acme")),
        (("Ana", "sold", "the Clio"), ("Ana", "painted", "the Clio")),
        (("Ana", "does not own", "the flat"), ("Ana", "rents", "the flat")),
        (("Ana", "does not play", "chess"), ("Ana", "is learning", "chess")),
        (("Ana", "hates", "jam"), ("Ana", "makes", "jam")),
        (("Ana", "did not leave", "Acme"), ("Ana", "works at", "Acme")),
    ],
)
def test_what_it_leaves_alone(ender, kept):
    end, state = read(*ender), read(*kept)
    is_same = (end.subject, end.denied) == (state.subject, state.object)
    assert not (is_same and set(end.denies) & set(state.names))
    assert state.names


def test_who_cannot_stand_it_dislikes_it():
    assert read("Ana", "can stand", "jam", False).names == ("dislikes",)
    assert read("Ana", "can stand", "jam", False) == read("Ana", "can't stand", "jam")
    assert read("Ana", "can stand", "jam", True).names != ("dislikes",)


def test_a_move_tells_both_homes():
    said = read("Ana", "moved from", "Oslo to Rome")
    assert (said.names, said.object, said.denied) == (("residence",), "rome", "oslo")
    assert said.is_single
    assert said.is_event


def test_what_is_so_instead_is_of_its_kind():
    said = read("party", "is on", "Wednesday, not Tuesday")
    assert (said.names, said.object, said.denied) == (("date",), "wednesday", "tuesday")
    assert read("party", "is on", "the lawn, not the porch").names[0] == "is on"


def test_reading_is_of_normal_forms():
    assert read(" ANA ", "Lives in", '"Oslo"') == read("ana", "lives in", normal_form("Oslo"))

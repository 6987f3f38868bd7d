"""The rules by which triples become facts: grounding, merging, superseding."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.facts import (
    SINGLE_VALUED,
    Evidence,
    Ground,
    contests,
    ground,
    merge,
    reject_reason,
    slot,
)
from graphmem.identity import content_id
from graphmem.times import earliest, latest, span
from graphmem.types import Passage, Triple

NOON = datetime(2025, 3, 8, 12, tzinfo=timezone.utc)


def day(n):
    return NOON + timedelta(days=n)


def passage(text, speaker="Priya", **fields):
    return Passage("p", "m", text, speaker=speaker, **fields)


# --- rejecting


def test_a_triple_needs_three_names_and_two_ends():
    assert reject_reason(Triple("Ann", "lives in", "Lyon")) == ""
    assert "subject is empty" in reject_reason(Triple(" \u200b", "lives in", "Lyon"))
    assert "object is empty" in reject_reason(Triple("Ann", "lives in", "..."))
    assert "predicate is empty" in reject_reason(Triple("Ann", "", "Lyon"))
    assert "one name" in reject_reason(Triple("Bob", "is", '"bob"'))


@pytest.mark.parametrize("end", ["subject", "predicate", "object"])
def test_what_a_model_repeats_without_end_is_no_name(end):
    parts = {"subject": "Ann", "predicate": "lives in", "object": "Lyon"}
    assert reject_reason(Triple(**{**parts, end: "Ann " * 100})) == ""
    assert f"its {end} is no" in reject_reason(Triple(**{**parts, end: "Ann " * 10_000}))


# --- grounding

LYON = passage(
    "We left for Lyon on the 22nd of April; the nieces' boats, four of them, cost 1,200 euros.",
    said_at=NOON,
    before=(
        passage("Hanae Okada runs it, at half past 12.30.", "Owen"),
        passage("And the old bakery?", "Owen"),
    ),
)


@pytest.mark.parametrize(
    "name",
    [
        "Lyon",
        "LYON",
        "Priya",  # who speaks
        "Priya's niece",
        "the boat",
        "4 boats",
        "four boats",
        "1200 euros",
        "Owen",  # who spoke before
        "Hanae Okada",
        "Okada",
        "12:30",
        "bakeries",
        "22 April 2025",  # the year of the message
        "April 2025",
        "9 March 2025",  # "tomorrow"
        "2025-03-07",
        "2024",  # "last year"
        "small boats",  # a paraphrase
        "bakery of Hanae Okada in Lyon",
    ],
)
def test_names_that_the_passage_gives(name):
    assert Ground(LYON).names(name)


@pytest.mark.parametrize(
    "name",
    [
        "John Doe",
        "Marie Curie",
        "Paris",
        "Lyonel Feininger",
        "Hanae Suzuki",
        "New Lyon University",
        "5 boats",
        "1201 euros",
        "22 April 2019",
        "22 June 2025",
        "9 August 2025",
        "1999",
        "it",
        "They",
        "",
        "\u4eac\u90fd",
        "\U0001f600",
    ],
)
def test_names_that_the_passage_does_not_give(name):
    assert not Ground(LYON).names(name)


@pytest.mark.parametrize(
    ("text", "held", "not_held"),
    [
        ("田中さんは京都に住んでいる", "京都", "東京"),
        ("田中さんは京都にいる", "田中", "中田"),
        ("김민준은 서울에 산다", "서울", "부산"),
        ("Анна живёт в Москве", "Москва", "Казань"),
        ("Είμαι στην Αθήνα", "ΑΘΉΝΑ", "Σπάρτη"),
        ("تعيش ليلى في بيروت", "بيروت", "بغداد"),
        ("राम दिल्ली में है", "दिल्ली", "मुंबई"),
        ("สมชายอยู่เชียงใหม่", "เชียงใหม่", "ภูเก็ต"),
        ("Zo\u00eb a d\u00e9m\u00e9nag\u00e9 \u00e0 N\u00eemes", "Nimes", "Nantes"),
        ("She sent me \u2764\ufe0f", "\u2764", "\U0001f600"),
        ("The Who played in Leeds", "The Who", "The They"),
        ("It ships to the US", "US", "UK"),
        ("We run version 3.10 of it", "version 3.10", "version 3.1"),
        ("ASR1603 broke", "ASR1603", "ASR1605"),
    ],
)  # fmt: skip
def test_names_in_any_script(text, held, not_held):
    assert Ground(passage(text)).names(held)
    assert not Ground(passage(text)).names(not_held)


def test_both_ends_must_be_held():
    assert ground(Triple("Priya", "left for", "Lyon"), LYON)
    assert not ground(Triple("John Doe", "left for", "Lyon"), LYON)
    assert not ground(Triple("Priya", "left for", "Paris"), LYON)
    assert Ground(LYON).lacks(Triple("John Doe", "left for", "Paris")) == ("John Doe", "Paris")


def test_a_title_is_part_of_the_passage():
    paper = Passage("p", "m", "It opened in 1901.", role="document", title="Gare de Lyon")
    assert ground(Triple("Gare de Lyon", "opened in", "1901"), paper)
    assert not ground(Triple("Gare du Nord", "opened in", "1901"), paper)


def test_without_a_time_no_date_is_given():
    unstamped = replace(LYON, said_at=None)
    assert Ground(unstamped).names("22 April")
    assert not Ground(unstamped).names("22 April 2025")
    assert not Ground(unstamped).names("9 March 2025")


def test_extreme_times_are_no_trouble():
    for moment in (datetime.min, datetime.max):
        stamped = replace(LYON, said_at=moment.replace(tzinfo=timezone.utc))
        assert not Ground(stamped).names("22 April 2025")


@given(st.text(max_size=40), st.text(max_size=10), st.text(max_size=10))
def test_what_stands_in_the_text_as_a_word_is_held(text, before, after):
    name = "Zanzibar"
    assert Ground(passage(f"{before} {name} {after}{text}")).names(name)


SCRAPS = st.lists(
    st.sampled_from(["Ana", " ", "_", "中", "国", "’s", "cafés", "３", ".", "\uff3f"])
).map("".join)


@given(st.lists(st.tuples(SCRAPS, SCRAPS), max_size=4), SCRAPS)
def test_what_stands_before_is_read_as_one_text(before, name):
    apart = tuple(Passage("p", "m", text, speaker=speaker) for speaker, text in before)
    speaker, _, text = "\n".join(map("\n".join, before)).partition("\n")
    joined = (Passage("p", "m", text, speaker=speaker),)
    held, held_of_one = (
        Ground(passage("It rains.", before=some)).names(name) for some in (apart, joined)
    )
    assert held == held_of_one


@given(st.text(st.characters(), max_size=30), st.text(st.characters(), max_size=60))
def test_grounding_never_raises(name, text):
    assert Ground(passage(text, said_at=NOON)).names(name) in (True, False)


# --- times


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        ("2025", "2025-01-01T00:00:00+00:00", "2025-12-31T23:59:59.999999+00:00"),
        ("2024-02", "2024-02-01T00:00:00+00:00", "2024-02-29T23:59:59.999999+00:00"),
        ("2025-09-14", "2025-09-14T00:00:00+00:00", "2025-09-14T23:59:59.999999+00:00"),
        ("2025-09-14T10:00:00Z", "2025-09-14T10:00:00+00:00", "2025-09-14T10:00:00+00:00"),
        ("2025-09-14T10:00:00", "2025-09-14T10:00:00+00:00", "2025-09-14T10:00:00+00:00"),
        ("9999", "9999-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"),
    ],
)
def test_a_time_spans_what_it_does_not_say(value, first, last):
    ends = span(value)
    assert ends is not None
    assert tuple(end.isoformat() for end in ends) == (first, last)


@pytest.mark.parametrize(
    "value",
    [None, "", "soon", "2025-13", "2025-02-30", "0000", "20251", "20250914", "\u0662\u0660"],
)
def test_what_is_no_time_has_no_span(value):
    assert span(value) is None


def test_the_earliest_start_is_as_precise_as_stated():
    assert earliest(["2026", "2025", "2025-09", None, "soon"]) == "2025-09"
    assert earliest(["2025-09-14", "2025-10"]) == "2025-09-14"
    assert earliest([None, "soon"]) is None


def test_the_latest_end_does_not_come_before_the_start():
    assert latest(["2025", "2026-05", None]) == "2026-05"
    assert latest(["2025", "2025-12"]) == "2025-12"
    assert latest(["2025"], after="2025-06") == "2025"
    assert latest(["2024"], after="2025-06") is None


# --- merging


def row(passage_id="p1", subject="Ann", predicate="lives in", object="Lyon", **fields):
    defaults = {"recorded_at": NOON, "thread": "t"}
    return Evidence(passage_id, subject, predicate, object, **(defaults | fields))


def test_one_row_makes_a_fact():
    fact = merge([row(valid_from="2025-09")])
    assert fact.id == content_id("f", "ann", "lives in", "lyon", "+")
    assert (fact.subject_id, fact.object_id) == (content_id("e", "ann"), content_id("e", "lyon"))
    assert (fact.subject, fact.predicate, fact.object) == ("Ann", "lives in", "Lyon")
    assert (fact.valid_from, fact.valid_to, fact.recorded_at) == ("2025-09", None, NOON)
    assert (fact.status, fact.passages) == ("asserted", ("p1",))
    assert fact.is_live


def test_a_denial_is_another_fact():
    denial = merge([row(polarity=False)])
    assert not denial.polarity
    assert denial.id == content_id("f", "ann", "lives in", "lyon", "-")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"role": "user"}, "asserted"),
        ({"role": "document"}, "asserted"),
        ({"role": "assistant"}, "candidate"),
        ({"role": "tool"}, "candidate"),
        ({"role": "user", "grounded": False}, "candidate"),
    ],
)
def test_who_says_it_decides_what_is_believed(fields, status):
    assert merge([row(**fields)]).status == status


def test_a_person_confirms_what_an_assistant_said():
    guess = row("p1", subject="ANN", role="assistant", valid_from="2020")
    assert merge([guess]).status == "candidate"
    fact = merge([guess, row("p2"), row("p3", grounded=False)])
    assert fact.status == "asserted"
    assert (fact.subject, fact.valid_from) == ("Ann", None)
    assert fact.passages == ("p1", "p2")


def test_display_forms_are_the_most_used_ties_the_smallest():
    rows = [row(subject="ann"), row(subject="Ann"), row(subject="Ann "), row(object="LYON")]
    fact = merge(rows)
    assert (fact.subject, fact.object) == ("Ann", "Lyon")
    assert merge([row(object="LYON"), row(object="Lyon")]).object == "LYON"


def test_times_come_from_all_trusted_rows():
    fact = merge(
        [
            row("p1", valid_from="2025", recorded_at=day(2)),
            row("p2", valid_from="2025-09", valid_to="2026", recorded_at=day(1)),
            row("p3", valid_from="next week", valid_to="2026-03"),
        ]
    )
    assert (fact.valid_from, fact.valid_to, fact.recorded_at) == ("2025-09", "2026", NOON)


def test_merging_refuses_nothing_and_a_mixture():
    with pytest.raises(ValueError, match="one fact"):
        merge([])
    with pytest.raises(ValueError, match="one fact"):
        merge([row(), row(object="Paris")])


ROWS = st.builds(
    row,
    passage_id=st.sampled_from(["p1", "p2", "p3"]),
    subject=st.sampled_from(["Ann", "ANN", " ann"]),
    object=st.sampled_from(["Lyon", "lyon", '"Lyon"']),
    role=st.sampled_from(["user", "assistant", "document"]),
    grounded=st.booleans(),
    valid_from=st.sampled_from([None, "2024", "2024-05", "2025", "soon"]),
    valid_to=st.sampled_from([None, "2023", "2025", "2025-05"]),
    recorded_at=st.sampled_from([day(0), day(1)]),
)


@given(st.lists(ROWS, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_merging_does_not_depend_on_order(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert merge(shuffled) == merge(rows)


# --- superseding


def belief(object, *rows, **fields):
    given = rows or (fields,)
    evidence = [row(f"p-{object}-{n}", object=object, **one) for n, one in enumerate(given)]
    return merge(evidence), evidence


def retired(*beliefs, **options):
    """Which values are replaced, and by which."""
    names = {fact.id: fact.object for fact, _ in beliefs}
    found = [contests(order, **options).retired for order in itertools.permutations(beliefs)]
    assert all(one == found[0] for one in found)
    return {names[loser]: names[why.replaced_by] for loser, why in found[0].items()}


def test_the_later_value_replaces_the_older():
    paris, lyon, nice = (
        belief(name, said_at=day(n)) for n, name in enumerate(["Paris", "Lyon", "Nice"])
    )
    assert retired(paris, lyon, nice) == {"Paris": "Nice", "Lyon": "Nice"}
    assert retired(paris, lyon) == {"Paris": "Lyon"}
    assert retired(paris) == {}


def test_a_retirement_says_when_and_until_when():
    old, _ = paris = belief("Paris", said_at=day(0), recorded_at=day(9))
    new, _ = lyon = belief("Lyon", said_at=day(5), valid_from="2025-03", recorded_at=day(7))
    why = contests([paris, lyon]).retired[old.id]
    assert (why.replaced_by, why.retired_at, why.valid_to) == (new.id, day(9), "2025-03")


def test_what_rests_on_a_known_name_is_replaced_and_counts_from_its_firm_statement():
    weak = belief("Paris", said_at=day(0), by_name=True)
    assert retired(weak, belief("Lyon", said_at=day(1))) == {"Paris": "Lyon"}
    twice = belief("Paris", {"said_at": day(0)}, {"said_at": day(2), "by_name": True})
    assert retired(twice, belief("Lyon", said_at=day(1))) == {"Paris": "Lyon"}
    assert retired(weak, belief("Lyon", said_at=day(-1), by_name=True)) == {}


def test_saying_it_again_brings_it_back():
    paris = belief("Paris", {"said_at": day(0)}, {"said_at": day(2)})
    assert retired(paris, belief("Lyon", said_at=day(1))) == {"Lyon": "Paris"}


@pytest.mark.parametrize(
    "other",
    [
        {"predicate": "visited"},  # not declared
        {"subject": "Bo"},
        {"polarity": False},
        {"role": "assistant"},
        {"grounded": False},
        {"by_name": True},  # its passage does not hold both ends
        {"said_at": None, "thread": "elsewhere"},
        {"said_at": None, "thread": None},
    ],
)
def test_what_replaces_nothing(other):
    fields = {"said_at": day(1)} | other
    assert retired(belief("Paris", said_at=day(0)), belief("Lyon", **fields)) == {}
    assert retired(belief("Paris", said_at=day(0)), belief("Lyon", said_at=day(1))) != {}


def test_a_role_in_a_repository_does_not_end_a_job():
    job = belief("Acme", predicate="works at", said_at=day(0))
    role = belief("Acme's repository", predicate="administers", said_at=day(1))
    assert retired(job, role) == {}
    assert retired(job, belief("Globex", predicate="works_at", said_at=day(1))) == {
        "Acme": "Globex"
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("favourite player is", "Favorite player is"),
        ("favourite_player", "favourite player"),
        ("has favourite player", "has favorite player"),
        ("lives in", "now lives in"),
        ("Lives_In", "currently lives in"),
    ],
)
def test_spellings_of_one_predicate(one, other):
    old = belief("Ronaldo", predicate=one, said_at=day(0))
    assert retired(old, belief("Messi", predicate=other, said_at=day(1))) == {"Ronaldo": "Messi"}


@pytest.mark.parametrize(
    "predicate", ["favourite foods are", "favourite foods", "likes", "is", "knows"]
)
def test_predicates_with_many_values(predicate):
    one, other = (belief(name, predicate=predicate, said_at=day(n)) for n, name in enumerate("AB"))
    assert retired(one, other) == {}
    assert slot(one[0]) is None


def test_more_predicates_can_be_declared():
    one, other = (belief(name, predicate="drives", said_at=day(n)) for n, name in enumerate("AB"))
    assert retired(one, other, single_valued=SINGLE_VALUED | {"drives"}) == {"A": "B"}
    assert retired(one, other, single_valued=()) == {}


def test_when_it_began_counts_before_when_it_was_said():
    now = belief("Globex", said_at=day(0), predicate="works at", valid_from="2021")
    history = belief("Acme", said_at=day(9), predicate="works at", valid_from="2015")
    assert retired(now, history) == {"Acme": "Globex"}


def test_what_begins_later_does_so_whenever_it_was_said():
    move = belief("Lyon", said_at=day(0), valid_from="2025-09")
    assert retired(move, belief("Paris", said_at=day(5))) == {"Paris": "Lyon"}


def test_this_month_may_be_yesterday():
    lyon = belief("Lyon", said_at=day(5), valid_from="2025-03")
    assert retired(belief("Paris", said_at=day(0)), lyon) == {"Paris": "Lyon"}


def test_what_had_ended_is_history():
    past = belief("Paris", said_at=day(0), valid_from="2010", valid_to="2012")
    assert retired(past, belief("Lyon", said_at=day(1))) == {}
    told_later = belief("Paris", said_at=day(2), valid_to="2012")
    assert retired(told_later, belief("Lyon", said_at=day(1))) == {}


def test_without_times_the_later_in_the_thread_wins():
    first, second = (belief(name, ordinal=n) for n, name in enumerate(["Ronaldo", "Messi"]))
    assert retired(first, second) == {"Ronaldo": "Messi"}
    same_time = [belief(name, ordinal=n, said_at=day(0)) for n, name in enumerate(["A", "B"])]
    assert retired(*same_time) == {"A": "B"}
    same_message = [belief(name, ordinal=0, said_at=day(0)) for name in "AB"]
    assert retired(*same_message) == {}


CLAIMS = st.fixed_dictionaries(
    {
        "said_at": st.sampled_from([None, day(0), day(1), day(2)]),
        "ordinal": st.integers(0, 3),
        "thread": st.sampled_from(["t", "u", None]),
        "valid_from": st.sampled_from([None, None, "2024", "2025-03-09"]),
        "valid_to": st.sampled_from([None, None, "2024-06"]),
        "role": st.sampled_from(["user", "user", "assistant"]),
    }
)


@given(
    st.lists(st.tuples(st.sampled_from("ABC"), CLAIMS), min_size=1, max_size=7),
    st.randoms(use_true_random=False),
)
def test_superseding_is_a_function_of_the_rows(claims, random):
    def state(rows):
        grouped: dict[str, list[Evidence]] = {}
        for one in rows:
            grouped.setdefault(one.object, []).append(one)
        beliefs = [(merge(group), group) for group in grouped.values()]
        return {fact.id for fact, _ in beliefs}, contests(beliefs).retired

    rows = [row(f"p{n}", object=name, **fields) for n, (name, fields) in enumerate(claims)]
    shuffled = list(rows)
    random.shuffle(shuffled)
    ids, replaced = state(rows)
    assert state(shuffled) == (ids, replaced)
    assert len(replaced) < len(ids)  # something always stays
    assert all(why.replaced_by not in replaced for why in replaced.values())

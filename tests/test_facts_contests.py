"""Which facts hold together: newer values, denials, what ends a value, and what people rule."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.facts import (
    Evidence,
    Ruling,
    believed,
    contests,
    denied_ends,
    denied_slots,
    denied_value,
    entity_id,
    fact_id,
    held,
    merge,
    slot,
    value,
)

NOON = datetime(2025, 3, 8, 12, tzinfo=timezone.utc)


def day(n):
    return NOON + timedelta(days=n)


def row(text, passage_id="", at=0, **fields):
    """Evidence of "Ana | lives in | Oslo", said on a day (None: unstamped)."""
    subject, predicate, object_ = text.split(" | ")
    said = None if at is None else day(at)
    defaults = {"said_at": said, "recorded_at": NOON, "thread": "t", "ordinal": at or 0}
    id_ = passage_id or f"p{at}"
    return Evidence(id_, subject, predicate, object_, **(defaults | fields))


def proof_of(rows):
    proof = {}
    for one in rows:
        id_ = fact_id(one.subject, one.predicate, one.object, one.polarity)
        proof.setdefault(id_, []).append(one)
    return proof


def state(*rows, rulings=None, **options):
    """Facts by text: "live", what replaced them, or the status that withholds them."""
    found = [believed(proof_of(order), rulings, **options)
             for order in itertools.islice(itertools.permutations(rows), 24)]  # fmt: skip
    assert all(one == found[0] for one in found)
    facts = found[0]
    return {
        one.text: facts[one.replaced_by].text if one.replaced_by else
        "live" if one.is_live else one.status
        for one in facts.values()
    }  # fmt: skip


# --- who says it


def status(*rows, ruling=None):
    assert len({merge(order, ruling) for order in itertools.permutations(rows)}) == 1
    return merge(rows, ruling).status


OSLO = "Ana | lives in | Oslo"


def test_an_assistant_says_it_twice_and_it_stays_a_guess():
    guess = [row(OSLO, at=n, role="assistant", speaker="assistant") for n in range(3)]
    assert status(*guess) == "candidate"
    assert status(*guess, row(OSLO, at=1, speaker="Ana")) == "verified"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"at": 1}, "verified"),
        ({"at": -1}, "asserted"),
        ({"at": 0, "ordinal": 5}, "verified"),
        ({"at": 0, "ordinal": 5, "thread": "u"}, "asserted"),
        ({"at": None, "ordinal": 5}, "asserted"),
        ({"at": 1, "by_name": True}, "asserted"),
        ({"at": 1, "mood": "joke"}, "candidate"),
        ({"at": 1, "grounded": False}, "candidate"),
        ({"at": 1, "role": "document", "speaker": ""}, "asserted"),
        ({"at": 1, "role": "tool"}, "candidate"),
    ],
)
def test_a_person_says_later_what_an_assistant_said(fields, expected):
    guess = row(OSLO, at=0, role="assistant", speaker="assistant")
    assert status(guess, row(OSLO, "later", **({"speaker": "Ana"} | fields))) == expected


def test_two_people_are_both_people():
    assert status(row(OSLO, at=0, speaker="Rui")) == "asserted"
    assert status(row(OSLO, at=0, speaker="Rui"), row(OSLO, at=1, speaker="Ana")) == "verified"
    assert status(row(OSLO, at=0, speaker="Ana"), row(OSLO, at=1, speaker="ana")) == "asserted"


@pytest.mark.parametrize("verdict", ["verified", "disputed", "rejected"])
def test_what_a_person_ruled_counts_first(verdict):
    ruling = Ruling(verdict, day(9))
    assert status(row(OSLO), ruling=ruling) == verdict
    assert status(row(OSLO, role="assistant"), ruling=ruling) == verdict
    assert status(row(OSLO)) == "asserted"


def test_a_joke_is_withheld_and_shows_no_passage():
    joke = row(OSLO, "joke", mood="joke")
    assert status(joke) == "candidate"
    fact = merge([joke, row(OSLO, "earnest")])
    assert (fact.status, fact.passages) == ("asserted", ("earnest",))
    assert state(row("Ana | lives in | Rome", at=0), row(OSLO, at=1, mood="joke")) == {
        "Ana lives in Rome": "live",
        "Ana lives in Oslo": "candidate",
    }


# --- values of one slot


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ana | works for | Acme", "Ana | got a job at | Globex"),
        ("Dave | is builder of | the house", "Marta | is builder of | the house"),
        ("Rui | is boss of | Ana", "Ana | reports to | Ingrid"),
        ("Ana | lives at | Rua A 1", "Ana | moved to | Rua B 2"),
        ("fair | is on | 6 June 2026", "fair | was moved to | 23 May 2026"),
        ("Ana | is | vegan", "Ana | is | vegetarian"),
        ("door | will be painted | green", "door | is painted | blue"),
        ("Ana's phone number | is | 123", "Ana | has phone number | 456"),
    ],
)
def test_a_newer_value_of_the_family_replaces_the_older(old, new):
    old_text, new_text = old.replace(" | ", " "), new.replace(" | ", " ")
    assert state(row(old, at=0), row(new, at=1)) == {old_text: new_text, new_text: "live"}
    assert state(row(old, at=2), row(new, at=1)) == {old_text: "live", new_text: old_text}
    assert state(row(old, at=0)) == {old_text: "live"}


def test_one_value_in_two_spellings_is_no_change():
    assert state(row("Ana | works for | Acme", at=0), row("Ana | got a job at | Acme", at=1)) == {
        "Ana works for Acme": "live",
        "Ana got a job at Acme": "live",
    }


def test_there_and_back_again():
    rows = [row(OSLO, at=0), row("Ana | lives in | Rome", at=1), row(OSLO, at=2)]
    assert state(*rows[:2])["Ana lives in Oslo"] == "Ana lives in Rome"
    assert state(*rows) == {"Ana lives in Oslo": "live", "Ana lives in Rome": "Ana lives in Oslo"}


def test_a_hundred_values_leave_one():
    rows = [row(f"Ana | lives in | town {n}", at=n) for n in range(101)]
    facts = believed(proof_of(rows)).values()
    assert [one.object for one in facts if one.is_live] == ["town 100"]


@pytest.mark.parametrize("verdict", ["rejected", "disputed"])
def test_what_is_rejected_or_in_doubt_replaces_nothing(verdict):
    old, new = row(OSLO, at=0), row("Ana | lives in | Rome", at=1)
    ruled = {fact_id("Ana", "lives in", "Rome", True): Ruling(verdict, day(2))}
    assert state(old, new, rulings=ruled) == {
        "Ana lives in Oslo": "live", "Ana lives in Rome": verdict
    }  # fmt: skip
    assert state(old, new)["Ana lives in Oslo"] == "Ana lives in Rome"


def test_a_guess_that_a_person_verified_may_replace():
    old, new = row(OSLO, at=0), row("Ana | lives in | Rome", at=1, role="assistant")
    ruled = {fact_id("Ana", "lives in", "Rome", True): Ruling("verified", day(2))}
    assert state(old, new)["Ana lives in Oslo"] == "live"
    assert state(old, new, rulings=ruled)["Ana lives in Oslo"] == "Ana lives in Rome"


# --- when nothing says when


def unstamped(text, heard, thread, **fields):
    heard_at = None if heard is None else day(heard)
    return row(text, f"{thread}{heard}{text}", at=None, thread=thread, heard_at=heard_at, **fields)


def test_without_any_time_what_was_heard_later_is_later():
    old, new = unstamped(OSLO, 0, "a"), unstamped("Ana | lives in | Rome", 1, "b")
    assert state(old, new)["Ana lives in Oslo"] == "Ana lives in Rome"
    again = unstamped(OSLO, 2, "c")  # the old text, by another way
    assert state(old, new, again)["Ana lives in Oslo"] == "Ana lives in Rome"


@pytest.mark.parametrize(
    "fields",
    [{"heard": 0}, {"heard": None}, {"heard": 1, "role": "document"}],
    ids=["at once", "unknown", "document"],
)
def test_without_an_order_both_stay(fields):
    old = unstamped(OSLO, 0, "a")
    other = {"text": "Ana | lives in | Rome", "thread": "b"} | fields
    assert set(state(old, unstamped(**other)).values()) == {"live"}
    assert set(state(old, unstamped(**(other | {"heard": 1, "role": "user"}))).values()) != {"live"}


def test_a_known_time_is_not_weighed_against_an_unknown():
    old, new = row(OSLO, at=0), unstamped("Ana | lives in | Rome", 5, "b")
    assert set(state(old, new).values()) == {"live"}


# --- denials and ends


@pytest.mark.parametrize(
    ("claim", "denial"),
    [
        ("Ana | is | vegan", "Ana | is no longer | vegan"),
        ("Ana | eats | meat", "Ana | does not eat | meat"),
        ("Ana | plays | the harp", "Ana | used to play | the harp"),
        ("Ana | drinks | coffee", "Ana | stopped | drinking coffee"),
        ("Ana | works at | Acme", "Ana | quit | Acme"),
        ("Ana | lives in | Oslo", "Ana | moved away from | Oslo"),
        ("Ana | loves | jam", "Ana | hates | jam"),
        ("crate | goes to | Porto", "crate | goes to | Vigo instead of Porto"),
    ],
)
def test_a_later_denial_retires_and_an_earlier_does_not(claim, denial):
    text = claim.replace(" | ", " ")
    after = state(row(claim, at=0), row(denial, at=1))
    assert after.pop(text) != "live"
    assert list(after.values()) == ["live"]
    assert state(row(claim, at=1), row(denial, at=0))[text] == "live"


def test_said_again_it_holds_again():
    claim, denial = "Ana | is | vegan", row("Ana | is | vegan", at=1, polarity=False)
    rows = [row(claim, at=0), denial, row(claim, at=2)]
    assert state(*rows[:2]) == {"Ana is vegan": "Ana (not) is vegan", "Ana (not) is vegan": "live"}
    assert state(*rows) == {"Ana is vegan": "live", "Ana (not) is vegan": "Ana is vegan"}


def test_what_happened_stays_true():
    left, back = row("Ana | left | Acme", at=1), row("Ana | works at | Acme", at=2)
    assert set(state(left, back).values()) == {"live"}
    assert state(left, row("Ana | works at | Acme", at=0))["Ana works at Acme"] == "Ana left Acme"


def test_one_message_tells_of_an_end_and_of_what_ended():
    rows = row("Ana | works at | Acme", "p"), row("Ana | left | Acme", "p")
    assert state(*rows)["Ana works at Acme"] == "Ana left Acme"
    apart = row("Ana | left | Acme", "q", thread="u")
    assert state(rows[0], apart)["Ana works at Acme"] == "live"


def test_what_is_denied_in_two_ways_ends_the_same_in_whatever_order_it_is_told():
    rows = [
        row("Ana | lives in | Oslo instead of Bergen", at=0),
        row(OSLO, at=10, polarity=False, recorded_at=day(10)),
        row("Ana | lives in | Bergen", at=30, recorded_at=day(30)),
    ]
    old, _, new = proof_of(rows)
    for order in itertools.permutations(rows):
        beliefs = [(merge(proof), proof) for proof in proof_of(order).values()]
        why = contests(beliefs).retired
        assert why.keys() == {old}
        assert (why[old].replaced_by, why[old].retired_at) == (new, day(10))


def test_a_denied_value_does_not_bring_back_the_one_before():
    rows = [
        row("Ana | lives in | Rome", at=0), row(OSLO, at=1), row(OSLO, at=2, polarity=False)
    ]  # fmt: skip
    found = state(*rows)
    assert found["Ana lives in Oslo"] == "Ana (not) lives in Oslo"
    assert found["Ana lives in Rome"] == "Ana lives in Oslo"


def test_why_a_fact_retired():
    rows = [row("Ana | works at | Acme", at=0), row("Ana | works at | Globex", at=1),
            row("Ana | is | vegan", at=0), row("Ana | is | vegan", at=1, polarity=False),
            row("Ana | owns | a boat", at=0), row("Ana | sold | a boat", at=1)]  # fmt: skip
    proof = proof_of(rows)
    facts = {id_: merge(some) for id_, some in proof.items()}
    retired = contests([(facts[id_], proof[id_]) for id_ in facts]).retired
    assert {facts[id_].object: one.why for id_, one in retired.items()} == {
        "Acme": "value", "vegan": "denied", "a boat": "ended"
    }  # fmt: skip


def test_a_denial_by_an_assistant_or_in_jest_retires_nothing():
    for fields in ({"role": "assistant"}, {"mood": "joke"}, {"grounded": False}):
        denial = row("Ana | is | vegan", at=1, polarity=False, **fields)
        assert state(row("Ana | is | vegan", at=0), denial)["Ana is vegan"] == "live"


# --- contradictions


def test_two_values_at_one_instant_are_disputed():
    one = row(OSLO, "p", thread="a", speaker="Ana")
    other = row("Ana | lives in | Rome", "q", thread="b", speaker="Rui")
    assert set(state(one, other).values()) == {"disputed"}
    assert set(state(one, row("Ana | lives in | Rome", "q", at=1, thread="b")).values()) != {
        "disputed"
    }
    ruled = {fact_id("Ana", "lives in", "Oslo", True): Ruling("verified", day(2))}
    assert state(one, other, rulings=ruled)["Ana lives in Oslo"] == "live"


def test_one_message_may_name_a_flat_and_its_town():
    rows = row("Ana | lives in | flat 5", "p"), row(OSLO, "p")
    assert set(state(*rows).values()) == {"live"}


def test_affirmed_and_denied_in_one_breath_is_disputed():
    rows = row("Ana | is | vegan", "p"), row("Ana | is | vegan", "p", polarity=False)
    assert set(state(*rows).values()) == {"disputed"}
    in_order = rows[0], row("Ana | is | vegan", "q", ordinal=1, polarity=False)
    assert state(*in_order)["Ana is vegan"] == "Ana (not) is vegan"


def test_documents_are_not_disputed():
    rows = [row(f"Ruritania | has capital | {name}", name, thread=name, role="document")
            for name in ("Zenda", "Strelsau")]  # fmt: skip
    assert set(state(*rows).values()) == {"live"}


# --- by what the store finds rivals


def test_ids_of_denials_meet_those_of_what_they_deny():
    def fact(text, **fields):
        return merge([row(text, **fields)])

    eats, denial = fact("Ana | eats | meat"), fact("Ana | eats | meat", polarity=False)
    assert denied_value(denial) == value(eats)
    assert denied_value(eats) is None
    assert (eats.subject_id, eats.object_id) in denied_ends(denial)
    vegan, no_vegan = fact("Ana | became | a vegan"), fact("Ana | is no longer | vegan")
    assert slot(vegan) in denied_slots(no_vegan)
    left = fact("Ana | left | Acme")
    assert slot(fact("Acme | employs | Ana")) in denied_slots(left)
    assert denied_value(left) == value(fact("Ana | sings in | Acme"))
    assert (entity_id("Ana"), entity_id("Acme")) in denied_ends(left)
    assert slot(denial) is None


TEXTS = [
    "Ana | lives in | Oslo", "Ana | moved to | Oslo", "Ana | lives in | Rome",
    "Ana | left | Oslo", "Ana | no longer lives in | Rome", "Ana | moved from | Oslo to Rome",
    "Ana | likes | jam", "Ana | hates | jam", "Ana | does not like | jam", "Ana | loves | jam",
]  # fmt: skip
ROWS = st.builds(
    row,
    st.sampled_from(TEXTS),
    passage_id=st.sampled_from("pqrs"),
    at=st.sampled_from([None, 0, 1, 2]),
    ordinal=st.integers(0, 2),
    thread=st.sampled_from(["t", "u"]),
    role=st.sampled_from(["user", "user", "user", "assistant", "document"]),
    speaker=st.sampled_from(["Ana", "Rui"]),
    mood=st.sampled_from(["", "", "", "joke"]),
    polarity=st.sampled_from([True, True, False]),
    valid_from=st.sampled_from([None, None, "2025-03-09"]),
    recorded_at=st.sampled_from([day(0), day(1), day(2)]),
    heard_at=st.sampled_from([None, day(0), day(1), day(2)]),
)
RULINGS = st.dictionaries(
    st.sampled_from([fact_id(*text.split(" | "), True) for text in TEXTS]),
    st.builds(Ruling, st.sampled_from(["verified", "disputed", "rejected"]), st.just(day(1))),
    max_size=2,
)


@given(st.lists(ROWS, min_size=1, max_size=9), RULINGS, st.randoms(use_true_random=False))
@settings(max_examples=300)
def test_beliefs_are_a_function_of_the_rows(rows, rulings, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    found = believed(proof_of(rows), rulings)
    assert believed(proof_of(shuffled), rulings) == found
    assert all(one.replaced_by is None or one.replaced_by in found for one in found.values())
    assert all((one.retired_at is None) == (one.replaced_by is None) for one in found.values())
    firm = any(r.role != "assistant" and not r.mood for r in rows)
    if firm and not rulings:
        assert any(one.is_live or one.status == "disputed" for one in found.values())


@given(st.lists(ROWS, min_size=1, max_size=8), RULINGS, st.sampled_from([0, 1, 2]))
@settings(max_examples=200)
def test_what_was_known_is_what_the_rows_of_then_say(rows, rulings, when):
    at = day(when)
    then = [r for r in rows if r.recorded_at <= at and (r.heard_at is None or r.heard_at <= at)]
    ruled = {id_: one for id_, one in rulings.items() if one.at <= at}
    known = believed(proof_of(rows), rulings, known_at=at)
    assert known == believed(proof_of(then), ruled)


# --- what held when


def held_at(n, *rows):
    proof = proof_of(rows)
    facts = believed(proof)
    found = {held(facts, dict(reversed(list(proof.items()))), day(n)) == held(facts, proof, day(n))}
    assert found == {True}
    return {facts[id_].text for id_ in held(facts, proof, day(n))}


def test_a_value_holds_until_the_next():
    rows = row(OSLO, at=0), row("Ana | lives in | Rome", at=10), row(OSLO, at=20)
    assert held_at(-1, *rows) == set()
    assert held_at(5, *rows) == {"Ana lives in Oslo"}
    assert held_at(15, *rows) == {"Ana lives in Rome"}
    assert held_at(25, *rows) == {"Ana lives in Oslo"}


def test_a_value_holds_from_when_it_began_and_until_it_ended():
    past = row(OSLO, at=0, valid_from="2010", valid_to="2012")
    now = row("Ana | lives in | Rome", at=0, valid_from="2013-05")
    assert held_at(-14 * 365, past, now) == {"Ana lives in Oslo"}
    assert held_at(-12 * 365, past, now) == set()
    assert held_at(0, past, now) == {"Ana lives in Rome"}


def test_what_begins_later_holds_then():
    rows = (
        row("Ana | works at | Acme", at=0),
        row("Ana | will work at | Globex", at=1, valid_from="2025-04-01"),
    )
    assert held_at(2, *rows) == {"Ana works at Acme"}
    assert held_at(60, *rows) == {"Ana will work at Globex"}


def test_what_is_denied_holds_until_then():
    rows = row("Ana | eats | meat", at=0), row("Ana | eats | meat", at=10, polarity=False)
    assert held_at(5, *rows) == {"Ana eats meat"}
    assert held_at(15, *rows) == {"Ana (not) eats meat"}


def test_what_has_no_time_holds_while_it_is_live():
    old = row("Ana | knows | Rui", at=None)
    assert held_at(-999, old) == {"Ana knows Rui"}
    rows = unstamped(OSLO, 0, "a"), unstamped("Ana | lives in | Rome", 1, "b")
    assert held_at(0, *rows) == {"Ana lives in Rome"}


def test_what_is_not_believed_held_never():
    assert held_at(5, row(OSLO, at=0, role="assistant")) == set()
    assert held_at(5, row(OSLO, at=0)) == {"Ana lives in Oslo"}


@given(st.lists(ROWS.filter(lambda r: r.said_at is not None and r.valid_from is None), max_size=8))
@settings(max_examples=200)
def test_in_the_end_what_is_live_holds(rows):
    stamped = [r for r in rows if r.role != "assistant" and not r.mood]
    facts = believed(proof_of(stamped))
    live = {id_ for id_, one in facts.items() if one.is_live}
    now = held(facts, proof_of(stamped), day(99))
    assert now <= live | {id_ for id_, one in facts.items() if one.status == "disputed"}


# --- plans


def test_a_plan_is_cancelled_before_its_time_has_come():
    plan = row("Ana | is going to | Malta", at=0, valid_from="2025-05")
    off = row("Ana | is going to | Malta", "off", at=9, polarity=False)
    on_again = row("Ana | is going to | Malta", "on", at=12, valid_from="2025-05")
    proof = proof_of([plan, off])
    facts = believed(proof)
    live = [one.polarity for one in facts.values() if one.is_live]
    assert live == [False]
    assert not [facts[id_] for id_ in held(facts, proof, day(90)) if facts[id_].polarity]
    live = [one.polarity for one in believed(proof_of([plan, off, on_again])).values()
            if one.is_live]  # fmt: skip
    assert live == [True]


def test_a_plan_outlives_a_denial_of_other_words_or_of_before():
    plan = "Ana | will work at | Acme"
    told = row(plan, at=5, valid_from="2025-05")
    assert state(told, row("Ana | works at | Acme", at=9, polarity=False))[plan.replace(" |", "")] \
        == "live"  # fmt: skip
    before = proof_of([told, row(plan, at=1, polarity=False)])
    assert [one.polarity for one in believed(before).values() if one.is_live] == [True]


def test_a_plan_is_changed_for_another_of_the_same_time():
    assert state(
        row("Ana | will work at | Acme", at=0, valid_from="2025-05"),
        row("Ana | will work at | Globex", at=9, valid_from="2025-05", thread="u"),
    ) == {
        "Ana will work at Acme": "Ana will work at Globex",
        "Ana will work at Globex": "live",
    }

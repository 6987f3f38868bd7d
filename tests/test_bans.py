"""Bans: what was forgotten is not stored again, in whatever form it comes; anything else is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.errors import InvalidInput, NotAllowed, NotFound
from graphmem.identity import normal_form, skeleton
from graphmem.store import Store
from graphmem.store.bans import Digest, speaks, text_form
from graphmem.testing import ScriptedExtractor
from graphmem.types import Actor, Message, Scope, Triple
from store_parts import ANA, NOW, at, drain, put, rows, said

PERSON = Actor("ana")


@pytest.fixture
def store():
    opened = Store.open(":memory:")
    yield opened
    opened.close()


def texts(store: Store, scope: Scope = ANA) -> list[str]:
    return [one.text for one in store.passages(scope)]


def homes() -> ScriptedExtractor:
    """Reads "I live in X", "my home is in X" and "I have a dog called X" out of any sentence."""

    def read(passage):
        for sentence in passage.text.replace("!", ".").split("."):
            said_ = sentence.strip()
            if said_.startswith("I live in "):
                yield Triple(passage.speaker, "lives in", said_.removeprefix("I live in "))
            elif said_.startswith("My new home is in "):
                yield Triple(passage.speaker, "moved to", said_.removeprefix("My new home is in "))
            elif said_.startswith("My dog is called "):
                yield Triple(passage.speaker, "has dog", said_.removeprefix("My dog is called "))

    return ScriptedExtractor(read)


def forget_fact(store: Store, object_: str, *, now=NOW) -> None:
    (one,) = [fact for fact in store.facts(ANA) if fact.object == object_]
    store.forget(ANA, facts=[one.id], now=now)


# -- the form of a text --------------------------------------------------------------------------


def plain_form(text: str) -> str:
    """The form as it is defined, of the whole text and then of each token."""
    forms = [normal_form(token).rstrip(".") for token in skeleton(text).replace("**", "").split()]
    return " ".join(form for form in forms if any(map(str.isalnum, form)))


@settings(max_examples=500)
@given(
    st.text(
        st.sampled_from("aB5.,:;!?\"'()[]<>*_`-+$ \n\t\x00\x01\x1c\u2019\u00e9\u0410"), max_size=16
    )
)
def test_the_form_of_a_text_is_the_same_by_the_short_way(text):
    assert text_form(text) == plain_form(text)
    assert text_form(f"a{text}") == plain_form(f"a{text}")


# -- the same value, and others ------------------------------------------------------------------

SAME = [
    ("Oslo", "ОSLО"),
    ("I live in Oslo.", "I  live in  ｏｓｌｏ"),
    ("I live in Oslo.", "I li\u200bve in Oslo!"),
    ("I live in Oslo.", "> **I live in Oslo.**"),
    ("I live in Oslo.", "I live\nin Oslo. 🙂"),
    ("My PIN is 4711.", "Му PIN is 4711"),
]
OTHER = [
    ("It is 3.10", "It is 3.1"),
    ("ASR1603", "ASR1605"),
    ("I know Anna.", "I know Hanna."),
    ("It was -5 outside.", "It was 5 outside."),
    ("I write C.", "I write C++."),
    ("京都に住んでいます", "東京に住んでいます"),
    ("I live in Oslo.", "I do not live in Oslo."),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_look_alikes_are_one_text(store, one, other):
    put(store, said(one), session="s")
    store.forget(ANA, session="s", now=NOW)
    receipt = put(store, said(other), session="t")
    assert texts(store) == []
    assert receipt.stored == ()
    assert [what for what, _ in receipt.refused] == [other[:80]] == [w for w, _ in receipt.dropped]


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_other_texts_are_stored(store, one, other):
    put(store, said(one), session="s")
    store.forget(ANA, session="s", now=NOW)
    assert put(store, said(one), session="t").stored == ()
    assert put(store, said(other), session="t").refused == ()
    assert texts(store) == [other]


@pytest.mark.parametrize(("one", "other"), [("Anna", "Аnnа"), ("Oslo", "Оsⅼo"), ("C++", "С++")])
def test_look_alike_names_have_one_key(store, one, other):
    with store._reading() as connection:
        digest = Digest(connection)
    assert digest.name(one) == digest.name(other)
    assert digest.fact("ana", "knows", one, True) == digest.fact("ana", "knows", other, True)
    assert digest.name(one) != digest.name(one + "n")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("-5", "5"),
        ("2025-1-11", "2025-11-1"),
        ("3.10", "3.1"),
        ("C", "C++"),
        ("A", "A*"),
        ("京都", "東京"),
        ("5%", "5"),
    ],
)
def test_other_names_have_other_keys(store, one, other):
    with store._reading() as connection:
        digest = Digest(connection)
    assert digest.name(one) != digest.name(other)
    assert digest.fact("a", "is", one, True) != digest.fact("a", "is", other, True)


def test_a_phone_number_is_one_however_it_is_grouped(store):
    with store._reading() as connection:
        digest = Digest(connection)
    keys = [
        digest.fact("ana", "phone number is", number, True)
        for number in ("+47 555 12 34", "+47-555-12-34", "+47 (555) 1234", "+47 555 12 35")
    ]
    assert keys[0] == keys[1] == keys[2] != keys[3]


def test_keys_say_nothing_without_the_stores_secret():
    stores = [Store.open("sqlite://"), Store.open(":memory:")]
    keys = []
    for one in stores:
        with one._reading() as connection:
            keys.append(Digest(connection).text("My PIN is 4711."))
        one.close()
    assert keys[0] == keys[1] or len(set(keys)) == 2


@given(st.text(alphabet="аоеАОΝναβγabcz 1-.", max_size=12))
def test_a_skeleton_is_its_own(text):
    assert skeleton(skeleton(text)) == skeleton(text)
    assert text_form(text_form(text)) == text_form(text)


def test_what_says_nothing_is_not_banned(store):
    assert not any(map(speaks, ("Yes, I do.", "Thanks! Good morning.", "👍", "")))
    assert all(map(speaks, ("4711", "Oslo.", "京都", "2025-03-01", "$5")))
    put(store, said("Yes, I do."), session="s")
    store.forget(ANA, session="s", now=NOW)
    put(store, said("Yes, I do."), session="t")
    assert texts(store) == ["Yes, I do."]
    assert store.bans(ANA) == []


# -- every way back ------------------------------------------------------------------------------

SECRET = "My PIN is 4711. I keep it in the blue box."
WAYS = {
    "the same session": [("s", Message(SECRET, speaker="ana"))],
    "another session": [("t", Message(SECRET, speaker="ana"))],
    "no session": [(None, Message(SECRET))],
    "another speaker": [("t", Message(SECRET, speaker="Ben Dahl"))],
    "an assistant": [("t", Message(SECRET, role="assistant", speaker="assistant"))],
    "another time": [("s", Message(SECRET, speaker="ana", said_at=at(99)))],
    "a document": [("s", Message(SECRET, role="document", title="Notes"))],
    "two messages": [
        ("t", Message("My PIN is 4711.", speaker="ana")),
        ("t", Message("I keep it in the blue box.", speaker="ana")),
    ],
    "a line of a transcript": [("t", Message(f"[2025-03-01 12:00] Ana: {SECRET}"))],
    "broken lines": [("t", Message("My PIN\nis 4711. I keep\nit in the blue box."))],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("named", ["passage", "message", "session", "everything"])
def test_a_forgotten_text_does_not_come_back(store, way, named):
    put(store, said(SECRET), said("My dog is called Rex."))
    first = next(one for one in store.passages(ANA) if one.text == SECRET)
    targets = {
        "passage": {"passages": [first.id]},
        "message": {"messages": [first.message_id]},
        "session": {"session": "s"},
        "everything": {"everything": True},
    }
    store.forget(ANA, **targets[named], now=NOW)
    for session, message in WAYS[way]:
        put(store, message, session=session, now=at(1))
        put(store, said("Nothing of it is forgotten."), session="u", now=at(1))
    found = " ".join(texts(store))
    assert "4711" not in found
    assert "blue box" not in found
    assert "Nothing of it" in found
    assert ("Rex" in found) == (named in ("passage", "message"))


def test_inside_a_longer_message_only_the_forgotten_sentence_goes(store):
    put(store, said("My PIN is 4711."), session="s")
    store.forget(ANA, session="s", now=NOW)
    told = "Hello Ben. My PIN is 4711. The cat is fine."
    receipt = put(store, said(told), session="t")
    assert texts(store) == ["Hello Ben. The cat is fine."]
    assert len(receipt.stored) == len(receipt.refused) == 1
    assert receipt.dropped == ()
    # The message is known by what it was.
    again = put(store, said(told), session="t")
    assert again.merged == receipt.stored
    assert texts(store) == ["Hello Ben. The cat is fine."]


def test_a_long_document_loses_the_sentence_in_its_part(store):
    put(store, said("The code is ASR1603."), session="s")
    store.forget(ANA, session="s", now=NOW)
    filler = [f"Line {n} tells of the harbour and its boats." for n in range(200)]
    filler.insert(120, "The code is ASR1603.")
    receipt = put(store, Message("\n\n".join(filler), role="document", title="Log"), session=None)
    found = store.passages(ANA)
    assert len(found) > 2
    assert {one.id for one in found} == set(receipt.stored)
    assert "ASR1603" not in "".join(one.text for one in found)
    assert all(f"Line {n} " in "".join(one.text for one in found) for n in range(200))
    (message,) = store.messages(ANA)
    assert message.message.text == "".join(one.text for one in found)


def test_the_twin_of_a_forgotten_text_goes_on(store):
    put(store, said(SECRET), session="s")
    put(store, said(SECRET), session="t")
    put(store, said(SECRET), scope=Scope("eve"))
    store.forget(ANA, session="s", now=NOW)
    assert texts(store) == [SECRET]
    assert put(store, said(SECRET), session="t").merged
    assert put(store, said(SECRET), session="s").refused
    assert texts(store, Scope("eve")) == [SECRET]
    assert put(store, said(SECRET), session="s", scope=Scope("ana", "coach")).stored
    assert store.bans(Scope("eve")) == []


# -- values --------------------------------------------------------------------------------------


def test_a_forgotten_value_is_refused_in_other_words_and_its_sentence_goes(store):
    put(store, said("I live in Oslo. My dog is called Rex."))
    drain(store, homes())
    assert {one.object for one in store.facts(ANA)} == {"Oslo", "Rex"}
    forget_fact(store, "Oslo")
    assert texts(store) == ["My dog is called Rex."]
    assert {one.object for one in store.facts(ANA)} == {"Rex"}
    put(store, said("My new home is in Oslo. It rains."), session="t", now=at(1))
    put(store, said("My new home is in Rome. It rains."), session="u", now=at(1))
    drain(store, homes())
    assert sorted(texts(store)) == [
        "It rains.", "My dog is called Rex.", "My new home is in Rome. It rains."
    ]  # fmt: skip
    assert {one.object for one in store.facts(ANA)} == {"Rex", "Rome"}
    assert [one.name for one in store.entities(ANA)] == ["Rex", "Rome", "ana"]
    # Read once, the paraphrase is known.
    put(store, said("My new home is in Oslo."), session="v", now=at(2))
    assert sorted(texts(store))[-1] == "My new home is in Rome. It rains."
    assert len(texts(store)) == 3


def test_look_alikes_of_a_forgotten_value_are_refused(store):
    put(store, said("I live in Oslo."))
    drain(store, homes())
    forget_fact(store, "Oslo")
    put(store, said("My new home is in Оѕlо."), said("My new home is in Osla."), session="t")
    drain(store, homes())
    assert [one.object for one in store.facts(ANA)] == ["Osla"]


def test_look_alikes_go_with_the_value(store):
    put(store, said("I live in Oslo."), said("My new home is in Оslо."))
    drain(store, homes())
    assert len(store.facts(ANA)) == 2
    store.forget(ANA, facts=[store.facts(ANA)[0].id], now=NOW)
    assert (store.facts(ANA), texts(store)) == ([], [])


def test_what_went_with_a_passage_may_be_said_before_and_not_after(store):
    put(store, said("I live in Oslo."), session="s")
    put(store, said("My new home is in Oslo."), session="t")
    drain(store, homes())
    store.forget(ANA, session="s", now=at(1))
    assert texts(store) == ["My new home is in Oslo."]
    assert [one.object for one in store.facts(ANA)] == ["Oslo"]
    store.forget(ANA, session="t", now=at(2))
    put(store, said("Oh. I live in Oslo! My dog is called Rex."), session="u", now=at(3))
    put(store, said("My new home is in Oslo of all places."), session="u", now=at(3))
    drain(store, homes())
    found = {one.object for one in store.facts(ANA)}
    assert "Oslo" not in found
    assert "Rex" in found


def test_a_forgotten_name_is_not_stored_and_nobody_speaks_by_it(store):
    put(store, said("Bob Lind lives in Rome. The cat is fine."), said("Hi all.", None, "Bob Lind"))
    store.forget(ANA, entity="Bob Lind", now=NOW)
    assert texts(store) == ["The cat is fine."]
    put(
        store,
        said("I met Bоb Lind's sister. It rained."),
        said("Me again, from the office.", None, "bob lind"),
        said("Bob came, and Lind left.", None, "ana"),
        said("See the file.", None, "ana", metadata={"from": "Bob Lind"}),
        Message("All about the north.", role="document", title="Bob Lind: a life"),
        session="t",
    )
    assert sorted(texts(store)) == ["Bob came, and Lind left.", "It rained.", "The cat is fine."]


def test_a_name_is_no_part_of_another(store):
    put(store, said("Anna is here."))
    store.forget(ANA, entity="Anna", now=NOW)
    put(store, said("Hanna is here."), said("Annabel is here."), said("Say 京都."), session="t")
    assert sorted(texts(store)) == ["Annabel is here.", "Hanna is here.", "Say 京都."]
    assert put(store, said("ANNA is here."), session="t").refused


def test_refusals_are_logged_without_words(store):
    put(store, said("I live in Oslo."))
    drain(store, homes())
    forget_fact(store, "Oslo")
    put(store, said("I live in Oslo."), said("My new home is in Oslo."), session="t", now=at(1))
    drain(store, homes())
    (ban,) = store.bans(ANA)
    log = [one for one in store.log(ANA) if one.action == "refuse"]
    assert [(one.kind, one.id, one.reason) for one in log] == [
        ("ban", ban.id, "put"), ("ban", ban.id, "extract")
    ]  # fmt: skip
    assert "Oslo" not in repr(store.log(ANA))
    assert "Oslo" not in repr(ban)


# -- taking it back ------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["id", "text", "fact", "look-alike"])
def test_unforget_lets_it_be_stored_again(store, by):
    put(store, said("I live in Oslo."))
    drain(store, homes())
    before = rows(store)
    forget_fact(store, "Oslo")
    assert put(store, said("I live in Oslo.")).refused
    (ban,) = store.bans(ANA)
    assert (ban.kind, ban.cause, ban.actor) == ("fact", "forget", "user")
    named = {
        "id": {"ban": ban.id},
        "text": {"text": "I live in Oslo"},
        "fact": {"fact": ("ana", "lives in", "Oslo")},
        "look-alike": {"fact": ("ANA", "moved to", "Оslo")},
    }
    receipt = store.unforget(ANA, **named[by], actor=PERSON, now=at(1))
    assert receipt.bans == (ban.id,)
    assert texts(store) == []
    assert store.bans(ANA) == []
    put(store, said("I live in Oslo."))
    drain(store, homes())
    assert rows(store) == before
    with pytest.raises(NotFound):
        store.unforget(ANA, ban=ban.id, actor=PERSON, now=at(1))


@pytest.mark.parametrize("kind", ["agent", "application", "extractor", "embedder", "system"])
def test_only_a_person_takes_a_ban_back_or_verifies(store, kind):
    put(store, said("I live in Oslo."), said("My dog is called Rex."))
    drain(store, homes())
    forget_fact(store, "Oslo")
    (rex,) = store.facts(ANA)
    with pytest.raises(NotAllowed):
        store.unforget(ANA, text="I live in Oslo", actor=Actor("x", kind), now=NOW)
    with pytest.raises(NotAllowed):
        store.rule(ANA, rex.id, "verified", actor=Actor("x", kind), now=NOW)
    assert put(store, said("I live in Oslo."), session="t").refused
    store.rule(ANA, rex.id, "disputed", actor=Actor("x", kind), now=NOW)
    assert store.facts(ANA)[0].status == "disputed"


def test_no_bans_no_look_up(store, monkeypatch):
    monkeypatch.setattr(Digest, "__init__", lambda *_: pytest.fail("nothing is banned"))
    put(store, said("I live in Oslo."))
    drain(store, homes())
    assert len(store.facts(ANA)) == 1


# -- wrong ---------------------------------------------------------------------------------------


def test_a_rejected_fact_is_withheld_in_all_its_words_until_that_is_taken_back(store):
    put(store, said("I live in Oslo."), said("My new home is in Oslo."), session="s")
    drain(store, homes())
    ids = [one.id for one in store.facts(ANA)]
    seq = store.forget_seq(ANA)
    receipt = store.reject(ANA, ids[0], actor=PERSON, reason="a slip", now=at(1))
    assert sorted(receipt.facts) == ids
    assert [one.status for one in store.facts(ANA)] == ["rejected"] * 2
    assert store.forget_seq(ANA) > seq
    (ban,) = store.bans(ANA)
    assert (ban.cause, ban.fact_id, ban.reason) == ("reject", ids[0], "a slip")
    # Said again it is rejected; in yet other words it is not stored. The words stay.
    put(store, said("I live in Oslo!"), session="t", now=at(2))
    drain(store, homes())
    assert [one.status for one in store.facts(ANA)] == ["rejected"] * 2
    assert len(texts(store)) == 3
    other = ScriptedExtractor(lambda passage: [Triple("ana", "resides in", "Oslo")])
    put(store, said("Oslo it is."), session="u", now=at(3))
    drain(store, other)
    assert sorted(one.id for one in store.facts(ANA)) == sorted(ids)
    with pytest.raises(InvalidInput, match="unforget"):
        store.rule(ANA, ids[0], "verified", actor=PERSON, now=at(4))
    assert store.unforget(ANA, fact=ids[1], actor=PERSON, now=at(5)).facts == tuple(sorted(ids))
    assert {one.status for one in store.facts(ANA)} <= {"asserted", "verified"}
    assert store.bans(ANA) == []


def test_rejecting_the_winner_restores_what_it_replaced(store):
    put(store, said("I live in Oslo.", 1), said("I live in Rome.", 2))
    drain(store, homes())
    live = lambda: [one.object for one in store.facts(ANA) if one.is_live]  # noqa: E731
    assert live() == ["Rome"]
    (rome,) = [one for one in store.facts(ANA) if one.object == "Rome"]
    store.reject(ANA, rome.id, actor=PERSON, now=at(3))
    assert live() == ["Oslo"]
    store.unforget(ANA, fact=("ana", "lives in", "Rome"), actor=PERSON, now=at(4))
    assert live() == ["Rome"]


def test_verdicts_go_with_their_fact_and_are_in_the_log(store):
    put(store, said("I live in Oslo."), said("My dog is called Rex."))
    drain(store, homes())
    for one in store.facts(ANA):
        store.rule(ANA, one.id, "verified", actor=PERSON, reason="seen", now=at(1))
    assert {one.status for one in store.facts(ANA)} == {"verified"}
    seq = store.forget_seq(ANA)
    forget_fact(store, "Oslo")
    assert store.forget_seq(ANA) > seq
    with store._reading() as connection:
        kept = connection.exec_driver_sql("SELECT fact_id FROM verdict").scalars().all()
    assert kept == [one.id for one in store.facts(ANA)]
    log = [one for one in store.log(ANA) if one.action == "verify" and one.kind == "verdict"]
    # Why a forgotten fact was ruled on may tell it.
    assert sorted((one.actor, one.reason) for one in log) == [("ana", ""), ("ana", "seen")]


# -- rows ----------------------------------------------------------------------------------------

SENTENCES = [f"Point {n} is near {name}." for n, name in enumerate(["Oslo", "Rome", "Lima", "Ulm"])]


def neighbours() -> ScriptedExtractor:
    def read(passage):
        for sentence in passage.text.split("."):
            found = sentence.split()
            if len(found) == 5:
                yield Triple(f"Point {found[1]}", "is near", found[4])

    return ScriptedExtractor(read)


@settings(max_examples=15)
@given(
    st.permutations(range(4)),
    st.permutations(range(4)),
    st.sets(st.integers(0, 3), min_size=1, max_size=3),
    st.booleans(),
)
def test_after_a_forget_feeding_it_all_again_changes_nothing(first, again, gone, lifts):
    messages = [said(text, n) for n, text in enumerate(SENTENCES)]
    store = Store.open(":memory:")
    put(store, *(messages[n] for n in first))
    drain(store, neighbours())
    whole = rows(store)
    ids = [one.id for one in store.passages(ANA) if one.text in {SENTENCES[n] for n in gone}]
    store.forget(ANA, passages=ids, now=at(100))
    if lifts:
        for ban in store.bans(ANA):
            store.unforget(ANA, ban=ban.id, actor=PERSON, now=at(101))
    put(store, *(messages[n] for n in again), now=at(102))
    drain(store, neighbours(), now=at(103))
    found = rows(store)
    store.close()
    if lifts:
        assert found == whole
        return
    never = Store.open(":memory:")
    put(never, *(one for n, one in enumerate(messages) if n not in gone))
    drain(never, neighbours())
    assert found == rows(never)
    never.close()


def test_bans_outlive_the_process_and_a_second_forget(tmp_path):
    store = Store.open(tmp_path / "m.db")
    put(store, said(SECRET), session="s")
    store.forget(ANA, session="s", now=NOW)
    store.close()
    store = Store.open(tmp_path / "m.db")
    assert put(store, said(SECRET), session="t").refused
    put(store, said("My dog is called Rex."), session="t")
    store.forget(ANA, everything=True, now=NOW)
    assert put(store, said(SECRET), session="t").refused
    assert put(store, said("The weather was fine."), session="t").stored
    store.close()

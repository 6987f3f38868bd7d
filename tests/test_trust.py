"""The deletion sequence and the contradiction matrix, and that they notice what they are to."""

from __future__ import annotations

from graphmem.experiments.trust.cases import Readings, changes, tellings, triples_by
from graphmem.experiments.trust.contradiction import SCORES
from graphmem.experiments.trust.deletion import STEPS, TARGETS
from graphmem.experiments.trust.paths import SPELLINGS, plain
from graphmem.grounding import ground
from graphmem.types import Passage

CASES = changes()
EVERY = [(case, change) for case, wordings in CASES.items() for change in wordings]


def test_every_case_has_several_wordings_of_different_names():
    assert len(CASES) == 5
    assert len(SCORES) == 5
    assert len(STEPS) == 13
    assert len(TARGETS) == 7
    for wordings in (tellings(), *CASES.values()):
        assert len(wordings) >= 4
        assert len({one.name for one in wordings}) == len(wordings)
    questions = [change.question for _, change in EVERY]
    assert len(set(questions)) == len(questions)
    assert "model" in triples_by()


def test_what_was_read_is_in_the_words():
    """A reading that names what nobody said would prove nothing; "you" is the one exception."""
    said = [one for telling in tellings() for one in (*telling.told, *telling.again)]
    said += [one for _, change in EVERY for one in change.told]
    assert len(said) > 100
    for one in said:
        passage = Passage(
            "p", "m", one.text, one.role, one.speaker or "", said_at=one.at, title=one.title or ""
        )
        for sentence in one.sentences:
            for triple in sentence.triples:
                is_you = one.role == "assistant" and "You" in sentence.text
                assert ground(triple, passage) or is_you, (triple, one.text)


def test_a_value_is_told_once_and_its_twin_elsewhere():
    for telling in tellings():
        (source,) = [said for said in telling.told if telling.gone in said.text]
        (twin,) = [said for said in telling.told if telling.twin in said.text]
        assert source.session != twin.session
        assert telling.gone not in telling.question
        assert all(telling.gone in said.text for said in telling.again)
        assert telling.gone in telling.value.object + telling.value.subject
        assert telling.ask


def test_what_changes_is_told_in_old_words_and_new_ones():
    for case, change in EVERY:
        parts = [said.part for said in change.told]
        assert "old" in parts
        assert "new" in parts or case == "bounded validity"
        old = " ".join(
            f"{triple.subject} {triple.predicate} {triple.object}"
            for said in change.told
            if said.part == "old"
            for sentence in said.sentences
            for triple in sentence.triples
        )
        assert change.stale in old, change.name
        assert all(kept in old or "Birch" in kept for kept in change.kept), change.name
        stamped = [said for said in change.told if said.at]
        assert bool(stamped) == bool(change.then) or case == "bounded validity"


def test_no_two_wordings_share_a_sentence():
    texts = [said.text for telling in tellings() for said in (*telling.told, *telling.again)]
    texts += [said.text for _, change in EVERY for said in change.told]
    assert len(set(texts)) == len(texts)


def test_a_spelling_changes_the_words_and_what_is_read_of_them():
    (source,) = [one for one in tellings()[0].told if "Tromsø" in one.text]
    sentence = source.sentences[0]
    for name, spelling in SPELLINGS.items():
        spelled = sentence.spelled(spelling)
        assert spelled.text != sentence.text, name
        assert plain(spelled.text) == plain(sentence.text), name
        assert plain(spelled.triples[0].object) == plain("Tromsø"), name
    assert plain("Tromsø") != plain("Tromso")


def test_sentences_bring_their_triples_into_any_text():
    (source,) = [one for one in tellings()[0].told if "Tromsø" in one.text]
    readings = Readings()
    readings.learn([source])
    both = [triple for sentence in source.sentences for triple in sentence.triples]
    assert readings.read(Passage("p", "m", f"Hello. {source.text} Bye.")) == both
    assert readings.read(Passage("p", "m", source.sentences[1].text)) == both[1:]
    assert readings.read(Passage("p", "m", "Hello. Bye.")) == []

"""The deletion sequence and the contradiction matrix, and that they notice what they are to."""

from __future__ import annotations

import json

import pytest

from graphmem import GraphMemory, Receipt, Scope, cli
from graphmem.embedding import resolve
from graphmem.errors import InvalidInput
from graphmem.experiments import bench_trust
from graphmem.experiments.trust import deletion, run
from graphmem.experiments.trust.cases import Readings, changes, tellings, triples_by
from graphmem.experiments.trust.contradiction import SCORES, scores
from graphmem.experiments.trust.deletion import STEPS, TARGETS, sequence
from graphmem.experiments.trust.paths import SPELLINGS, plain
from graphmem.grounding import ground
from graphmem.testing import HashEmbedder, ScriptedExtractor
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


# -- the matrices, with recorded triples -----------------------------------------------------------


@pytest.fixture(scope="module")
def embedder():
    return resolve(None)


def recorded():
    readings = Readings()
    return ScriptedExtractor(readings.read, name="recorded/1"), readings


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("telling", tellings(), ids=lambda telling: telling.name)
def test_what_was_forgotten_is_gone_and_stays_so(tmp_path, embedder, telling, target):
    extractor, readings = recorded()
    checks = sequence(telling, target, tmp_path, embedder, extractor, readings)
    assert [check.step for check in checks] == list(range(1, 14))
    assert [(check.step, check.name, check.saw) for check in checks if not check.passed] == []


@pytest.mark.parametrize(("case", "change"), EVERY, ids=lambda one: getattr(one, "name", one))
def test_what_is_over_is_told_as_over(tmp_path, embedder, case, change):
    extractor, readings = recorded()
    found = scores(change, tmp_path, embedder, extractor, readings)
    assert found == dict.fromkeys(SCORES, "")


# -- and that they notice ------------------------------------------------------------------------


class Careless(GraphMemory):
    """Says that it forgets, and does not."""

    def forget(self, scope=None, **named):
        return Receipt(Scope.of(scope or self.scope), forgotten=("p-1",), outside=("elsewhere",))


class Gone(GraphMemory):
    """Forgets everything, whatever is named."""

    def forget(self, scope=None, *, actor="", reason="", **named):
        return super().forget(scope, everything=True, actor=actor, reason=reason)


@pytest.mark.parametrize(("kind", "steps"), [(Careless, {4, 6, 8, 9, 13}), (Gone, {4, 6, 8})])
def test_a_memory_that_forgets_nothing_or_everything_fails(tmp_path, monkeypatch, kind, steps):
    monkeypatch.setattr(deletion, "GraphMemory", kind)
    extractor, readings = recorded()
    checks = sequence(tellings()[0], "passage", tmp_path, HashEmbedder(), extractor, readings)
    assert steps <= {check.step for check in checks if not check.passed}
    assert {1, 2} <= {check.step for check in checks if check.passed}


def test_a_memory_that_never_learns_of_a_change_fails(tmp_path):
    change = CASES["replacement"][0]
    readings = Readings()
    only_old = ScriptedExtractor(
        lambda passage: [] if passage.metadata.get("part") == "new" else readings.read(passage)
    )
    found = scores(change, tmp_path, HashEmbedder(), only_old, readings)
    assert all(found[letter] for letter in "ABCD")


# -- the command -----------------------------------------------------------------------------------


def shortened(monkeypatch):
    monkeypatch.setattr(run, "tellings", lambda: tellings()[1:2])
    monkeypatch.setattr(run, "changes", lambda: {case: some[:1] for case, some in CASES.items()})
    monkeypatch.setattr(run, "TARGETS", ("fact", "words"))


def test_the_command_writes_both_matrices(tmp_path, monkeypatch, capsys):
    shortened(monkeypatch)
    out = tmp_path / "trust.json"
    assert cli.main(["bench", "trust", "--triples", "recorded", "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    assert set(found) == {"deletion", "contradiction", "wordings", "triples", "machine"}
    assert (found["deletion"]["passed"], found["deletion"]["of"]) == (26, 26)
    assert (found["contradiction"]["passed"], found["contradiction"]["of"]) == (25, 25)
    assert [step["step"] for step in found["deletion"]["steps"]] == list(range(1, 14))
    assert found["contradiction"]["cells"].keys() == CASES.keys()
    assert found["triples"] == triples_by()
    shown = capsys.readouterr().out
    said = " ".join(shown.split())
    assert "26 of 26 cells" in said
    assert "25 of 25 cells" in said


def test_a_failing_cell_is_the_command_s_failure(tmp_path, monkeypatch, capsys):
    shortened(monkeypatch)
    monkeypatch.setattr(deletion, "GraphMemory", Careless)
    out = tmp_path / "trust.json"
    assert cli.main(["bench", "trust", "--triples", "recorded", "--json", str(out)]) == 1
    steps = json.loads(out.read_text())["deletion"]["steps"]
    (failure,) = steps[3]["cells"]["fact"]["failures"]
    assert failure["wording"] == "allergy"
    assert "still shown on" in failure["saw"]
    assert "✗" in capsys.readouterr().out


def test_what_rules_reach_is_told_and_decides_nothing(tmp_path, monkeypatch, capsys):
    shortened(monkeypatch)
    out = tmp_path / "trust.json"
    assert cli.main(["bench", "trust", "--triples", "rules", "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["triples"].startswith("rules/")
    assert found["contradiction"]["of"] == 25
    assert found["contradiction"]["passed"] > 5


@pytest.mark.parametrize("options", [{"triples": "guesses"}, {"triples": ()}, {"wordings": 0}])
def test_what_cannot_be_measured_is_refused(options):
    with pytest.raises(InvalidInput):
        bench_trust(**options)

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from experiment_parts import ANA, BO, CHAT, DOCUMENTS, said, written
from graphmem import Extraction, Passage, Triple
from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import DataSet
from graphmem.experiments.reading import passage_ids
from graphmem.experiments.triples import SOURCES, source
from graphmem.experiments.triples.cache import CachedExtractor
from graphmem.experiments.triples.cooccurrence import CooccurrenceExtractor
from graphmem.testing import ScriptedExtractor
from graphmem.types import Extractor, Usage

MOVED = Passage("p1", "m1", "She moved to Oslo.", speaker="Ana", session="s")
BEFORE = Passage("p0", "m0", "Maja called.", speaker="Bo", session="s")


def found_by(extractor, *passages):
    return [
        [(t.subject, t.predicate, t.object) for t in one.triples]
        for one in extractor.extract(list(passages))
    ]


# --- sources ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_an_extractor_for_a_set(name):
    extractor = source(name, model=ScriptedExtractor())(CHAT)
    assert isinstance(extractor, Extractor)
    assert extractor.name
    (found,) = extractor.extract([MOVED])
    assert found.passage_id == MOVED.id
    assert found.error is None


def test_recorded_triples_go_by_the_passage():
    extractor = source("recorded")(CHAT)
    ids = [passage_ids(record)[0] for record in CHAT.records]
    passages = [replace(MOVED, id=key) for key in (*ids, "unknown")]
    assert found_by(extractor, *passages) == [
        [("Maja", "moved to", "Oslo")],
        [("Maja", "loves", "fish")],
        [("Oslo", "has", "Nora")],
        [],
        [("Maja", "moved to", "Ghent")],
        [],
    ]


def test_recorded_triples_of_equal_records_count_once_and_of_long_ones_for_each_part():
    triple = Triple("Lisbon", "lies on", "Tagus")
    twin = replace(DOCUMENTS.records[2], triples=(triple,))
    long = written("long", "Long", "word " * 2000, ("a", "b", "c"), ("a", "b", "c"))
    extractor = source("recorded")(replace(DOCUMENTS, records=(*DOCUMENTS.records[:2], twin, long)))
    (first,) = passage_ids(twin)
    parts = passage_ids(long)
    assert len(parts) > 1
    found = found_by(extractor, *(replace(MOVED, id=key) for key in (first, *parts)))
    assert found == [[("Lisbon", "lies on", "Tagus")], *([[("a", "b", "c")] * 2] * len(parts))]


def test_equal_words_in_two_scopes_must_record_the_same():
    one = said("one", ANA, "1", "Zoe", "it rained", ("it", "was", "rain"))
    two = replace(one, id="two", scope=BO)
    assert passage_ids(one) == passage_ids(two)
    assert source("recorded")(DataSet("same", (one, two), ())).extract([MOVED])
    other = replace(two, triples=())
    with pytest.raises(InvalidInput, match="'one' and 'two' say the same words in two scopes"):
        source("recorded")(DataSet("not the same", (one, other), ()))


def test_no_source_gives_none():
    assert found_by(source("none")(CHAT), MOVED) == [[]]


def test_a_model_must_be_given():
    with pytest.raises(InvalidInput, match="model="):
        source("model")


def test_an_unknown_source_is_told_with_the_known_ones():
    with pytest.raises(InvalidInput, match="recorded, rules, cooccurrence, model, none"):
        source("magic")


# --- co-occurrence ------------------------------------------------------------------------------


def pairs(text, speaker=""):
    (found,) = CooccurrenceExtractor().extract([Passage("p", "m", text, speaker=speaker)])
    assert all(triple.predicate == "with" for triple in found.triples)
    return [(triple.subject, triple.object) for triple in found.triples]


@pytest.mark.parametrize(
    ("text", "speaker", "wanted"),
    [
        # A name is linked with what else its sentence has, a thing with no other thing.
        ("The old mill of Ljubno has a red roof.", "",
         [("old mill", "Ljubno"), ("Ljubno", "red roof")]),
        ("They saw Tina Maze in New York in 2013.", "",
         [("saw", "Tina Maze"), ("saw", "New York"), ("saw", "2013"), ("Tina Maze", "New York"),
          ("Tina Maze", "2013"), ("New York", "2013")]),
        ("The Duke of York, and Bea.", "", [("Duke of York", "Bea")]),
        # Sentences are worlds of their own.
        ("Maja left. Tomo stayed!", "", [("Maja", "left"), ("Tomo", "stayed")]),
        ("Maja and Tomo sang\nBea slept", "",
         [("Maja", "Tomo"), ("Maja", "sang"), ("Tomo", "sang"), ("Bea", "slept")]),
        # The first person is who speaks.
        ("I sold my boat", "Ana", [("Ana", "sold"), ("Ana", "boat")]),
        ("I’m off to Oslo", "Ana", [("Ana", "Oslo")]),
        ("we sold the boat", "", []),
        ("Maja met Maja", "", [("Maja", "met")]),
        ("", "Ana", []),
        ("...", "Ana", []),
    ],
)  # fmt: skip
def test_what_stands_together(text, speaker, wanted):
    assert pairs(text, speaker) == wanted


def test_a_long_sentence_is_bounded():
    text = "See " + " and a ".join(f"Place{n}" for n in range(100))
    assert len(pairs(text)) == 66


# --- readings kept ------------------------------------------------------------------------------


class Costly(ScriptedExtractor):
    """Each call costs ten tokens."""

    @property
    def usage(self):
        return Usage(len(self.batches), 10 * len(self.batches), len(self.batches))


def stated(passage):
    if "crash" in passage.text:
        raise RuntimeError("the model crashed")
    if "refuse" in passage.text:
        return Extraction(passage.id, error="refused")
    names = [one.text.split()[0] for one in passage.before] or ["somebody"]
    triple = Triple(
        names[-1], "moved to", passage.text, valid_from="2025", polarity=False, speaker="Bo"
    )
    return Extraction(passage.id, (triple,), dropped=("a joke",))


def test_a_reading_is_paid_for_once(tmp_path):
    model = Costly(stated)
    other = replace(MOVED, id="p2", text="He moved to Brno.")
    first = CachedExtractor(model, tmp_path / "new")
    read = first.extract([MOVED, other])
    assert [one.passage_id for one in read] == ["p1", "p2"]
    assert first.extract([other]) == [read[1]]
    assert (len(model.batches), first.usage) == (1, Usage(1, 10, 1))
    # Another run: the same readings, what they have cost, and one more call for what is new.
    again = CachedExtractor(model, tmp_path / "new")
    assert again.usage == Usage()
    new = replace(MOVED, id="p3", text="They moved to Porto.")
    assert again.extract([other, new, replace(MOVED, id="elsewhere")]) == [
        read[1],
        stated(new),
        replace(read[0], passage_id="elsewhere"),
    ]
    assert [[one.id for one in batch] for batch in model.batches] == [["p1", "p2"], ["p3"]]
    assert again.usage.calls == 2


def test_a_reading_belongs_to_what_stands_before_and_to_the_extractor(tmp_path):
    model = Costly(stated)
    cached = CachedExtractor(model, tmp_path)
    in_context = replace(MOVED, before=(BEFORE,))
    assert found_by(cached, MOVED)[0][0][0] == "somebody"
    assert found_by(cached, in_context)[0][0][0] == "Maja"
    assert found_by(cached, replace(MOVED, speaker="Bo"))
    assert found_by(cached, replace(MOVED, title="Letter", role="document"))
    assert len(model.batches) == 4
    other = Costly(stated, name="other/2")
    CachedExtractor(other, tmp_path).extract([MOVED])
    assert len(other.batches) == 1
    assert len(list(tmp_path.iterdir())) == 2


def test_a_run_that_was_killed_goes_on_where_it_stood(tmp_path):
    model = Costly(stated)
    passages = [replace(MOVED, id=f"p{n}", text=f"note {n}") for n in range(4)]
    for one in passages[:3]:
        CachedExtractor(model, tmp_path).extract([one])
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.rindex(b'"triples"')])
    wanted = [stated(one) for one in passages]
    assert list(CachedExtractor(model, tmp_path).extract(passages)) == wanted
    assert [one.id for one in model.batches[-1]] == ["p2", "p3"]
    calls = len(model.batches)
    assert list(CachedExtractor(model, tmp_path).extract(passages)) == wanted
    assert len(model.batches) == calls


@pytest.mark.parametrize("line", ["7", "{}", '{"key": "x", "triples": [["a"]], "dropped": []}',
                                  '{"key": "x", "triples": 3, "dropped": []}', "\x00"])  # fmt: skip
def test_a_damaged_line_is_read_again(tmp_path, line):
    model = Costly(stated)
    wanted = CachedExtractor(model, tmp_path).extract([MOVED])
    (file,) = tmp_path.iterdir()
    file.write_text(f"{line}\n{file.read_text()}")
    assert CachedExtractor(model, tmp_path).extract([MOVED]) == wanted
    assert len(model.batches) == 1


def test_what_failed_is_tried_again_and_paid_for(tmp_path):
    model = Costly(stated)
    refused = replace(MOVED, id="p2", text="refuse this")
    cached = CachedExtractor(model, tmp_path)
    assert [one.error for one in cached.extract([refused])] == ["refused"]
    assert cached.usage.calls == 1
    assert [one.error for one in cached.extract([refused, MOVED])] == ["refused", None]
    assert cached.usage.calls == len(model.batches) == 2
    assert [one.error for one in CachedExtractor(model, tmp_path).extract([MOVED])] == [None]
    assert len(model.batches) == 2
    with pytest.raises(RuntimeError, match="crashed"):
        cached.extract([replace(MOVED, text="crash")])


def test_passages_of_the_same_words_are_asked_for_once(tmp_path):
    model = Costly(stated)
    twins = [MOVED, replace(MOVED, id="p2")]
    found = CachedExtractor(model, tmp_path).extract(twins)
    assert [one.passage_id for one in found] == ["p1", "p2"]
    assert found[0].triples == found[1].triples
    assert [len(batch) for batch in model.batches] == [1]


def test_without_a_folder_readings_are_kept_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = Costly(stated)
    cached = source("model", model=model)(CHAT)
    cached.extract([MOVED])
    cached.extract([MOVED])
    assert len(model.batches) == 1
    assert list(tmp_path.iterdir()) == []
    assert source("model", model=model)(CHAT).usage == Usage()


def test_many_threads_write_whole_lines(tmp_path):
    cached = CachedExtractor(ScriptedExtractor(stated), tmp_path)
    passages = [replace(MOVED, id=f"p{n}", text=f"note {n} “quoted”\n") for n in range(200)]
    threads = [
        threading.Thread(target=lambda part=n: [cached.extract([p]) for p in passages[part::4]])
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (file,) = tmp_path.iterdir()
    lines = file.read_text().splitlines()
    assert len({json.loads(line)["key"] for line in lines}) == len(lines) == 200

"""``graphmem bench speed``: the generated world, the figures of a small one, and mistakes."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from graphmem import cli
from graphmem.errors import GraphMemError, InvalidInput
from graphmem.experiments import bench_speed
from graphmem.experiments.speed.building import copy_of, open_memory
from graphmem.experiments.speed.models import ClauseExtractor, WordEmbedder
from graphmem.experiments.speed.processes import fresh
from graphmem.experiments.speed.world import FACTS, FLUSH, SESSION, USER, World
from graphmem.types import Passage

SIZE = 1_000
WORLD = World(SIZE)


def messages_of(world):
    return [message for _, messages in world.batches() for message in messages]


def names_of(facts):
    return {name for subject, _, end in facts for name in (subject, end)}


# --- the world -----------------------------------------------------------------------------------


def test_a_world_is_a_function_of_its_seed():
    assert messages_of(World(120)) == messages_of(World(120))
    assert messages_of(World(120))[:60] == messages_of(World(60))
    assert messages_of(World(120)) != messages_of(World(120, seed=1))
    assert World(120).questions(9) == World(120).questions(9)
    assert World(120).questions(9) != World(120, seed=1).questions(9)


def test_most_is_said_in_sessions_by_several_and_the_rest_are_documents():
    spoken = []
    for session, messages in WORLD.batches():
        assert len(messages) == SESSION
        if session is None:
            assert {message.role for message in messages} == {"document"}
            assert all(message.title and message.title in message.text for message in messages)
            continue
        spoken += messages
        assert len({message.speaker for message in messages}) == 3
        assert USER in {message.speaker for message in messages}
        times = [message.said_at for message in messages]
        assert times == sorted(times)
    assert len(spoken) == 0.8 * SIZE
    times = [message.said_at for message in spoken]
    assert len(set(times)) == len(times)
    assert len({message.speaker for message in spoken}) > 20


def test_a_passage_holds_its_eight_facts_in_about_forty_words():
    messages = messages_of(WORLD)
    assert len({message.text for message in messages}) == SIZE
    lengths = [len(message.text.split()) for message in messages]
    assert 38 < np.mean(lengths) < 48
    assert max(lengths) < 80
    for n in range(0, SIZE, 10):
        facts = WORLD.facts(n)
        assert len(facts) == FACTS
        assert len(names_of(facts)) == FACTS + 3
        for subject, verb, end in facts:
            assert subject in messages[n].text
            assert f" {verb} {end}" in messages[n].text


def test_entities_are_three_new_ones_a_passage_and_otherwise_zipfs():
    uses = Counter(name for n in range(SIZE) for name in names_of(WORLD.facts(n)))
    assert len(uses) == pytest.approx(3 * SIZE, rel=0.01)
    counts = sorted(uses.values(), reverse=True)
    assert 0.03 * SIZE < counts[0] < 0.15 * SIZE
    assert counts[0] > 5 * counts[100] > 5
    words = Counter(len(name.split()) for name in uses)
    assert set(words) == {1, 2, 3}
    assert min(words.values()) > 0.1 * len(uses)
    assert len({WORLD.name(entity) for entity in range(5_000)}) == 5_000


def test_what_is_said_next_is_new_and_of_one_session_a_flush():
    known = {message.text for message in messages_of(WORLD)}
    flushes = list(islice(WORLD.flushes(), 3))
    assert len({session for session, _ in flushes}) == 3
    for _, messages in flushes:
        assert len(messages) == FLUSH
        assert {message.role for message in messages} == {"user"}
        assert known.isdisjoint(message.text for message in messages)


def test_questions_name_what_the_world_holds():
    names = {name for n in range(SIZE) for name in names_of(WORLD.facts(n))}
    questions = WORLD.questions(50)
    assert len(set(questions)) > 45
    assert all(any(name in question for name in names) for question in questions)


# --- what reads it -------------------------------------------------------------------------------


def test_the_extractor_reads_exactly_the_facts():
    extractor = ClauseExtractor()
    passages = [Passage(str(n), "m", WORLD.message(n).text) for n in range(0, SIZE, 7)]
    for passage, found in zip(passages, extractor.extract(passages), strict=True):
        triples = [(one.subject, one.predicate, one.object) for one in found.triples]
        assert triples == WORLD.facts(int(passage.id))
    assert extractor.seconds > 0


def test_texts_that_share_words_are_near():
    embedder = WordEmbedder()
    base, namesake = WORLD.name(14), WORLD.name(15)
    assert namesake.startswith(f"{base} ")
    rows = embedder.embed([base, namesake, WORLD.name(900), "", f"{base}!"])
    assert rows.shape == (5, 384)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1, 0, 1], abs=1e-5)
    cosines = rows @ rows[0]
    assert cosines[1] > 0.7 > 0.3 > abs(cosines[2])
    assert cosines[4] == pytest.approx(1, abs=1e-5)
    assert np.array_equal(WordEmbedder().embed_query(base), rows[0])
    assert embedder.seconds > 0


def test_a_built_store_holds_the_world_and_is_built_once(tmp_path):
    world = World(40)
    kept, first, second = (tmp_path / name for name in ("kept", "first", "second"))
    assert copy_of(world, kept, first, lambda done, total: None) > 0
    assert copy_of(world, kept, second, lambda done, total: None) is None
    for folder in (first, second):
        with open_memory(folder) as memory:
            stats = memory.stats()
            assert (stats.passages, stats.pending, stats.unembedded) == (40, 0, 0)
            assert stats.withheld == 0
            assert stats.facts == len({fact for n in range(40) for fact in world.facts(n)})
            assert memory.recall(world.questions(1)[0]).route == "graph"


# --- the bench -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("speed")
    path = folder / "speed.json"
    command = ["bench", "speed", "--sizes", "200", "--quick", "--json", str(path), "--plots"]
    assert cli.main(command) == 0
    return path


def test_the_figures_are_whole_and_consistent(measured):
    content = json.loads(measured.read_text())
    assert content["facts_of_passage"] == FACTS
    assert content["machine"]["cores"] >= 1
    (one,) = content["results"]
    assert one["passages"] == 200
    assert one["facts"] == pytest.approx(200 * FACTS, rel=0.01)
    assert one["entities"] == pytest.approx(600, rel=0.05)
    for name in ("recall_ms", "busy_recall_ms", "prpack_recall_ms", "vector_block_ms", "put_ms"):
        assert 0 < one[name]["p50"] <= one[name]["p95"], name
    for name in ("fsync_ms", "put_banned_ms", "forget_ms", "flush_ms_per_passage"):
        assert 0 < one[name]["p50"] <= one[name]["p95"], name
    recall = one["recall_ms"]
    assert 0 < recall["walked"] <= recall["recalls"]
    assert 0 < recall["processor"]["p50"] <= recall["processor"]["p95"]
    assert "embed" not in recall["stages"]
    assert 0 < sum(stage["p50"] for stage in recall["stages"].values()) < 2 * recall["p50"]
    assert set(one["flush_ms_per_passage"]["stages"]) == {"facts", "vectors", "index"}
    assert one["busy_recall_ms"]["written"] >= FLUSH
    assert one["vector_block_ms"]["nodes"] == 200
    assert one["loop_gap_ms"]["max"] >= 0
    assert min(one["open_s"], one["start_s"], one["build_s"]) > 0
    assert one["bytes_per_passage"]["disk"] > 1_000
    if Path("/proc/self/smaps_rollup").exists():
        assert one["bytes_per_passage"]["memory"] > 0
    ratio = one["prpack_recall_ms"]["p50"] / recall["p50"]
    assert one["times_recall"]["prpack"] == pytest.approx(ratio, abs=0.01)


def test_the_picture_lies_beside_the_figures(measured):
    assert sorted(path.name for path in measured.parent.iterdir()) == ["speed.json", "speed.png"]
    assert measured.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_a_process_that_fails_is_told(capfd):
    found, seconds = fresh(json.loads, s="[1]")
    assert found == [1]
    assert seconds > 0
    with pytest.raises(GraphMemError, match="ended with code 1: why stands above"):
        fresh(json.loads, s="[1")
    assert "JSONDecodeError" in capfd.readouterr().err


# --- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", ["", "10k", "1000,", "1e3", "-5", "1000;2000"])
def test_sizes_are_whole_numbers_with_commas_between(sizes, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["bench", "speed", "--sizes", sizes])
    assert stopped.value.code == 2
    assert "whole numbers with commas between, such as 1000,10000" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--sizes", "1000,99"], "at least 100 each"),
        (["--plots"], "--json"),
        (["--json", "no/such/folder/out.json"], "make it first"),
        (["--keep", "no/such/folder"], "make it first"),
    ],
)
def test_a_mistake_is_one_clear_line(options, says, capsys):
    assert cli.main(["bench", "speed", *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert says in shown.err
    assert shown.err.count("\n") == 1


def test_no_sizes_are_a_mistake():
    with pytest.raises(InvalidInput, match="such as 1000 and 10000"):
        bench_speed([])


def test_help_shows_an_example(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["bench", "speed", "--help"])
    assert stopped.value.code == 0
    assert "example:\n  graphmem bench speed --sizes" in capsys.readouterr().out

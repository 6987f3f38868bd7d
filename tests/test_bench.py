"""The bench of recall: runs, rows, resuming and reports."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_parts import CHAT, DOCUMENTS, OWN, bench, quiet, write_chat, write_documents
from experiment_parts import CHAT as CHATS
from experiment_parts import Backwards
from graphmem.errors import InvalidInput, NotFound
from graphmem.experiments import variants_of
from graphmem.experiments.cache import CachedEmbedder
from graphmem.experiments.measuring import Measurer
from graphmem.experiments.metrics import FIGURES, mean_figures
from graphmem.experiments.preparing import prepare
from graphmem.experiments.provenance import _matters, code_of
from graphmem.experiments.rows import RowFolder, Setup
from graphmem.experiments.systems import Parts, open_system
from graphmem.experiments.systems.plain import NoMemory
from graphmem.files import write_json
from graphmem.testing import HashEmbedder, ScriptedExtractor


@pytest.fixture
def chat(tmp_path):
    return write_chat(tmp_path)


@pytest.fixture
def documents(tmp_path):
    return write_documents(tmp_path)


# -- a run ----------------------------------------------------------------------------------------


def test_a_run_writes_and_returns_the_figures(chat, documents, tmp_path):
    out, console = tmp_path / "out.json", quiet()
    results = bench([chat, documents], ["graphmem", "bm25"], json_path=out, console=console)
    written = json.loads(out.read_text())
    assert written["results"] == json.loads(json.dumps(results))
    assert written["machine"]["python"]
    assert [(one["data"], one["system"]) for one in results] == [
        ("chat.json", "graphmem"),
        ("chat.json", "bm25"),
        ("documents.json.gz", "graphmem"),
        ("documents.json.gz", "bm25"),
    ]
    first = results[0]
    assert first["questions"] == 3
    assert first["recall@5"] == first["mrr"] == first["within_budget"] == 1.0
    assert first["stale_first"] == 0
    assert first["routes"] == {"graph": 3}
    assert set(first["by_kind"]) == {"single", "update"}
    assert results[2]["by_hops"]["2"]["questions"] == 6
    assert 0 < first["p50_ms"] <= first["p95_ms"]
    assert {"walk", "bridge"} <= set(first["stages"])
    assert first["index_seconds"] > 0
    assert first["intervals"]["recall@5"] == [1, 1]
    assert (first["triples"], results[1]["triples"]) == ("recorded", "")
    assert first["settings"]["damping"] == 0.5
    assert results[1]["settings"] is None
    shown = console.file.getvalue()
    assert "documents " in shown
    assert "differences" in shown


def test_a_wrong_name_stops_the_run_before_it_starts(chat, tmp_path):
    embedder, out = HashEmbedder(), tmp_path / "out.json"
    wrong = {
        "magic": {"systems": ["dense", "magic"]},
        "guesses": {"systems": ["graphmem"], "triples": ["guesses"]},
        "'model'|\"model\"": {"systems": ["graphmem"], "triples": ["model"]},
        "depth": {"systems": ["dense"], "depth": 0},
        "nowhere": {"systems": ["dense"], "out": tmp_path / "nowhere" / "out"},
        "lookups or sample": {"systems": ["dense"], "lookups": 2, "sample": 2},
        "name it with out=": {"systems": ["dense"], "plots": True},
    }
    for says, options in wrong.items():
        with pytest.raises((InvalidInput, NotFound), match=says):
            bench([chat], json_path=out, embed_model=embedder, **options)
    assert embedder.calls == 0
    assert not out.exists()


def test_every_source_of_triples_is_a_row_of_systems_that_read_them(documents):
    results = bench([documents], ["graphmem", "bm25"], triples=["recorded", "none"])
    assert [(one["system"], one["triples"]) for one in results] == [
        ("graphmem", "recorded"),
        ("graphmem", "none"),
        ("bm25", ""),
    ]
    assert results[0]["routes"] == {"graph": 6}
    assert results[1]["routes"] == {"dense": 6}


def test_what_a_model_has_cost_is_told_and_its_extractions_are_kept(documents, tmp_path):
    def reading(passage):
        words = passage.text.rstrip(".").split()
        return [(passage.title, " ".join(words[1:-1]), words[-1])]

    first, again = (ScriptedExtractor(reading, name="scripted/7") for _ in range(2))
    cache = tmp_path / "cache"
    (one,) = bench([documents], triples=["model"], model=first, cache=cache)
    assert one["usage"]["ingest"]["calls"] == len(first.batches) > 0
    assert one["usage"]["query"]["calls"] == 0
    assert one["model"] == "scripted/7"
    (two,) = bench([documents], triples=["model"], model=again, cache=cache)
    assert again.batches == []
    assert two["usage"] == one["usage"]
    assert two["recall@5"] == one["recall@5"]


def test_seeds_are_orders_of_arrival(documents):
    results = bench([documents], [OWN], seeds=[0, 1, 2])
    assert [one["seed"] for one in results] == [0, 1, 2]
    # A system that ranks by arrival sees the difference.
    assert len({one["mrr"] for one in results}) > 1


def test_variants_are_rows_and_read_the_records_once(documents):
    once, several = HashEmbedder(), HashEmbedder()
    bench([documents], ["graphmem"], embed_model=once)
    results = bench(
        [documents],
        ["graphmem", "bm25"],
        variants=variants_of(ablated=["bridge", "seeds"]),
        embed_model=several,
    )
    assert [(one["system"], one["variant"], one["part"]) for one in results] == [
        ("graphmem", "", ""),
        ("graphmem", "no bridge", "bridge"),
        ("graphmem", "no seeds", "seeds"),
        ("bm25", "", ""),
    ]
    by_part = {one["part"]: one for one in results if one["system"] == "graphmem"}
    assert by_part["seeds"]["routes"] == {"dense": 6}
    assert by_part[""]["routes"] == by_part["bridge"]["routes"] == {"graph": 6}
    assert by_part["bridge"]["settings"]["bridge_weight"] == 0
    # Twice as many questions more, and the words that warm an index up; no record again.
    assert several.calls - once.calls == 2 * (len(DOCUMENTS["queries"]) + 1)


def test_a_sample_and_lookups_ask_something_else(documents):
    (one,) = bench([documents], ["bm25"], sample=2)
    assert (one["questions"], one["sample"]) == (2, 2)
    (one,) = bench([documents], ["bm25"], lookups=4)
    assert (one["questions"], one["lookups"], one["files"]) == (4, 4, ("documents.json.gz",))
    assert "look-ups" in one["data"]


def test_several_files_become_one_memory(chat, documents, tmp_path):
    (one,) = bench([chat, documents], ["bm25"], mix=True, out=tmp_path / "out")
    assert one["questions"] == 9
    assert one["files"] == ("chat.json", "documents.json.gz")
    found = tables((tmp_path / "out" / "report.md").read_text())["chat + documents (9 questions)"]
    assert {"2 hops", "chat.json: single"} <= {row[0] for row in found}


def test_files_of_one_name_cannot_be_told_apart(chat, tmp_path):
    (tmp_path / "other").mkdir()
    with pytest.raises(InvalidInput, match="rename one"):
        bench([chat, write_chat(tmp_path / "other")], ["bm25"])
    assert len(bench([chat, chat], ["bm25"])) == 1


def test_what_is_ranked_must_be_records_of_the_scope(chat):
    with pytest.raises(InvalidInput, match=r"'elsewhere'.*no record of scope"):
        bench([chat], ["test_bench:Elsewhere"])


class Elsewhere(Backwards):
    """Ranks what is not there."""

    def ask(self, question, top_k):
        answer = super().ask(question, top_k)
        return type(answer)(("elsewhere", *answer.ranking), answer.milliseconds)


def test_a_record_is_ranked_once(chat):
    with pytest.raises(InvalidInput, match="twice: rank each record once"):
        bench([chat], ["test_bench:Stammering"])


class Stammering(Backwards):
    """Ranks its first record twice."""

    def ask(self, question, top_k):
        answer = super().ask(question, top_k)
        return type(answer)((answer.ranking[0], *answer.ranking), answer.milliseconds)


def test_only_so_many_records_count_as_were_asked_for(documents):
    (deep,) = bench([documents], [OWN], depth=12)
    (flat,) = bench([documents], [OWN], depth=10)
    assert deep["within_budget"] == 1
    assert flat["within_budget"] == pytest.approx(5 / 6)  # two towns are beyond the tenth


def test_no_row_is_asked_for_fewer_records_than_its_figures_tell_of(chat):
    with pytest.raises(InvalidInput, match=r"depth must be at least 10.*not 9"):
        bench([chat], [OWN], depth=9)
    assert bench([chat], [OWN], depth=10)[0]["depth"] == 10


def test_a_budget_holds_what_fits(chat):
    (all_in,) = bench([chat], [OWN], budget=550)
    (little,) = bench([chat], [OWN], budget=4)
    assert all_in["within_budget"] == 1
    assert little["within_budget"] < 1
    assert little["recall@10"] == all_in["recall@10"]


def test_the_window_of_the_context_holds_the_budget(chat):
    (wide,) = bench([chat], ["in_context"], budget=550)
    (narrow,) = bench([chat], ["in_context"], budget=4)
    assert wide["recall@10"] == 1
    assert narrow["recall@10"] == narrow["within_budget"] < 1


# -- rows and resuming ----------------------------------------------------------------------------


class Counting(Backwards):
    """Counts how often it is asked to read."""

    reads = 0

    def ingest(self, data, progress):
        type(self).reads += 1
        super().ingest(data, progress)


def test_a_finished_row_is_not_measured_again(chat, documents, tmp_path):
    from test_bench import Counting  # the class that the bench imports

    Counting.reads = 0
    options = {"systems": ["test_bench:Counting"], "seeds": [0, 1], "out": tmp_path / "out"}
    first = bench([chat], **options)
    assert Counting.reads == 2
    assert len(list((tmp_path / "out" / "rows").iterdir())) == 2
    second = bench([chat, documents], **options)
    assert Counting.reads == 4
    assert second[:2] == first


def test_a_row_is_measured_again_where_anything_differs(chat, documents, tmp_path):
    from test_bench import Counting

    def run(data=chat, **options):
        before = Counting.reads
        bench([data], ["test_bench:Counting"], out=tmp_path / "out", **options)
        return Counting.reads - before

    assert run() == 1
    assert run() == 0
    assert run(seeds=[1]) == 1
    assert run(depth=17) == 1
    assert run(budget=9) == 1
    assert run(embed_model=HashEmbedder(name="other")) == 1
    chat.write_text(json.dumps(CHAT).replace("it rained", "it poured"))
    assert run() == 1
    assert run() == 0


def test_a_row_depends_on_the_source_of_what_answers(chat):
    measurer = Measurer(HashEmbedder())
    (data,) = prepare([chat])
    own = [OWN, "experiment_parts:Inside.Own", "test_bench:Counting", "bm25", "dense"]
    setups = measurer.setups(data, own, ["recorded"], [0], variants_of())
    codes = [setup.code for setup in setups]
    assert codes[0] == codes[1] != codes[2]  # of one file, and of another
    assert codes[3] == codes[4] != codes[0]
    assert len({setup.fingerprint for setup in setups}) == 5


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder with a system of one's own that is made of several modules."""
    folder = tmp_path / "own_memory"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "__init__.py").write_text("")
    (folder / "inner" / "ranks.py").write_text("ORDER = 1\n")
    (folder / "apart.py").write_text("ORDER = 2\n")
    (folder / "own.py").write_text(
        "from experiment_parts import Backwards\n"
        "from graphmem.experiments.systems.plain import NoMemory\n"
        "from own_memory.inner import ranks\nimport beside_memory\n\n"
        "class Mine(Backwards):\n    pass\n\ndef make(parts):\n    return NoMemory()\n"
    )
    (tmp_path / "beside_memory.py").write_text("X = 1\n")
    (tmp_path / "alone_memory.py").write_text(
        "from experiment_parts import Backwards as Same\nimport beside_memory\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [one for one in sys.modules if "_memory" in one and one.split(".")[0] in OWN_ONES]:
        del sys.modules[name]


OWN_ONES = ("own_memory", "beside_memory", "alone_memory")


@pytest.mark.parametrize(
    ("name", "file", "counts"),
    [
        ("own_memory.own:Mine", "own_memory/own.py", True),
        ("own_memory.own.make", "own_memory/own.py", True),
        ("own_memory.own:make", "own_memory/inner/ranks.py", True),
        ("own_memory.own:Mine", "own_memory/apart.py", False),
        ("alone_memory:Same", "alone_memory.py", True),
        ("alone_memory:Same", "beside_memory.py", True),
        ("bm25", "own_memory/own.py", False),
    ],
)
def test_a_system_of_ones_own_depends_on_its_modules(package, name, file, counts):
    def code():
        return code_of(name, type(open_system(name, Parts(HashEmbedder()))))

    before = code()
    assert code() == before
    (package / file).write_text((package / file).read_text() + "# changed\n")
    assert (code() != before) is counts


def test_a_system_without_a_file_is_never_taken_from_before(monkeypatch):
    monkeypatch.setitem(sys.modules, "typed_in", ModuleType("typed_in"))
    assert code_of("typed_in:make", NoMemory) != code_of("typed_in:make", NoMemory)
    assert code_of("no_memory", NoMemory) == code_of("no_memory", NoMemory)


@pytest.mark.parametrize("name", [one.name for one in fields(Setup) if one.name != "variant"])
def test_a_fingerprint_tells_every_field(chat, name):
    (data,) = prepare([chat])
    (setup,) = Measurer(HashEmbedder()).setups(data, ["graphmem"], ["none"], [0], variants_of())
    value = getattr(setup, name)
    others = {
        "origin": replace(setup.origin, sample=3),
        "left_out": {"lines": 1},
        "settings": {**setup.settings, "seed_k": 99},
    }
    other = others.get(name, value + 1 if isinstance(value, int) else f"{value}!")
    assert replace(setup, **{name: other}).fingerprint != setup.fingerprint
    renamed = replace(setup, variant=replace(setup.variant, label="other"))
    assert renamed.fingerprint == setup.fingerprint


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("recall/push.py", True),
        ("store/__init__.py", True),
        ("settings.py", True),
        ("experiments/metrics.py", True),
        ("experiments/systems/ppr.py", True),
        ("experiments/triples/sources.py", True),
        ("experiments/report/tables.py", False),
        ("cli/bench.py", False),
        ("block/host.py", False),
        ("demo.py", False),
    ],
)
def test_which_source_decides_figures(name, counts):
    assert _matters(name) is counts


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda r, q: (r + r[:1], q), r"records\[5\] \(a0\): id: another one has it too"),
        (lambda r, q: (r, q + q[:1]), r"questions\[4\] \(q0\): id: another one has it too"),
        (lambda r, q: (r, (replace(q[0], gold=("x",)),)), r"q0.*gold: 'x' is no passage of scope"),
        (lambda r, q: (r, (replace(q[0], gold=("b0",)),)), r"gold: 'b0' is no .* scope 'ana'"),
        (lambda r, q: (r, (replace(q[0], stale=("b0",)),)), r"stale: 'b0' is no .* scope 'ana'"),
    ],
)
def test_a_set_made_in_python_is_held_to_what_files_are(change, told):
    records, questions = change(CHATS.records, CHATS.questions)
    with pytest.raises(InvalidInput, match=rf"two small chats: .*{told}"):
        bench([replace(CHATS, records=records, questions=questions)], ["bm25"])
    assert prepare([CHATS])[0].data is CHATS


def test_a_damaged_row_is_measured_again(chat, tmp_path):
    first = bench([chat], ["bm25"], out=tmp_path / "out")
    (row,) = (tmp_path / "out" / "rows").iterdir()
    whole = row.read_bytes()
    for damaged in (
        b"",
        whole[: len(whole) // 2],
        b"[]",
        b'{"outcomes": {}}',
        changed(whole, lambda kept: kept["setup"].update(seed=7)),
        changed(whole, lambda kept: kept["setup"].pop("code")),
        changed(whole, lambda kept: kept["outcomes"]["id"].reverse()),
        changed(whole, lambda kept: [column.pop() for column in kept["outcomes"].values()]),
        changed(whole, lambda kept: kept["cost"].update(milliseconds=[1])),
    ):
        row.write_bytes(damaged)
        again = bench([chat], ["bm25"], out=tmp_path / "out")
        assert [one["mrr"] for one in again] == [one["mrr"] for one in first]
        kept, right = json.loads(row.read_text()), json.loads(whole)
        assert (kept["setup"], kept["outcomes"]) == (right["setup"], right["outcomes"])


def changed(content, change):
    kept = json.loads(content)
    change(kept)
    return json.dumps(kept).encode()


def test_a_row_keeps_every_outcome(chat, documents, tmp_path):
    measurer = Measurer(HashEmbedder())
    sets = prepare([chat, documents])
    setups = [
        setup
        for one in sets
        for setup in measurer.setups(one, ["graphmem", "bm25"], ["recorded"], [0], variants_of())
    ]
    folder = RowFolder(tmp_path / "rows")
    by_content = {one.content: one.data for one in sets}
    rows = list(measurer.measure(setups, sets, folder))
    assert [folder.find(setup, by_content[setup.content]) for setup in setups] == rows
    for row in rows:
        assert set(mean_figures(row.outcomes)) == set(FIGURES)


# Asks a slow system of its own, which says when it reads.
RUNNER = """
import sys
sys.path[:0] = {path!r}
import io
from rich.console import Console
from graphmem.experiments import bench_recall
from graphmem.testing import HashEmbedder
bench_recall([{data!r}], ["test_bench:Slow"], seeds=range(8), out={out!r},
             embed_model=HashEmbedder(), console=Console(file=io.StringIO()))
print("done", flush=True)
"""


class Slow(Backwards):
    """Takes its time, and tells when it starts."""

    def ingest(self, data, progress):
        sys.stdout.write(f"reading {self.parts.seed}\n")
        sys.stdout.flush()
        time.sleep(0.1)
        super().ingest(data, progress)

    def ask(self, question, top_k):
        time.sleep(0.02)
        return super().ask(question, top_k)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_killed_run_loses_no_more_than_the_row_under_way(chat, tmp_path):
    out = tmp_path / "out"
    script = RUNNER.format(path=sys.path, data=str(chat), out=str(out))
    read: list[list[int]] = []
    for kills in (True, False):
        with subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout
            lines = [child.stdout.readline() for _ in range(3)]
            if kills:
                child.send_signal(signal.SIGKILL)
            lines += child.stdout
        read.append([int(line.split()[1]) for line in lines if line.startswith("reading")])
    assert lines[-1] == "done\n"
    assert all(len(seeds) >= 3 for seeds in read)
    killed, finished = read
    # The second run starts with the row that the first did not finish, or with the next.
    assert finished[0] in (killed[-1], killed[-1] + 1)
    assert sorted({*killed, *finished}) == list(range(8))
    assert len(killed) + len(finished) <= 8 + 1
    assert len(list((out / "rows").iterdir())) == 8
    assert len(json.loads((out / "report.json").read_text())["results"]) == 8


# -- reports --------------------------------------------------------------------------------------


def tables(markdown: str) -> dict[str, list[list[str]]]:
    """Cells of the tables of a report, by the heading above."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in markdown.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|") and not set(line) <= set("|-: "):
            found.setdefault(heading, []).append([c.strip() for c in line.strip("|").split("|")])
    return found


def test_the_report_shows_figures_differences_kinds_and_cost(chat, documents, tmp_path):
    out = tmp_path / "out"
    results = bench([chat, documents], ["graphmem", OWN], out=out)
    text = (out / "report.md").read_text(encoding="utf-8")
    found = tables(text)
    header, graphmem, own = found["documents (6 questions)"][:3]
    cell = dict(zip(header, own, strict=True))["R@5"]
    shown = re.fullmatch(r"([\d.]+) \[([\d.]+), ([\d.]+)\]", cell)
    share = results[3]["recall@5"]
    low, high = results[3]["intervals"]["recall@5"]
    assert [float(part) for part in shown.groups()] == pytest.approx(
        [100 * share, 100 * low, 100 * high], abs=0.051
    )
    assert graphmem[0] == "graphmem"
    compared = {row[0]: row for row in found["Differences"][1:]}
    assert set(compared) == {"chat", "documents", "all"}
    apart = compared["documents"][found["Differences"][0].index("R@5")]
    assert apart.startswith(f"{100 * (share - results[2]['recall@5']):+.1f} [")
    assert apart.endswith(" 0 %")
    assert any(row[0] == "2 hops" for row in found["documents (6 questions)"])
    assert {row[0] for row in found["chat (3 questions)"]} >= {"single", "update"}
    assert "stale first" in found["chat (3 questions)"][0]
    assert [row[1] for row in found["Time and cost"][1:]] == ["graphmem", OWN] * 2
    assert "embedder: hash" in text
    content = json.loads((out / "report.json").read_text())
    pooled = content["differences"][-1]
    assert (pooled["data"], pooled["config"], pooled["against"]) == ("all", OWN, "graphmem")
    assert pooled["questions"] == 9
    weighted = (3 * (results[1]["mrr"] - results[0]["mrr"])
                + 6 * (results[3]["mrr"] - results[2]["mrr"])) / 9  # fmt: skip
    assert pooled["mrr"]["mean"] == pytest.approx(weighted)


def test_variants_are_held_against_what_they_depart_from(documents, tmp_path):
    bench(
        [documents],
        ["bm25", "graphmem"],
        triples=["recorded", "none"],
        variants=variants_of(["walk_half=0.3"], ablated=["bridge"]),
        out=tmp_path,
    )
    content = json.loads((tmp_path / "report.json").read_text())
    assert {one["config"]: one["against"] for one in content["differences"]} == {
        "graphmem": "bm25",
        "graphmem · walk_half=0.3": "graphmem",
        "graphmem · walk_half=0.3, no bridge": "graphmem · walk_half=0.3",
        "graphmem · none": "bm25",
        "graphmem · none · walk_half=0.3": "graphmem · none",
        "graphmem · none · walk_half=0.3, no bridge": "graphmem · none · walk_half=0.3",
    }


def test_seeds_are_averaged_and_their_spread_is_shown(documents, tmp_path):
    results = bench([documents], [OWN], seeds=[0, 1, 2], out=tmp_path)
    report = (tmp_path / "report.md").read_text()
    assert "messages of a chat keep theirs" in report
    found = tables(report)
    header, row = found["From seed to seed"]
    shares = [100 * one["mrr"] for one in results]
    assert row[header.index("MRR")] == f"{min(shares):.1f} – {max(shares):.1f}"
    mean = found["documents (6 questions)"][1]
    column = found["documents (6 questions)"][0].index("MRR")
    assert mean[column].startswith(f"{np.mean(shares):.1f} [")


def test_a_set_none_of_whose_questions_can_be_asked_stops_the_run(chat, tmp_path):
    path, embedder = tmp_path / "none.json", HashEmbedder()
    for queries, why in (
        (CHAT["queries"][3:], "none of its 1 questions names a passage"),
        ([], "it has no question"),
    ):
        path.write_text(json.dumps({"passages": CHAT["passages"], "queries": queries}))
        with pytest.raises(InvalidInput, match=rf"none\.json cannot be asked: {why}"):
            bench([chat, path], ["dense"], embed_model=embedder)
    assert embedder.calls == 0


def test_the_terminal_tells_what_was_asked_and_what_was_left_out(chat, documents):
    console = quiet()
    bench([chat, documents], ["bm25"], console=console)
    shown = console.file.getvalue()
    assert "chat: left out 1 question without gold\n" in shown
    assert "documents: left out" not in shown
    assert re.search(r"data +system +n +R@2 .* in 550 tok +stale", shown)
    assert re.search(r"chat +bm25 +3 ", shown)
    assert re.search(r"documents +bm25 +6 ", shown)
    assert "stale: an outdated record stands first; lower is better" in shown
    console = quiet()
    bench([documents], ["bm25"], console=console)
    assert "lower is better" not in console.file.getvalue()


def test_what_cannot_make_a_difference_is_refused(documents):
    for options, says in (
        ({"variants": variants_of(ablated=["walk"])}, "constants of recall.*add graphmem"),
        ({"triples": ["rules"]}, "reads triples.*graphmem or ppr"),
    ):
        with pytest.raises(InvalidInput, match=says):
            bench([documents], ["bm25", "dense"], **options)
    rows = bench([documents], ["bm25", "ppr"], triples=["cooccurrence"])
    assert [one["triples"] for one in rows] == ["", "cooccurrence"]


def test_only_systems_that_read_triples_miss_them(tmp_path):
    path = tmp_path / "bare.json"
    bare = [{**one, "triples": []} for one in DOCUMENTS["passages"]]
    path.write_text(json.dumps({**DOCUMENTS, "passages": bare}))
    for system, is_told in (("ppr", True), ("dense", False), (OWN, False)):
        console = quiet()
        bench([path], [system], console=console)
        assert ("records no triples" in console.file.getvalue()) == is_told


def test_rows_taken_from_the_folder_are_told(chat, documents, tmp_path):
    shown = []
    for data in ([chat], [chat, documents]):
        console = quiet()
        bench(data, ["bm25"], out=tmp_path / "out", console=console)
        shown.append(console.file.getvalue())
    assert "measured before" not in shown[0]
    assert f"1 of 2 rows were measured before and are taken from {tmp_path / 'out'}" in shown[1]


def test_a_log_gets_a_line_for_each_finished_row(chat, documents, tmp_path, capsys):
    bench([chat], ["bm25"], out=tmp_path / "out")
    assert re.fullmatch(r"chat: bm25: R@5 100\.0, [\d.]+ s\n", capsys.readouterr().err)
    bench([chat, documents], ["bm25"], out=tmp_path / "out", seeds=[0, 1])
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" R@5")[0] for line in lines] == [
        "chat: bm25, seed 1:", "documents: bm25:", "documents: bm25, seed 1:"
    ]  # fmt: skip


class Mumbling(Backwards):
    """Answers with no Answer."""

    def ask(self, question, top_k):
        return list(super().ask(question, top_k).ranking)


class Failing(Backwards):
    """Embeds, and fails at its second question."""

    def ask(self, question, top_k):
        self.parts.embedder.embed_query(question.text)
        if question.id == "q2":
            raise ZeroDivisionError("nothing to divide by")
        return super().ask(question, top_k)


def test_a_system_that_fails_is_named_with_the_question(chat, tmp_path):
    with pytest.raises(InvalidInput, match=r"Mumbling answered 'q1' with a list: return a"):
        bench([chat], ["test_bench:Mumbling"])
    says = r"Failing, asked 'q2', raised ZeroDivisionError: nothing .* \(test_bench.py, line \d+\)"
    console, embedder, cache = quiet(), HashEmbedder(), tmp_path / "cache"
    with pytest.raises(InvalidInput, match=says) as failed:
        bench(
            [chat],
            ["bm25", "test_bench:Failing"],
            console=console,
            embed_model=embedder,
            cache=cache,
            out=tmp_path / "out",
        )
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    assert re.search(r"chat +bm25 +3 ", console.file.getvalue())
    assert len(list((tmp_path / "out" / "rows").iterdir())) == 1
    kept = CachedEmbedder(embedder, cache)
    before = embedder.calls
    kept.embed_query("Where did Maja move?")
    assert embedder.calls == before > 0


@given(
    st.recursive(
        st.none() | st.integers() | st.text(alphabet="a[]{}\n ,é", max_size=6),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=12,
    )
)
def test_json_on_disk_is_what_was_written(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("json") / "out.json"
    write_json(path, {"a": content, "b": [1, 2.5, None]})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": content, "b": [1, 2.5, None]}
    assert '"b": [1, 2.5, null]' in path.read_text(encoding="utf-8")


# -- vectors kept ---------------------------------------------------------------------------------


def test_vectors_are_embedded_once_and_kept(tmp_path):
    embedder = HashEmbedder()
    first = CachedEmbedder(embedder, tmp_path / "new")
    rows = first.embed(["a b", "c", "a b"])
    assert embedder.calls == 2
    assert first.name == embedder.name
    first.save()
    again = CachedEmbedder(embedder, tmp_path / "new")
    assert np.array_equal(again.embed(["c", "a b"]), rows[[1, 0]])
    assert np.array_equal(again.embed_query("c"), rows[1])
    assert embedder.calls == 2
    assert again.embed([]).shape == (0, 64)
    again.embed_query("new")
    assert embedder.calls == 3


def test_damaged_vectors_are_told(tmp_path):
    embedder = CachedEmbedder(HashEmbedder(), tmp_path)
    embedder.embed(["a b"])
    embedder.save()
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    rows, ids = np.ones((1, 4), np.float32), np.array(["t-1"])
    for damaged in (
        b"",
        whole[: len(whole) // 2],
        b"[]",
        saved(np.save, rows),
        saved(np.savez, ids=ids),
        saved(np.savez, ids=ids, rows=rows.astype(int)),
        saved(np.savez, ids=ids, rows=rows[0]),
        saved(np.savez, ids=np.array(["t-1", "t-2"]), rows=rows),
    ):
        file.write_bytes(damaged)
        with pytest.raises(InvalidInput, match=r"damaged .*delete it"):
            CachedEmbedder(HashEmbedder(), tmp_path)
    file.write_bytes(whole)
    CachedEmbedder(HashEmbedder(), tmp_path)


def saved(save, *values, **named):
    file = io.BytesIO()
    save(file, *values, **named)
    return file.getvalue()


def test_models_of_like_names_keep_their_own_vectors(tmp_path):
    for name in ("maker/model", "maker_model", "maker:model", "x" * 400):
        embedder = CachedEmbedder(HashEmbedder(name=name), tmp_path)
        embedder.embed(["a b"])
        embedder.save()
    assert len(list(tmp_path.iterdir())) == 4


def test_a_run_keeps_its_vectors(chat, tmp_path):
    embedder = HashEmbedder()
    first = bench([chat], ["dense"], embed_model=embedder, cache=tmp_path / "cache")
    spent = embedder.calls
    assert spent > 0
    again = bench([chat], ["dense"], embed_model=embedder, cache=tmp_path / "cache")
    assert embedder.calls == spent
    assert again[0]["mrr"] == first[0]["mrr"]

"""``graphmem bench`` on the command line: options become runs, mistakes become one clear line."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys

import pytest

from bench_parts import write_chat, write_documents
from graphmem import cli
from graphmem.experiments import PARTS, SOURCES, SYSTEMS
from graphmem.experiments.formats import FORMATS
from graphmem.experiments.systems.served import ServedLLM
from graphmem.settings import RecallSettings
from model_server import completion, serving


@pytest.fixture
def documents(tmp_path):
    return str(write_documents(tmp_path))


def results_of(path):
    return json.loads(path.read_text())["results"]


def test_options_become_rows(documents, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["bench", "recall", "--data", documents, "--system", "graphmem", "bm25"]
    command += ["--triples", "recorded", "none", "--seeds", "0", "1", "--set", "seed_k=9"]
    command += ["--sweep", "damping=0.3,0.5", "--ablate", "bridge", "--out", str(out)]
    command += ["--depth", "20", "--budget", "100", "--cache", str(tmp_path / "cache")]
    assert cli.main(command) == 0
    results = results_of(out / "report.json")
    labels = ["", "seed_k=9", "seed_k=9, damping=0.3", "seed_k=9, no bridge"]
    assert [one["variant"] for one in results] == labels * 4 + ["", ""]
    assert {(one["triples"], one["seed"]) for one in results if one["system"] == "graphmem"} == {
        (triples, seed) for triples in ("recorded", "none") for seed in (0, 1)
    }
    assert {(one["depth"], one["budget"]) for one in results} == {(20, 100)}
    assert results[2]["settings"]["damping"] == 0.3
    assert results[2]["settings"]["seed_k"] == 9
    assert results[0]["settings"]["seed_k"] == RecallSettings().seed_k
    shown = capsys.readouterr()
    assert "· seed_k=9" in shown.out
    assert f"written to {out}: report.md, report.json" in shown.out
    assert "Traceback" not in shown.err


def test_ablate_alone_switches_every_part_off(documents, tmp_path, capsys):
    out = tmp_path / "out.json"
    command = ["bench", "recall", "--data", documents, "--sample", "1", "--json", str(out)]
    assert cli.main([*command, "--ablate"]) == 0
    parts = [one["part"] for one in results_of(out)]
    assert parts[0] == ""
    assert {"seeds", "walk", "bridge", "window"} <= set(parts)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--set", "brigde_weight=1"], "did you mean 'bridge_weight'"),
        (["--sweep", "damping=2"], "damping must be 0 to 0.99"),
        (["--ablate", "bridges"], "did you mean 'bridge'"),
        (["--system", "magic"], "no system 'magic'"),
        (["--triples", "guesses"], "no source of triples 'guesses'"),
        (["--format", "xml"], "no format 'xml'"),
        (["--system", "fact_block"], "--base-url"),
        (["--triples", "model"], "--base-url"),
        (["--system", "bm25", "--sweep", "damping=0.3"], "add graphmem"),
        (["--system", "bm25", "--triples", "rules"], "graphmem or ppr"),
        (["--depth", "9"], "at least 10"),
        (["--plots"], "--out"),
        (["--replay", "never.json"], "no such result file"),
        (["--replay", "never.json", "--ablate"], "leave out --ablate"),
        (["--replay", "never.json", "--lookups", "2"], "leave out --lookups"),
        (["--replay", "never.json", "--records", "2"], "leave out --records"),
        (["--replay", "never.json", "--system", "bm25"], "leave out --system"),
        (["--replay", "never.json", "--tolerance", "200"], "from 0 to 1"),
        (["--sample", "2", "--lookups", "2"], "either lookups or sample"),
    ],
)
def test_a_mistake_is_one_clear_line(options, says, documents, capsys):
    assert cli.main(["bench", "recall", "--data", documents, *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert says in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("option", ["--depth", "--budget", "--lookups", "--sample", "--records"])
def test_counts_are_at_least_one(option, documents, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["bench", "recall", "--data", documents, option, "0"])
    assert stopped.value.code == 2
    assert option in capsys.readouterr().err


def test_help_lists_what_there_is(capsys):
    with pytest.raises(SystemExit):
        cli.main(["bench", "recall", "--help"])
    shown = capsys.readouterr().out
    for name in (*SYSTEMS, *SOURCES, *FORMATS, *PARTS):
        assert re.search(rf"\b{name}\b", shown), name
    told = " ".join(shown.split())
    assert "messages of a chat keep their order" in told
    assert "is not noticed: delete the folder" in told


def test_a_set_without_triples_is_told(tmp_path, capsys):
    data = json.loads(gzip.decompress(write_documents(tmp_path).read_bytes()))
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps({**data, "passages": [
        {**one, "triples": []} for one in data["passages"]
    ]}))  # fmt: skip
    said = "bare records no triples"
    assert cli.main(["bench", "recall", "--data", str(bare)]) == 0
    assert said in capsys.readouterr().out
    assert cli.main(["bench", "recall", "--data", str(bare), "--triples", "cooccurrence"]) == 0
    assert said not in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--out", "--json", "--cache"])
def test_where_nothing_can_be_written_nothing_runs(option, documents, tmp_path, capsys):
    taken = tmp_path / "taken"
    taken.mkdir() if option == "--json" else taken.touch()
    command = ["bench", "recall", "--data", documents, "--system", "dense"]
    assert cli.main([*command, option, str(taken)]) == 2
    assert re.search(r"is a (file|folder): name a", capsys.readouterr().err)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["documents.json.gz", "taken"]


def test_a_replay_ends_with_code_1_where_a_figure_has_moved(documents, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert cli.main(["bench", "recall", "--data", documents, "--json", str(out)]) == 0
    replay = ["bench", "recall", "--replay", str(out), "--data", str(tmp_path)]
    assert cli.main(replay) == 0
    assert "1 of 1 rows hold" in capsys.readouterr().out
    content = json.loads(out.read_text())
    content["results"][0]["mrr"] -= 0.02
    out.write_text(json.dumps(content))
    assert cli.main(replay) == 1
    assert "no longer hold" in capsys.readouterr().out
    assert cli.main([*replay, "--tolerance", "3"]) == 0


@pytest.mark.parametrize("kind", ["extraction", "put"])
def test_help_of_each_kind_shows_an_example(kind, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["bench", kind, "--help"])
    assert stopped.value.code == 0
    assert f"example:\n  graphmem bench {kind}" in capsys.readouterr().out


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom graphmem.cli import main\n"
        "try: main(['bench', 'recall', '--help'])\nexcept SystemExit: pass\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "graphmem" in loaded
    assert not loaded & {"numpy", "sqlalchemy", "llama_index", "faiss", "matplotlib"}


def test_bench_extraction_measures_the_recorded_triples(documents, tmp_path, capsys):
    out = tmp_path / "out.json"
    command = ["bench", "extraction", "--data", documents, "--extractor", "recorded"]
    assert cli.main([*command, "--sample", "0", "--json", str(out)]) == 0
    (one,) = results_of(out)
    assert one["found_share"] == one["right_share"] == 1
    assert "recorded" in capsys.readouterr().out


def test_a_served_model_reads_triples_and_facts(tmp_path, capsys):
    chat, out = str(write_chat(tmp_path)), tmp_path / "out.json"
    facts = completion("<facts><fact>Maja moved to Oslo</fact></facts>")
    with serving(facts) as server:
        model = ["--base-url", server.base_url, "--model", "tiny"]
        command = ["bench", "recall", "--data", chat, "--system", "fact_block", *model]
        assert cli.main([*command, "--json", str(out)]) == 0
        (one,) = results_of(out)
        assert one["usage"]["ingest"] == {
            "calls": server.calls,
            "prompt_tokens": 100 * server.calls,
            "completion_tokens": 10 * server.calls,
        }
        assert server.calls >= 2  # one block a scope
        assert server.requests[0]["model"] == one["model"] == "tiny"
        assert "max_tokens" not in server.requests[0]
        assert cli.main([*command, "--max-output-tokens", "90"]) == 0
        assert server.requests[-1]["max_tokens"] == 90
    triple = {"source": "m1", "subject": "Maja", "predicate": "moved to", "object": "Oslo"}
    with serving(completion(json.dumps({"triples": [triple]}))) as server:
        model = ["--base-url", server.base_url, "--model", "tiny"]
        command = ["bench", "recall", "--data", chat, "--triples", "model", *model]
        command += ["--cache", str(tmp_path / "cache"), "--json", str(out)]
        assert cli.main(command) == 0
        (one,) = results_of(out)
        assert one["usage"]["ingest"]["calls"] == server.calls > 0
        assert one["model"].startswith("openai/tiny/")
        calls = server.calls
        assert cli.main(command) == 0
        assert server.calls == calls


def test_a_served_model_reads_as_little_at_a_time_as_is_said(tmp_path, capsys):
    chat, out = str(write_chat(tmp_path)), tmp_path / "out.json"
    with serving(completion('{"triples": []}')) as server:
        small = ["--data", chat, "--records", "3", "--cache", str(tmp_path), "--json", str(out)]
        small += ["--base-url", server.base_url, "--model", "/home/maja/tiny.gguf"]
        limits = ["--batch-tokens", "5", "--max-output-tokens", "900"]
        assert cli.main(["bench", "extraction", "--extractor", "model", *small, *limits]) == 0
        (one,) = results_of(out)
        assert (one["passages"], server.calls) == (4, 4)
        assert server.requests[0]["max_tokens"] == 900
        assert server.requests[0]["model"] == "/home/maja/tiny.gguf"
        assert cli.main(["bench", "recall", "--triples", "model", *small, *limits]) == 0
        assert server.calls == 4  # the cache knows them
    assert "maja" not in out.read_text()


def test_a_served_llm_completes_and_streams():
    with serving(completion("Oslo")) as server:
        llm = ServedLLM(model="tiny", base_url=server.base_url)
        assert llm.complete("Where?").text == "Oslo"
        assert [part.delta for part in llm.stream_complete("Where?")] == ["Oslo"]
        assert llm.metadata.model_name == "tiny"
        assert server.requests[0]["messages"] == [{"role": "user", "content": "Where?"}]

import argparse
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import datetime, timezone

import pytest

from graphmem import GraphMemory, cli
from graphmem.cli.command import _parser
from graphmem.testing import HashEmbedder, ScriptedExtractor
from model_server import completion, serving

QUESTION = "Where does Aunt Vera live?"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A small store of two scopes, made with the bundled embedder and two scripted facts."""
    path = tmp_path_factory.mktemp("cli") / "memory.db"
    script = {
        "Aunt Vera lives in Tavistock.": [("Aunt Vera", "lives in", "Tavistock")],
        "Pavel plays the accordion.": [("Pavel", "plays", "accordion")],
    }
    with GraphMemory.open(path, extractor=ScriptedExtractor(script)) as memory:
        memory.remember(list(script), scope="Nell", session="s1")
        memory.remember("Zoe's\x1b[31m secret is a tortoise.", scope="Zoe", session="s1")
        assert memory.drain(60) == 0
    return str(path)


def graphmem(*arguments, **options):
    command = [sys.executable, "-m", "graphmem", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def test_recall_prints_the_passage_first(store, capsys):
    assert cli.main(["recall", QUESTION, "--uri", store, "--scope", "Nell"]) == 0
    out = capsys.readouterr().out
    assert "route" in out.splitlines()[0]
    assert "Aunt Vera lives in Tavistock." in out.splitlines()[1]
    assert "Aunt Vera → lives in → Tavistock" in out


def test_recall_as_json_is_whole_and_stays_in_its_scope(store, capsys):
    assert (
        cli.main(["recall", QUESTION, "--uri", f"sqlite:///{store}", "--scope", "Nell", "--json"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["query"] == QUESTION
    assert found["scope"] == "Nell"
    assert [item["text"] for item in found["passages"]] == [
        "Aunt Vera lives in Tavistock.",
        "Pavel plays the accordion.",
    ]
    assert found["facts"][0]["object"] == "Tavistock"
    assert found["timings"]["total"] > 0


def test_top_k_and_session_narrow_a_recall(store, capsys):
    command = ["recall", QUESTION, "--uri", store, "--scope", "Nell", "--json"]
    cli.main([*command, "--top-k", "1"])
    assert len(json.loads(capsys.readouterr().out)["passages"]) == 1
    cli.main([*command, "--session", "s1"])
    assert len(json.loads(capsys.readouterr().out)["passages"]) == 2
    assert cli.main([*command, "--session", "other"]) == 1
    assert json.loads(capsys.readouterr().out)["passages"] == []


def test_a_recall_labels_what_is_over_and_looks_back(tmp_path, capsys):
    path = str(tmp_path / "memory.db")
    script = {
        "Vera lives in Truro.": [("Vera", "lives in", "Truro")],
        "Vera lives in Tavistock.": [("Vera", "lives in", "Tavistock")],
    }
    with GraphMemory.open(path, extractor=ScriptedExtractor(script)) as memory:
        for text, month in zip(script, (3, 6), strict=True):
            memory.remember(
                text, scope="Nell", said_at=datetime(2025, month, 1, tzinfo=timezone.utc)
            )
        assert memory.drain(60) == 0
    command = ["recall", "Where does Vera live?", "--uri", path, "--scope", "Nell"]
    assert cli.main(command) == 0
    assert "no longer so: Vera → lives in → Truro" in capsys.readouterr().out
    cli.main([*command, "--json"])
    found = json.loads(capsys.readouterr().out)["passages"]
    assert [[one["object"] for one in item["outdated"]] for item in found] == [[], ["Truro"]]
    assert cli.main([*command, "--as-of", "2025-04-01"]) == 0
    out = capsys.readouterr().out
    assert "Vera lives in Truro." in out
    assert "no longer so" not in out
    assert "Tavistock" not in out
    assert cli.main([*command, "--known-at", "2025-04-01"]) == 1


def test_nothing_found_is_exit_code_1(store, capsys):
    asked = ["recall", QUESTION, "--uri", store, "--scope", "Nell"]
    assert cli.main([*asked, "--session", "another"]) == 1
    assert cli.main(asked) == 0
    assert "empty route" in capsys.readouterr().out


def listed(capsys, *options):
    """Exit code and output of a command as JSON."""
    code = cli.main(["facts", *options, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_facts_lists_what_a_scope_believes(store, capsys):
    asked = ["--uri", store, "--scope", "Nell"]
    code, found = listed(capsys, *asked)
    assert (code, found["scope"]) == (0, "Nell")
    assert {fact["object"]: fact["status"] for fact in found["facts"]} == {
        "Tavistock": "asserted",
        "accordion": "asserted",
    }
    assert cli.main(["facts", *asked]) == 0
    out = capsys.readouterr().out
    assert "asserted   Aunt Vera → lives in → Tavistock\n" in out
    assert all(fact["id"] in out for fact in found["facts"])


@pytest.mark.parametrize(
    ("options", "objects"),
    [
        (["--subject", "aunt vera"], ["Tavistock"]),
        (["--subject", "Aunt Vera", "--status", "asserted"], ["Tavistock"]),
        (["--subject", "Aunt Vera", "--status", "candidate"], []),
        (["--subject", "Tavistock"], []),
        (["--subject", ""], []),
    ],
)
def test_facts_are_narrowed_and_none_is_exit_code_1(options, objects, store, capsys):
    asked = ["--uri", store, "--scope", "Nell", *options]
    code, found = listed(capsys, *asked)
    assert code == (0 if objects else 1)
    assert [fact["object"] for fact in found["facts"]] == objects
    assert cli.main(["facts", *asked]) == code
    assert ("no such facts" in capsys.readouterr().out) == (not objects)


def test_why_goes_from_a_recall_to_the_words(store, capsys):
    asked = ["--uri", store, "--scope", "Nell"]
    cli.main(["recall", QUESTION, *asked, "--json"])
    fact = json.loads(capsys.readouterr().out)["facts"][0]
    code, found = listed(capsys, *asked, "--why", fact["id"])
    assert code == 0
    assert [one["id"] for one in found["facts"]] == [fact["id"]]
    (source,) = found["sources"]
    assert source["quote"] == "Aunt Vera lives in Tavistock."
    assert (source["speaker"], source["session"], source["said_at"]) == ("Nell", "s1", [])
    assert [source["passage_id"]] == fact["passages"]
    assert cli.main(["facts", *asked, "--why", fact["id"]]) == 0
    out = capsys.readouterr().out
    assert "Nell (user) · session s1 · time unknown\n    Aunt Vera lives in Tavistock.\n" in out
    assert "read by scripted/1 on 20" in out


def test_why_of_another_scope_or_of_nothing_is_an_error(store, capsys):
    _, found = listed(capsys, "--uri", store, "--scope", "Nell")
    known = found["facts"][0]["id"]
    for scope, fact in (("Zoe", known), ("Nell", "f-0"), ("Nell", "\x1b[31m"), ("Nell", "")):
        assert cli.main(["facts", "--uri", store, "--scope", scope, "--why", fact]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert f"in the scope {scope}" in captured.err
        assert captured.err.count("\n") == 1
        assert "\x1b" not in captured.err
    assert cli.main(["facts", "--uri", store, "--scope", "Nell", "--why", known]) == 0


@pytest.mark.parametrize("more", [["--subject", "Pavel"], ["--status", "asserted"]])
def test_why_and_a_filter_do_not_go_together(more, store, capsys):
    command = ["facts", "--uri", store, "--scope", "Nell", "--why", "f-0", *more]
    assert cli.main(command) == 2
    assert "leave out --subject and --status" in capsys.readouterr().err


def test_an_unknown_status_is_wrong_use(store, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["facts", "--uri", store, "--scope", "Nell", "--status", "true"])
    assert stopped.value.code == 2
    assert "candidate" in capsys.readouterr().err


def test_stored_escapes_do_not_reach_the_terminal_by_way_of_facts(tmp_path, capsys):
    path = str(tmp_path / "evil.db")
    text = "Eve\x1b[31m owns a\x9b tortoise."
    script = {text: [("Eve\x1b[31m", "owns\x07", "a\x9b tortoise")]}
    with GraphMemory.open(
        path, embed_model=HashEmbedder(), extractor=ScriptedExtractor(script, name="x\x1b/1")
    ) as memory:
        memory.remember(text, scope="Eve", session="s\x1b", speaker="E\x1bve")
        assert memory.drain(60) == 0
        (fact,) = memory.facts("Eve")
    for more in ([], ["--why", fact.id]):
        assert cli.main(["facts", "--uri", path, "--scope", "Eve", *more]) == 0
        out = capsys.readouterr().out
        assert "Eve\ufffd[31m → owns\ufffd → a\ufffd tortoise" in out
        assert not set("\x1b\x9b\x07") & set(out)
    assert "Eve\ufffd[31m owns a\ufffd tortoise." in out


def test_stats_count_a_scope_or_the_whole_store(store, capsys):
    assert cli.main(["stats", "--uri", store, "--scope", "Nell", "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts["passages"], counts["facts"], counts["pending"]) == (2, 2, 0)
    assert cli.main(["stats", "--uri", store, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passages"] == 3
    assert cli.main(["stats", "--uri", store]) == 0
    assert "passages" in capsys.readouterr().out


def test_stored_escapes_do_not_reach_the_terminal(store, capsys):
    cli.main(["recall", "What is the secret?", "--uri", store, "--scope", "Zoe"])
    out = capsys.readouterr().out
    assert "\ufffd[31m secret" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["stats", "--uri", "missing.db"], "no store at 'missing.db'"),
        (["stats", "--uri", "sqlite:///missing.db"], "no store at 'sqlite:///missing.db'"),
        (["stats", "--uri", ":memory:"], "no store at ':memory:'"),
        (["stats", "--uri", "postgresql://x/y"], "sqlite"),
        (["recall", "x", "--uri", "missing.db", "--scope", "Nell"], "no store at 'missing.db'"),
        (["facts", "--uri", "missing.db", "--scope", "Nell"], "no store at 'missing.db'"),
        (["bench", "recall", "--data", "missing.json.gz"], "no such data file: missing.json.gz"),
    ],
)
def test_a_missing_file_is_one_clear_line_and_is_not_made(
    command, says, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(command) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_store_is_named_and_left_alone(tmp_path, capsys):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    assert cli.main(["stats", "--uri", str(path)]) == 2
    assert "graphmem:" in capsys.readouterr().err
    assert path.read_text() == "not a database, " * 100


@pytest.mark.parametrize("top_k", ["0", "1001"])
def test_a_value_out_of_range_is_an_error_of_ours(store, top_k, capsys):
    command = ["recall", "x", "--uri", store, "--scope", "Nell", "--top-k", top_k]
    assert cli.main(command) == 2
    assert "top_k" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["recall"], ["facts"], ["stats"], ["bench"], ["nonsense"]])
def test_wrong_use_is_exit_code_2(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(command)
    assert stopped.value.code == 2
    assert "usage: graphmem" in capsys.readouterr().err


def commands_of(parser, *names):
    """Every command, by its words."""
    groups = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not groups:
        return [names]
    return [
        found for name, one in groups[0].choices.items() for found in commands_of(one, *names, name)
    ]


@pytest.mark.parametrize("command", commands_of(_parser()), ids=" ".join)
def test_every_command_shows_an_example_and_has_json(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([*command, "--help"])
    assert stopped.value.code == 0
    told = capsys.readouterr().out
    assert f"example:\n  graphmem {' '.join(command)}" in told
    assert "--json" in told
    assert ("bench", "recall") in commands_of(_parser())


def test_the_demo_as_json(capsys):
    assert cli.main(["demo", "--offline", "--json"]) == 0
    questions = json.loads(capsys.readouterr().out)["questions"]
    assert len(questions) == 10
    for one in questions:
        found = {passage["id"] for passage in one["recall"]["passages"]}
        share = len(found & {*one["needed"]}) / len(one["needed"]) if one["needed"] else 1.0
        assert one["share"] == share
    assert sum(one["share"] for one in questions) > 9


def test_bench_recall_measures_a_file(tmp_path, capsys):
    data = tmp_path / "tiny.json.gz"
    texts = {"p1": "Ada\nAda lives in Penzance.", "p2": "Penzance\nPenzance is in Cornwall."}
    passages = [
        {"id": name, "title": text.split("\n")[0], "text": text, "triples": []}
        for name, text in texts.items()
    ]
    queries = [{"id": "q1", "text": "Where does Ada live?", "gold": ["p1"], "answer": "Penzance"}]
    record = {"name": "tiny", "licence": "CC0", "triples_by": "nobody"}
    data.write_bytes(
        gzip.compress(json.dumps({**record, "passages": passages, "queries": queries}).encode())
    )
    out = tmp_path / "out.json"
    assert cli.main(["bench", "recall", "--data", str(data), "--json", str(out)]) == 0
    assert "recall" in capsys.readouterr().out
    (result,) = json.loads(out.read_text())["results"]
    assert (result["data"], result["system"]) == ("tiny.json.gz", "graphmem")
    assert result["recall@2"] == 1.0


def test_the_demo_reads_facts_with_a_model_where_one_is_named(capsys):
    triple = {"source": "m1", "subject": "Nell", "predicate": "talks to", "object": "Kit"}
    with serving(completion(json.dumps({"triples": [triple]}))) as server:
        assert cli.main(["demo", "--base-url", server.base_url, "--model", "tiny"]) == 0
    out = capsys.readouterr().out
    assert server.requests[0]["model"] == "tiny"
    assert re.search(rf"^model calls +{server.calls}$", out, re.MULTILINE)
    assert f"{100 * server.calls:,} read, {10 * server.calls:,} written" in out
    assert re.search(r"^pending +0$", out, re.MULTILINE)


def test_a_server_that_is_not_there_is_one_clear_line(capsys):
    assert cli.main(["demo", "--base-url", "http://127.0.0.1:9/v1"]) == 2
    captured = capsys.readouterr()
    assert "http://127.0.0.1:9/v1" in captured.err
    assert "--model" in captured.err
    assert captured.err.count("\n") == 1


def test_the_module_is_the_command(store):
    done = graphmem("stats", "--uri", store, "--scope", "Nell", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["passages"] == 2
    failed = graphmem("stats", "--uri", store + ".missing")
    assert failed.returncode == 2
    assert "Traceback" not in failed.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupt_is_exit_code_130_without_a_traceback(tmp_path):
    command = [
        sys.executable,
        "-m",
        "graphmem",
        "demo",
        "--offline",
        "--uri",
        str(tmp_path / "x.db"),
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout.readline().startswith("graphmem demo")
    for _ in range(10):  # Python passes over an interrupt that comes in the middle of a finalizer
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            _, errors = process.communicate(timeout=2)
            break
    assert process.returncode == 130
    assert "Traceback" not in errors


def test_bench_put_reports_a_flush_beside_a_plain_fsync(tmp_path):
    assert cli.main(["bench", "put", "--flushes", "3", "--json", str(tmp_path / "put.json")]) == 0
    figures = json.loads((tmp_path / "put.json").read_text())
    assert (figures["flushes"], figures["messages"]) == (3, 40)
    assert 0 < figures["put_ms"]["p50"] <= figures["put_ms"]["p95"]
    assert 0 < figures["fsync_ms"]["p50"] <= figures["fsync_ms"]["p95"]


@pytest.mark.parametrize("command", [["recall", QUESTION], ["facts"], ["stats"]])
def test_a_mistyped_scope_is_an_error_that_names_the_known_ones(command, store, capsys):
    assert cli.main([*command, "--uri", store, "--scope", "nell"]) == 2
    assert "only of: Nell, Zoe" in capsys.readouterr().err
    assert cli.main([*command, "--uri", store, "--scope", "Nell"]) == 0


def test_bench_says_before_it_starts_that_its_figures_have_no_place(tmp_path, capsys):
    missing = tmp_path / "nowhere" / "out.json"
    for command in (["put"], ["recall", "--data", "x.json"]):
        assert cli.main(["bench", *command, "--json", str(missing)]) == 2
        assert "nowhere" in capsys.readouterr().err

"""The command ``graphmem graph``."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from rich.cells import cell_len

from explore_parts import NOON
from graphmem import GraphMemory, Message, cli, explore
from graphmem.testing import HashEmbedder, ScriptedExtractor

EVIL = "Eve\x1b[31m"
LONG = "京都" * 30
SCRIPT = {
    "Bob lives in Oslo.": [("Bob", "lives in", "Oslo")],
    "Bob lives in Rome.": [("Bob", "lives in", "Rome")],
    f"{EVIL} knows Bob and is {LONG}.": [(EVIL, "knows", "Bob"), (EVIL, "is", LONG)],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "memory.db"
    reader = ScriptedExtractor(SCRIPT)
    with GraphMemory.open(path, embed_model=HashEmbedder(), extractor=reader) as memory:
        for number, text in enumerate(SCRIPT):
            said = Message(text, said_at=NOON.replace(day=number + 1))
            memory.remember([said], scope="Bob", session=f"s{number}")
        assert memory.drain(60) == 0
        memory.remember("Zoe's secret.", scope="Zoe")
    return path


def run(capsys, path, *options, scope="Bob"):
    """Exit code, output and errors."""
    code = cli.main(["graph", "--uri", str(path), "--scope", scope, *options])
    out, errors = capsys.readouterr()
    return code, out, errors


def test_the_graph_in_figures_fits_the_terminal(path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    code, out, errors = run(capsys, path)
    assert (code, errors) == (0, "")
    assert "3 passages" in out
    assert "most central entities" in out
    assert "Bob" in out
    assert "\x1b" not in out
    assert max(map(cell_len, out.splitlines())) <= 60


def test_as_json(path, capsys):
    code, out, _ = run(capsys, path, "--entity", "bob", "--json")
    found = json.loads(out)
    assert (code, found["scope"], found["edges"]["next"]) == (0, "Bob", 0)
    assert found["central"][0]["name"] == "Bob"
    assert sum(map(len, found["communities"])) == found["vertices"]["entity"]
    assert "Oslo" not in out
    assert "Rome" in out
    assert "Oslo" in run(capsys, path, "--entity", "bob", "--json", "--every")[1]


def test_what_held_at_a_time(path, capsys):
    assert "Oslo" in run(capsys, path, "--json", "--as-of", "2025-03-01T18:00+00:00")[1]


@pytest.mark.parametrize("suffix", [".graphml", ".json"])
def test_into_a_file(path, capsys, tmp_path, suffix):
    out = tmp_path / f"graph{suffix}"
    code, said, _ = run(capsys, path, "--out", str(out))
    assert code == 0
    assert "wrote" in said
    graph = explore.read(out)
    assert len(explore.vertices_of(graph, "passage")) == 3


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_as_a_picture(path, capsys, tmp_path, suffix, start):
    out = tmp_path / f"graph{suffix}"
    code, _, errors = run(capsys, path, "--out", str(out), "--session", "s1")
    assert (code, errors) == (0, "")
    assert out.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--entity", "Bobb"), "did you mean 'Bob'?"),
        (("--session", "s9"), "there are: 's0'"),
        (("--entity", "Bob", "--session", "s1"), "one of entity"),
        (("--hops", "2"), "--hops is for --entity"),
        (("--out", "graph.txt"), "ends in .graphml"),
        (("--out", "nowhere/graph.png"), "no folder"),
        (("--out", f"{'n' * 300}.png"), "cannot be written (File name too long)"),
        (("--out", f"{'n' * 252}.svg"), "cannot be written (File name too long)"),
        (("--out", "nul\0.json"), "cannot be written"),
    ],
)
def test_what_is_wrong_is_told(path, capsys, options, message):
    code, out, errors = run(capsys, path, *options)
    assert (code, out) == (2, "")
    assert message in errors


@pytest.mark.parametrize("uri", ["n" * 300, "sqlite:///" + "n" * 5000, "lone\ud800.db"])
def test_a_store_that_no_file_can_be_is_not_there(capsys, uri):
    code, out, errors = run(capsys, uri)
    assert (code, out) == (2, "")
    assert "check --uri" in errors or "name another" in errors


def test_what_would_take_minutes_is_not_measured(path, capsys, monkeypatch):
    assert json.loads(run(capsys, path, "--json")[1])["central"][0]["betweenness"] > 0
    monkeypatch.setattr("graphmem.cli.graph._MOST_BETWEEN", 3)
    central = json.loads(run(capsys, path, "--json")[1])["central"]
    assert [one["betweenness"] for one in central] == [None] * len(central)
    assert [one["name"] for one in central][:1] == ["Bob"]
    assert "        -  Bob" in run(capsys, path)[1]


def test_a_file_is_written_without_measuring(path, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(explore, "communities", None)
    code, said, _ = run(capsys, path, "--out", str(tmp_path / "graph.json"))
    assert (code, said.count("3 passages")) == (0, 1)


@pytest.mark.parametrize("command", ["graph", "facts", "log"])
def test_a_reader_that_has_seen_enough_is_no_fault(path, command):
    seen, out = os.pipe()
    os.close(seen)
    options = ["--uri", str(path), "--scope", "Bob"]
    done = subprocess.run(
        [sys.executable, "-m", "graphmem", command, *options],
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    os.close(out)
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_exit_code_1_and_no_other_scope_is_shown(path, capsys, tmp_path):
    empty = tmp_path / "empty.db"
    reader = ScriptedExtractor(SCRIPT)
    with GraphMemory.open(empty, embed_model=HashEmbedder(), extractor=reader) as memory:
        receipt = memory.remember("Bob lives in Oslo.", scope="Bob")
        memory.drain(20)
        memory.forget("Bob", passage=receipt.stored[0], preview=False)
    code, out, _ = run(capsys, empty)
    assert (code, "empty" in out) == (1, True)
    assert "Oslo" not in run(capsys, path, "--json", scope="Zoe")[1]

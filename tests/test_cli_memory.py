"""Commands on what a store holds: looking at it, forgetting, rulings."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import get_args

import pytest
from rich.cells import cell_len

from graphmem import GraphMemory, Message, Scope, cli
from graphmem.cli import memory as commands
from graphmem.errors import InvalidInput
from graphmem.index.saving import Home
from graphmem.store import Store
from graphmem.store.sqlite import REWRITE_AT_ONCE_BYTES
from graphmem.testing import HashEmbedder, ScriptedExtractor
from graphmem.types import LogKind

EVIL = "Eve\x1b[31m owns a\x9b tortoise."
SCRIPT = {
    "Bob lives in Oslo.": [("Bob", "lives in", "Oslo")],
    "Bob lives in Rome.": [("Bob", "lives in", "Rome")],
    "Bob plays the accordion.": [("Bob", "plays", "accordion")],
    EVIL: [("Eve\x1b[31m", "owns\x07", "a\x9b tortoise")],
}
DAYS = {"Bob lives in Oslo.": 1, "Bob lives in Rome.": 20, "Bob plays the accordion.": 21, EVIL: 22}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "memory.db"
    reader = ScriptedExtractor(SCRIPT)
    with GraphMemory.open(path, embed_model=HashEmbedder(), extractor=reader) as memory:
        for text, day in DAYS.items():
            at = datetime(2025, 3, day, 12, tzinfo=timezone.utc)
            memory.remember([Message(text, said_at=at)], scope="Bob", session=f"s{day}")
            assert memory.drain(60) == 0
        memory.remember("Zoe's secret.", scope="Zoe")
        memory.recall("Where does Bob live?", scope="Bob")
    return path


@pytest.fixture
def store(filled, tmp_path):
    """A copy of its own, to be changed, with the index beside it."""
    for path in filled.parent.iterdir():
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, tmp_path / path.name)
    return str(tmp_path / filled.name)


def run(capsys, command, path, *options, scope="Bob"):
    """Exit code, output and errors."""
    code = cli.main([command, *options, "--uri", str(path), "--scope", scope])
    out, errors = capsys.readouterr()
    return code, out, errors


def asked(capsys, command, path, *options, **named):
    """Exit code and output as JSON."""
    code, out, errors = run(capsys, command, path, *options, "--json", **named)
    assert errors == ""
    return code, json.loads(out)


def objects(found):
    return {one["object"] for one in found}


# -- what was said -------------------------------------------------------------------------------


def test_passages_are_listed_with_the_ids_that_other_commands_take(store, capsys):
    code, found = asked(capsys, "passages", store)
    assert (code, [one["text"] for one in found["passages"]]) == (0, list(DAYS))
    code, out, _ = run(capsys, "passages", store, "--session", "s1")
    assert code == 0
    assert "2025-03-01  Bob: Bob lives in Oslo." in out
    assert "Rome" not in out
    id_ = found["passages"][0]["id"]
    assert f"s1 · {id_}" in out
    assert "\x1b" not in run(capsys, "passages", store)[1]
    assert run(capsys, "passages", store, "--session", "none")[:2] == (1, "no such passages\n")
    assert run(capsys, "forget", store, "--passage", id_, "--yes")[0] == 0
    assert len(asked(capsys, "passages", store)[1]["passages"]) == len(DAYS) - 1


def test_a_kind_of_row_that_there_is_not_is_told_with_those_that_there_are(store, capsys):
    kinds = {one["kind"] for one in asked(capsys, "log", store)[1]["entries"]}
    assert {"passage", "fact"} <= kinds <= {*get_args(LogKind)}
    assert {one["kind"] for one in asked(capsys, "log", store, "--kind", "fact")[1]["entries"]} == {
        "fact"
    }
    with pytest.raises(SystemExit) as stopped:
        run(capsys, "log", store, "--kind", "facts")
    assert stopped.value.code == 2
    assert "verdict" in capsys.readouterr().err
    with (
        GraphMemory.open(store, embed_model=HashEmbedder()) as memory,
        pytest.raises(InvalidInput, match="use passage, fact"),
    ):
        memory.log("Bob", kind="facts")


# -- facts of another time -----------------------------------------------------------------------


def test_facts_of_another_time(filled, capsys):
    def held(*options):
        return objects(asked(capsys, "facts", filled, "--subject", "Bob", *options)[1]["facts"])

    assert held() == {"Oslo", "Rome", "accordion"}
    assert held("--as-of", "2025-03-10") == {"Oslo"}
    assert held("--as-of", "2025-03-21T00:00+00:00") == {"Rome"}
    assert held("--as-of", "2025-03") == {"Rome", "accordion"}, "by the end of the month"
    assert held("--known-at", "2025-03-10") == set(), "it was told later"
    assert held("--known-at", "2999", "--status", "asserted") == {"Oslo", "Rome", "accordion"}


def test_facts_stand_in_the_order_of_their_words(filled, capsys):
    out = run(capsys, "facts", filled)[1]
    places = [out.index(words) for words in ("Oslo", "Rome", "accordion", "tortoise")]
    assert places == sorted(places)


@pytest.mark.parametrize("option", ["--as-of", "--known-at"])
@pytest.mark.parametrize("value", ["yesterday", "2025-13-01", "12:00", "", "\x1b[31m"])
def test_what_is_no_time_is_wrong_use(option, value, filled, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["facts", "--uri", str(filled), "--scope", "Bob", option, value])
    assert stopped.value.code == 2
    errors = capsys.readouterr().err
    assert "must be a day or a time such as 2025-03-01" in errors
    assert "\x1b" not in errors


def test_a_day_is_one_of_this_machine(monkeypatch):
    import time

    from graphmem.cli.parsing import day_end, day_start

    monkeypatch.setenv("TZ", "Europe/Rome")
    time.tzset()
    try:
        assert day_start("2025-07-01").isoformat() == "2025-07-01T00:00:00+02:00"
        assert day_end("2025-01-01").isoformat() == "2025-01-01T23:59:59.999999+01:00"
        assert day_start("2025-07-01T09:30").isoformat() == "2025-07-01T09:30:00+02:00"
        assert day_start("2025-07-01T09:30Z") == datetime(2025, 7, 1, 9, 30, tzinfo=timezone.utc)
        assert day_end("2025-07-01T09:30+05:00").utcoffset() == timedelta(hours=5)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("more", [["--as-of", "2025-03-01"], ["--known-at", "2025-03-01"]])
def test_why_is_not_about_another_time(more, filled, capsys):
    code, _, errors = run(capsys, "facts", filled, "--why", "f-0", *more)
    assert code == 2
    assert "leave out" in errors


# -- log -----------------------------------------------------------------------------------------


def test_the_log_tells_what_was_changed_by_whom(filled, capsys):
    code, out, _ = run(capsys, "log", filled, "--kind", "fact")
    assert code == 0
    assert "add        Bob → lives in → Oslo · asserted" in out
    assert "supersede  Bob → lives in → Oslo · replaced" in out
    assert "by scripted/1 (extractor)" in out
    code, found = asked(capsys, "log", filled)
    numbers = [one["seq"] for one in found["entries"]]
    assert (code, numbers) == (0, list(range(1, len(numbers) + 1)))
    first = found["entries"][0]
    assert (first["action"], first["kind"], first["actor_kind"]) == (
        "add",
        "passage",
        "application",
    )
    assert datetime.fromisoformat(first["at"]).utcoffset() is not None


def test_the_log_is_narrowed_and_nothing_is_exit_code_1(filled, capsys):
    def seen(*options):
        return [one["seq"] for one in asked(capsys, "log", filled, *options)[1]["entries"]]

    every = seen()
    assert seen("--limit", "2") == every[-2:]
    assert seen("--since", "2025-01-01", "--until", "2999") == every
    assert seen("--until", "2025-01-01") == []
    passages = asked(capsys, "log", filled, "--kind", "passage")[1]["entries"]
    assert {one["kind"] for one in passages} == {"passage"}
    of_one = asked(capsys, "log", filled, "--id", passages[0]["id"])[1]["entries"]
    assert {one["id"] for one in of_one} == {passages[0]["id"]}
    code, out, _ = run(capsys, "log", filled, "--id", "nonsense")
    assert (code, "no such entries" in out) == (1, True)


def test_verify_says_whether_the_log_is_whole(store, capsys):
    code, out, _ = run(capsys, "log", store, "--verify")
    assert code == 0
    assert "as they were written" in out
    code, check = asked(capsys, "log", store, "--verify")
    assert (code, check["is_intact"], check["broken_at"]) == (0, True, None)
    noted = ["--verify", "--noted", check["head"]]
    assert run(capsys, "log", store, *noted)[0] == 0
    code, out, _ = run(capsys, "log", store, "--verify", "--noted", "00")
    assert code == 1
    assert "the noted head is none of theirs" in " ".join(out.split())
    assert "not what was written" not in " ".join(out.split())
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("UPDATE log SET actor = 'x' WHERE seq = 2")
    code, out, _ = run(capsys, "log", store, "--verify")
    assert code == 1
    assert "not what was written" in " ".join(out.split())
    code, check = asked(capsys, "log", store, "--verify")
    assert (code, check["is_intact"]) == (1, False)
    assert 1 <= check["broken_at"] <= 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--verify", "--limit", "3"], "leave out what narrows it"),
        (["--noted", "00"], "--noted is for --verify"),
    ],
)
def test_options_of_the_log_that_do_not_go_together(options, says, filled, capsys):
    code, out, errors = run(capsys, "log", filled, *options)
    assert (code, out) == (2, "")
    assert says in errors


# -- diff ----------------------------------------------------------------------------------------


def test_diff_shows_what_is_believed_newly_and_no_longer(filled, capsys):
    with closing(Store.open(filled)) as opened:
        (_, *later) = [one for one in opened.log(Scope("Bob"), kind="fact") if one.action == "add"]
    before = (later[0].at - timedelta(microseconds=1)).isoformat()
    code, found = asked(capsys, "diff", filled, before)
    assert code == 0
    assert {"Rome", "accordion"} <= objects(found["added"])
    assert objects(found["ended"]) == {"Oslo"}
    code, out, _ = run(capsys, "diff", filled, before)
    assert "+ Bob → lives in → Rome" in out
    assert "- Bob → lives in → Oslo" in out
    code, out, _ = run(capsys, "diff", filled, "2001", "2002")
    assert (code, "nothing changed" in out) == (1, True)
    code, _, errors = run(capsys, "diff", filled, "2002", "2001-01-01")
    assert code == 2
    assert "is before start" in errors


# -- forget --------------------------------------------------------------------------------------


def words_in(path):
    """What is left of the store, and of the index beside it."""
    files = [path, *path.parent.glob(f"{path.name}*/**/*"), *path.parent.glob(f"{path.name}-*")]
    return b"".join(one.read_bytes() for one in files if one.is_file())


def test_forget_shows_first_and_acts_with_yes(store, filled, tmp_path, capsys):
    asking = ["that Bob lives in Rome"]
    code, out, _ = run(capsys, "forget", store, *asking)
    assert code == 0
    assert "Bob lives in Rome" in out
    assert "nothing was changed; with --yes it is forgotten" in out
    assert asked(capsys, "forget", store, *asking)[1]["state"] == "preview"
    assert b"lives in Rome" in words_in(tmp_path / "memory.db"), "nothing was changed"

    why = ["--actor", "Bob", "--reason", "private"]
    code, out, _ = run(capsys, "forget", store, *asking, "--yes", *why)
    assert code == 0
    assert "forgotten: 1 passage, 1 fact, 1 ban\n" in out
    assert "out of reach" in out
    assert b"lives in Rome" not in words_in(tmp_path / "memory.db")
    assert b"accordion" in words_in(tmp_path / "memory.db")
    facts = asked(capsys, "facts", store, "--subject", "Bob")[1]["facts"]
    assert objects(one for one in facts if not one["retired_at"]) == {"Oslo", "accordion"}
    log = asked(capsys, "log", store, "--kind", "passage")[1]["entries"]
    forget = next(one for one in log if one["action"] == "forget")
    assert (forget["actor"], forget["reason"]) == ("Bob", "private")
    assert run(capsys, "log", store, "--verify")[0] == 0

    with GraphMemory.open(store, embed_model=HashEmbedder()) as memory:
        receipt = memory.remember("Bob lives in Rome.", scope="Bob", session="another")
        assert receipt.refused
    code, found = asked(capsys, "bans", store)
    (ban,) = found["bans"]
    assert (code, ban["actor"], ban["cause"]) == (0, "Bob", "forget")
    code, out, _ = run(capsys, "bans", store)
    assert ban["id"] in out
    assert "by Bob (person) · private" in out
    code, out, _ = run(capsys, "unforget", store, "--ban", ban["id"])
    assert (code, out) == (0, f"lifted 1 ban: {ban['id']}\n")
    assert run(capsys, "bans", store)[0] == 1, "nothing is banned any more"
    with GraphMemory.open(store, embed_model=HashEmbedder()) as memory:
        assert memory.remember("Bob lives in Rome.", scope="Bob", session="another").stored


@pytest.mark.parametrize("kind", ["fact", "passage", "message", "entity", "session", "everything"])
def test_a_thing_is_forgotten_by_its_name(kind, store, capsys):
    facts = asked(capsys, "facts", store, "--subject", "Bob")[1]["facts"]
    fact = next(one for one in facts if one["object"] == "accordion")
    with closing(Store.open(store)) as opened:
        passage = opened.passages(Scope("Bob"), ids=fact["passages"])[0]
    name = {
        "fact": fact["id"],
        "passage": passage.id,
        "message": passage.message_id,
        "entity": "accordion",
        "session": "s21",
    }
    target = [f"--{kind}", *([name[kind]] if kind in name else [])]
    code, found = asked(capsys, "forget", store, *target)
    assert (code, found["state"]) == (0, "preview")
    code, found = asked(capsys, "forget", store, *target, "--yes")
    assert (code, found["state"]) == (0, "erased")
    assert passage.id in found["forgotten"]
    code, left = asked(capsys, "facts", store, "--subject", "Bob")
    assert objects(left["facts"]) == (set() if kind == "everything" else {"Oslo", "Rome"})
    assert asked(capsys, "facts", store, scope="Zoe")[1]["facts"] == []
    assert asked(capsys, "log", store, scope="Zoe")[0] == 0, "others keep theirs"


@pytest.mark.parametrize("yes", [[], ["--yes"]])
def test_words_that_mean_several_things_change_nothing(yes, store, capsys):
    before = asked(capsys, "log", store)
    code, out, errors = run(capsys, "forget", store, "Bob lives", *yes)
    assert code == commands.AMBIGUOUS == 3
    assert "Oslo" in out
    assert "Rome" in out
    assert "with --yes" not in out
    assert errors.startswith("graphmem: these words may mean 2 things")
    assert errors.count("\n") == 1
    code, found = asked(capsys, "forget", store, "Bob lives", *yes)
    assert (code, found["state"]) == (3, "preview")
    assert [one["score"] for one in found["candidates"]] == [1.0, 1.0]
    assert "2 things" in found["unclear"]
    assert asked(capsys, "log", store) == before
    code, found = asked(capsys, "forget", store, "Bob lives in Rome", *yes)
    assert (code, found["unclear"]) == (0, "")
    assert (asked(capsys, "log", store) == before) == (not yes)


@pytest.mark.parametrize("yes", [[], ["--yes"]])
def test_words_that_fit_nothing_are_exit_code_1(yes, store, capsys):
    before = asked(capsys, "log", store)
    code, out, _ = run(capsys, "forget", store, "the weather in Paris", *yes)
    assert (code, "nothing stored is meant by that" in out) == (1, True)
    code, out, errors = run(capsys, "forget", store, "that Bob sold an accordion", *yes)
    assert (code, "it holds some of the words" in out) == (1, True)
    assert "fit nothing that is stored" in errors
    assert asked(capsys, "log", store) == before
    assert run(capsys, "forget", store, "that Bob plays an accordion", *yes)[0] == 0


@pytest.mark.parametrize("yes", [[], ["--yes"]])
def test_words_that_would_change_more_than_most_are_exit_code_3(yes, store, capsys):
    words = ["everything about Bob", *yes]
    code, found = asked(capsys, "forget", store, *words, "--most", "2")
    assert code == 3
    assert "change 4 passages" in found["unclear"]
    assert sum(one["kind"] == "passage" for one in found["candidates"]) == 4
    assert len(asked(capsys, "facts", store, "--subject", "Bob")[1]["facts"]) == 3
    assert asked(capsys, "forget", store, *words, "--most", "4")[0] == 0


def test_no_vectors_of_what_is_forgotten_are_left_beside_the_store(store, capsys, monkeypatch):
    monkeypatch.setattr("graphmem.indexes.SAVE_AT_CLOSE", 0)
    with GraphMemory.open(store, embed_model=HashEmbedder()) as memory:
        for name in ("Bob", "Zoe"):
            memory.recall("Where does Bob live?", scope=name)
    folders = [Home(Path(store), Scope(name)).folder for name in ("Bob", "Zoe")]
    assert all(list(folder.iterdir()) for folder in folders)
    assert run(capsys, "forget", store, "that Bob lives in Rome")[0] == 0
    assert [folder.exists() for folder in folders] == [True, True], "only shown"
    assert run(capsys, "forget", store, "that Bob lives in Rome", "--yes")[0] == 0
    assert [folder.exists() for folder in folders] == [False, True]


def test_forgotten_words_have_left_a_large_file_when_the_command_ends(tmp_path, capsys):
    path = tmp_path / "memory.db"
    reader = ScriptedExtractor(SCRIPT)
    filler = [f"Line {n} tells of {'the harbour and its boats ' * 40}" for n in range(1200)]
    with GraphMemory.open(path, embed_model=HashEmbedder(), extractor=reader) as memory:
        memory.remember(["Bob lives in Oslo.", "Bob plays the accordion."], scope="Bob")
        memory.remember(filler, scope="Zoe", session="s")
        assert memory.drain(60) == 0
    assert path.stat().st_size > REWRITE_AT_ONCE_BYTES
    code, found = asked(capsys, "forget", path, "that Bob lives in Oslo", "--yes")
    assert (code, found["state"], found["deferred"]) == (0, "erased", [])
    assert b"lives in Oslo" not in words_in(path)
    assert b"accordion" in words_in(path)
    with closing(sqlite3.connect(path)) as connection:
        owed = connection.execute("SELECT 1 FROM meta WHERE key LIKE 'erasure%'").fetchall()
    assert owed == []


@pytest.mark.parametrize(
    ("command", "options", "says"),
    [
        ("forget", [], "exactly one of WORDS, --fact, --passage"),
        ("forget", ["words", "--fact", "f-0"], "--session, --everything"),
        ("forget", ["--fact", "f-0"], "f-0"),
        ("forget", ["--session", "\x1b[31mno"], "no such"),
        ("unforget", [], "exactly one"),
        ("reject", ["f-0"], "no fact 'f-0' in Bob"),
        ("verify", ["\x1b[31m"], "no fact"),
        ("dispute", [""], "no fact ''"),
        ("unforget", ["--ban", "b-0"], "nothing of that is banned"),
        ("unforget", ["--fact", "f-0", "--triple", "a", "b", "c"], "--fact, --triple, --text"),
        ("unforget", ["--fact", "f-0", "--text", "x"], "exactly one"),
    ],
)
def test_what_cannot_be_forgotten_is_one_clear_line(command, options, says, store, capsys):
    code, out, errors = run(capsys, command, store, *options)
    assert (code, out) == (2, "")
    assert says in errors
    assert errors.count("\n") == 1
    assert "\x1b" not in errors


def test_a_forgotten_fact_is_named_by_its_triple(store, capsys):
    facts = asked(capsys, "facts", store)[1]["facts"]
    fact = next(one for one in facts if one["object"] == "accordion")
    run(capsys, "forget", store, "--fact", fact["id"], "--yes")
    code, found = asked(capsys, "unforget", store, "--triple", "bob", "plays", "Accordion")
    assert (code, len(found["bans"])) == (0, 1)


# -- rulings -------------------------------------------------------------------------------------


def test_a_fact_is_disputed_verified_rejected_and_believed_again(store, capsys):
    def status():
        facts = asked(capsys, "facts", store, "--subject", "Bob")[1]["facts"]
        return {one["object"]: one["status"] for one in facts}

    facts = asked(capsys, "facts", store, "--subject", "Bob")[1]["facts"]
    fact = next(one["id"] for one in facts if one["object"] == "accordion")
    before = status()
    assert before["accordion"] == "asserted"
    signed = ["--actor", "Zo\x1be", "--reason", "heard otherwise"]
    for ruling, after in {
        "dispute": "disputed",
        "verify": "verified",
        "reject": "rejected",
    }.items():
        code, out, _ = run(capsys, ruling, store, fact, *signed)
        assert code == 0
        assert out.startswith(f"{after:9}  Bob → plays → accordion\n")
        assert status() == {**before, "accordion": after}
        (entry,) = asked(capsys, "log", store, "--limit", "1", "--id", fact)[1]["entries"]
        assert (entry["action"], entry["actor"]) == (ruling, "Zo\x1be")
        assert (entry["actor_kind"], entry["reason"]) == ("person", "heard otherwise")
    code, _, errors = run(capsys, "verify", store, fact)
    assert (code, "is banned" in errors) == (2, True)
    (ban,) = asked(capsys, "bans", store)[1]["bans"]
    assert (ban["cause"], ban["fact_id"]) == ("reject", fact)
    code, found = asked(capsys, "unforget", store, "--fact", fact)
    assert (code, found["bans"], found["facts"]) == (0, [ban["id"]], [fact])
    assert found["state"] == "", "nothing was erased"
    assert status()["accordion"] == "verified"
    assert run(capsys, "log", store, "--verify")[0] == 0
    assert run(capsys, "reject", store, fact, scope="Zoe")[0] == 2


# -- all of them ---------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_stored_escapes_do_not_reach_the_terminal_and_lines_fit_it(
    columns, store, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", columns)
    outs = [
        run(capsys, "log", store)[1],
        run(capsys, "log", store, "--verify")[1],
        run(capsys, "diff", store, "2001")[1],
        run(capsys, "facts", store)[1],
        run(capsys, "forget", store, "--session", "s22")[1],
        run(capsys, "forget", store, "everything about Eve")[1],
    ]
    run(
        capsys,
        "forget",
        store,
        "--session",
        "s21",
        "--yes",
        "--actor",
        "E\x1bve",
        "--reason",
        "\x9b",
    )
    outs += [run(capsys, "bans", store)[1], run(capsys, "log", store)[1]]
    for out in outs:
        assert out.strip()
        assert not set("\x1b\x9b\x07") & set(out)
        assert max(map(cell_len, out.splitlines())) <= max(int(columns), 80)
    assert "Eve\ufffd[31m → owns\ufffd → a\ufffd tortoise" in " ".join(outs[2].split())
    assert "by E\ufffdve (person)" in outs[-1]


def test_what_is_printed_as_json_is_ascii(store, capsys):
    for command in (["log"], ["diff", "2001"], ["facts"], ["forget", "--session", "s22"]):
        _, out, _ = run(capsys, command[0], store, *command[1:], "--json")
        assert out.isascii()
        assert not set("\x1b\x07") & set(out)


@pytest.mark.parametrize(
    "command",
    [
        ["log"],
        ["diff", "2001"],
        ["forget", "x"],
        ["unforget", "--ban", "b-0"],
        ["bans"],
        ["reject", "f-0"],
    ],
)
def test_a_store_or_a_scope_that_is_not_there_is_not_made(command, store, tmp_path, capsys):
    code, out, errors = run(capsys, command[0], tmp_path / "missing.db", *command[1:])
    assert (code, out) == (2, "")
    assert "there is no store" in errors
    assert not (tmp_path / "missing.db").exists()
    code, _, errors = run(capsys, command[0], store, *command[1:], scope="bob")
    assert code == 2
    assert "only of: Bob, Zoe" in errors
    with closing(Store.open(store)) as opened:
        assert len(opened.scopes()) == 2


@pytest.mark.parametrize(
    "command",
    ["facts", "log", "diff", "forget", "unforget", "bans", "reject", "verify", "dispute"],
)
def test_help_shows_an_example(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([command, "--help"])
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert f"example:\n  graphmem {command}" in out
    assert "--json" in out


def test_no_command_needs_an_embedder(store, capsys, monkeypatch):
    def refuse(*_):
        raise AssertionError("a model was asked for")

    monkeypatch.setattr("graphmem.embedding.resolve", refuse)
    (fact, *_) = asked(capsys, "facts", store, "--subject", "Bob")[1]["facts"]
    for command in (
        ["log"],
        ["diff", "2001"],
        ["dispute", fact["id"]],
        ["reject", fact["id"]],
        ["unforget", "--fact", fact["id"]],
        ["forget", "Bob lives in Rome", "--yes"],
        ["bans"],
    ):
        assert run(capsys, command[0], store, *command[1:])[0] == 0

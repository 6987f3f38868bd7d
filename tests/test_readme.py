import dataclasses
import gc
import json
import re
from pathlib import Path

import pytest

from graphmem import GraphMemoryBlock, RecallSettings

RESULTS = Path(__file__).parent / "results"
README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SYSTEM = "graphmem|graphmem, rules|ppr|hybrid"
MEASURED = re.compile(rf"^\| (\w+) \| ({SYSTEM}) \| (.*) \|$", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)\.(\w+)` \| `([^`]+)` \|", re.MULTILINE)


# LlamaIndex's agents read a deprecated attribute of pydantic's.
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
# Nor does its Memory close the chat database that it opens.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_every_python_block_runs_and_prints_what_stands_below_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = FENCE.findall(README)
    namespace = {}
    ran = 0
    for (language, code), (next_language, next_text) in zip(
        blocks, [*blocks[1:], ("", "")], strict=True
    ):
        if language == "python":
            exec(compile(code, "README.md", "exec"), namespace)
            expected = next_text if next_language == "text" else ""
            assert capsys.readouterr().out == expected, code
            ran += 1
    namespace.clear()
    gc.collect()  # while the warnings of that database are still let pass
    assert ran >= 3


def test_the_two_commands_are_there_and_the_page_is_short():
    commands = [text.strip() for language, text in FENCE.findall(README) if language == "console"]
    assert "python -m pip install '.[local]' && graphmem demo" in commands
    assert "python -m pip install '.[dev]' && pytest" in commands
    assert len(README.splitlines()) <= 260


def test_the_settings_table_tells_the_real_defaults():
    rows = ROW.findall(README)
    assert len(rows) >= 6
    for owner, name, shown in rows:
        assert repr(default_of(owner, name)) == shown, name


def default_of(owner, name):
    if owner == "RecallSettings":
        return {field.name: field.default for field in dataclasses.fields(RecallSettings)}[name]
    return GraphMemoryBlock.model_fields[name].get_default()


def committed(name):
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def shown(share):
    return f"{100 * share:.1f}"


def test_the_measured_figures_are_the_committed_ones():
    """The table of recall, and the figures below it, against the files that the commands wrote."""
    by_name = {(row["data"], row["system"]): row for row in committed("recall.json")["results"]}
    for row in committed("sources.json")["results"]:
        by_name[row["data"], f"graphmem, {row['triples']}"] = row
    rows = MEASURED.findall(README)
    assert len(rows) == 12
    for data, system, figures in rows:
        result = by_name[f"{data}.json.gz", system]
        shares = ("recall@2", "recall@5", "recall@10", "all@5", "mrr")
        assert [figure.strip() for figure in figures.split("|")] == [
            shown(result[share]) for share in shares
        ]
    chat, rules = by_name["chat2.json.gz", "graphmem"], by_name["chat2.json.gz", "graphmem, rules"]
    within, stale = (
        f"{shown(chat[key])} % ({shown(rules[key])} %)" for key in ("within_budget", "stale_first")
    )
    said = " ".join(README.split())
    assert f"with the rules in brackets, {within} of the evidence" in said
    assert f"and {stale} of the update questions" in said
    slowest = max(row["p95_ms"] for (_, system), row in by_name.items() if system == "graphmem")
    assert f"95 % of recalls take at most {slowest:.1f} ms" in said


def test_the_time_of_a_flush_is_the_committed_one():
    put = committed("put.json")
    times = (put["put_ms"]["p50"], put["put_ms"]["p95"], put["fsync_ms"]["p50"])
    assert (
        "median {:.1f} ms, 95 % at most {:.1f} ms (a plain fsync {:.1f})".format(*times) in README
    )


def test_the_matrices_are_the_committed_ones():
    trust = committed("trust.json")
    rules = trust["rules"]
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (\d+ \(\d+\) of .*) \|$", README, re.MULTILINE))
    cells = trust["contradiction"]["cells"]
    assert rows.keys() == cells.keys()
    for case, row in rows.items():
        both = zip(
            cells[case]["cells"].values(),
            rules["contradiction"]["cells"][case]["cells"].values(),
            strict=True,
        )
        assert row.split(" | ") == [
            f"{passed(one)} ({passed(other)}) of {one['wordings']}" for one, other in both
        ]
    deletion, of_rules = trust["deletion"], rules["deletion"]
    said = " ".join(README.split())
    assert f"{deletion['passed']} of {deletion['of']} pass in" in said
    assert f"pass in {trust['wordings']['deletion']} wordings ({of_rules['passed']} with" in said
    assert deletion["passed"] == deletion["of"]
    assert trust["contradiction"]["passed"] == trust["contradiction"]["of"]


def passed(cell):
    return cell["wordings"] - len(cell["failures"])


@pytest.mark.parametrize("command", ["demo", "recall", "stats", "bench"])
def test_every_console_command_is_named(command):
    assert f"graphmem {command}" in README

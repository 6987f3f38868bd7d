import re
import shlex
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from graphmem.cli.command import _parser

FOLDER = Path(__file__).parent.parent / "notebooks"
# What a run prints, among other things.
PRINTS = {
    "explore_the_graph": ["Pavel → worked in → Skagen", "outranked", "'passage': 106"],
    "multi_hop_experiments": ["seed", "Ilsa Varn (by fact)", "3 records, 1 question"],
    "quickstart": ["Skagen"],
    "trust_and_forgetting": [
        "Kit: only a person may verify a fact",
        "hazelnut: 0 facts, 0 entries of the log",
        "hazelnut: 0 times",
    ],
}
COMMAND = re.compile(r"^graphmem .*", re.MULTILINE)
# Where some machine keeps its files.
PLACE = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|usr|var|opt|work|Users)/|[A-Z]:\\\\")


@cache
def kept(name):
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    return notebook


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shape(notebook):
    """What kinds of output each cell has; a stream may arrive in pieces."""
    return [list(dict.fromkeys(map(kind_of, cell.outputs))) for cell in code_cells(notebook)]


def kind_of(output):
    return output.output_type, output.get("name"), *sorted(output.get("data", ()))


def printed(notebook):
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    return "".join(output.get("text", "") for output in outputs)


def test_all_notebooks_are_known():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(PRINTS)


@pytest.mark.parametrize("name", PRINTS)
def test_a_notebook_is_kept_with_its_outputs(name):
    cells = code_cells(kept(name))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    kinds = {kind for output in outputs for kind in output.get("data", ())}
    assert {"image/png", "image/svg+xml"} & kinds
    assert all(text in printed(kept(name)) for text in PRINTS[name])


@pytest.mark.parametrize("name", PRINTS)
def test_a_notebook_names_no_place_on_a_machine(name):
    assert PLACE.search('"/tmp/x"')
    assert not PLACE.search((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PRINTS)
def test_a_notebook_runs(name, tmp_path):
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    assert shape(notebook) == shape(kept(name))
    assert all(text in printed(notebook) for text in PRINTS[name])
    assert not list(tmp_path.iterdir())  # where it stands it leaves nothing


def test_commands_in_a_notebook_are_commands():
    texts = [cell.source for cell in kept("multi_hop_experiments").cells]
    commands = [command for text in texts for command in COMMAND.findall(text)]
    assert len(commands) >= 6
    for command in commands:
        _parser().parse_args(shlex.split(command)[1:])

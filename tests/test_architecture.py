"""The shape of the package: who imports whom, who knows which library, what is public."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import get_origin

import pytest

import graphmem
import graphmem.extractors

FOLDERS = {
    "graphmem": Path(graphmem.__file__).parent,
    "graphmem.extractors": Path(graphmem.extractors.__file__).parent,
}

FOUNDATION = {"graphmem.errors", "graphmem.identity", "graphmem.types"}

# From the inner to the outer: each may import those before it, and nothing else may import it.
SURFACE = [
    "graphmem.indexes",
    "graphmem.worker",
    "graphmem.curating",
    "graphmem.explaining",
    "graphmem.memory",
    "graphmem.block",
    "graphmem.experiments",
    "graphmem.demo",
    "graphmem.cli",
    "graphmem.__main__",
]

# Arrays and nothing else: what they hold means nothing to them.
ARRAYS = {
    f"graphmem.index.{name}"
    for name in (
        "columns",
        "composite",
        "container",
        "keys",
        "lists",
        "relations",
        "transition",
        "workspace",
    )
}
# The walk goes over any graph, the reference beside it as well.
WALKS = {
    f"graphmem.recall.{name}" for name in ("exact", "paths", "power", "push", "ranks", "region")
}

# Which modules may import a library while running; a folder stands for all in it.
ENGINES = {
    # An experiment compares ours with its other indexes.
    "faiss": ["graphmem.index.search", "graphmem.experiments.vector_indexes"],
    "igraph": ["graphmem.recall.exact", "graphmem.explore.measures", "graphmem.explore.layout"],
    # The demo plays the host, and makes the host's own chat database.
    "sqlalchemy": ["graphmem.store", "graphmem.demo"],
    "onnxruntime": ["graphmem.minilm"],
    "tokenizers": ["graphmem.minilm"],
    "spacy": ["graphmem.extractors.rules"],
    "openai": ["graphmem.extractors.openai", "graphmem.experiments.systems.served"],
    "networkx": ["graphmem.explore.graph", "graphmem.explore.files"],
    "matplotlib": ["graphmem.experiments.report.plots", "graphmem.explore.canvas"],
    "llama_index": [
        "graphmem.block",
        "graphmem.embedding",
        "graphmem.explore.property_graph",
        "graphmem.extractors.llm",
        "graphmem.demo",
        "graphmem.experiments",
    ],
}

PUBLIC = [
    "Embedder",
    "Explanation",
    "Extraction",
    "Extractor",
    "Fact",
    "GraphMemError",
    "GraphMemory",
    "GraphMemoryBlock",
    "Message",
    "Passage",
    "RankedPassage",
    "Recall",
    "RecallSettings",
    "Receipt",
    "Scope",
    "Source",
    "Triple",
]


@cache
def _sources() -> dict[str, Path]:
    """Every module of the package by its name."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


@cache
def _imports(module: str) -> frozenset[str]:
    """Full names of what a module imports while running, now or later; not for checkers only."""
    path = _sources()[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for node in _running(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            names.update(_resolved(base, alias.name) for alias in node.names)
    return frozenset(names)


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        is_typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if not is_typing:
            yield node
            yield from _running(node)


def _resolved(base: str, name: str) -> str:
    """``from base import name`` names a module of ours, or something inside ``base``."""
    return f"{base}.{name}" if f"{base}.{name}" in _sources() else base


def _within(module: str, owner: str) -> bool:
    return module == owner or module.startswith(f"{owner}.")


def _ours(module: str) -> set[str]:
    return {name for name in _imports(module) if name in _sources()}


def _surface_rank(module: str) -> int:
    return next((rank for rank, name in enumerate(SURFACE) if _within(module, name)), -1)


def test_every_module_is_seen():
    assert {*FOUNDATION, "graphmem.memory", "graphmem.extractors.rules"} <= set(_sources())
    assert "graphmem.types" in _imports("graphmem.memory")


def test_foundation_imports_nothing_above_it():
    assert _ours("graphmem.errors") == set()
    assert _ours("graphmem.identity") == set()
    # What shows values knows no class of theirs, so that they can show themselves.
    showing = {f"graphmem.display.{name}" for name in ("data", "markup", "plain", "wording")}
    for module in showing:
        assert _ours(module) <= showing
    values = {"graphmem.errors", "graphmem.identity", "graphmem.types"}
    for module in ("graphmem.types", "graphmem.explanation"):
        assert _ours(module) <= values | showing


def test_imports_form_no_circle():
    # The package itself only collects names: importing a submodule runs it first anyway.
    graph = {name: _ours(name) - {"graphmem", name} for name in _sources() if name != "graphmem"}
    packages = {name for name, path in _sources().items() if path.name == "__init__.py"}
    for name, ours in graph.items():
        ours -= {package for package in packages if _within(name, package)}
    assert list(TopologicalSorter(graph).static_order())


def test_only_the_surface_imports_the_surface():
    wrong = [
        (module, name)
        for module in _sources()
        for name in _ours(module)
        if module != "graphmem" and _surface_rank(name) > _surface_rank(module)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("graphmem.recall", "graphmem.store"),
        ("graphmem.index", "graphmem.store"),
        ("graphmem.index", "graphmem.recall"),
        ("graphmem.store", "graphmem.index"),
        ("graphmem.store", "graphmem.recall"),
        ("graphmem.store", "graphmem.extractors"),
        ("graphmem.extractors", "graphmem.store"),
        ("graphmem.extractors", "graphmem.recall"),
    ],
)
def test_neighbours_do_not_know_each_other(inner, outer):
    """Not even through others: recall is a function of values, the store knows no index."""
    start = {module for module in _sources() if _within(module, inner)}
    assert start
    reached, queue = set(start), list(start)
    while queue:
        for name in _ours(queue.pop()) - {"graphmem"} - reached:
            reached.add(name)
            queue.append(name)
    assert not [name for name in sorted(reached) if _within(name, outer)]


@pytest.mark.parametrize(
    ("group", "known"),
    [(ARRAYS, FOUNDATION - {"graphmem.types"}), (WALKS, {*ARRAYS, "graphmem.errors"})],
    ids=["arrays", "walks"],
)
def test_what_is_general_knows_nothing_in_particular(group, known):
    assert group <= set(_sources())
    strange = {(module, name) for module in group for name in _ours(module) - group - known}
    assert strange == set()


def test_recall_does_without_the_reference():
    users = {module for module in _sources() if "graphmem.recall.exact" in _ours(module)}
    assert users
    assert all(_within(user, "graphmem.experiments") for user in users)


@pytest.mark.parametrize("library", ENGINES)
def test_one_module_knows_a_library(library):
    users = {
        module for module in _sources() if any(_within(name, library) for name in _imports(module))
    }
    assert users, f"nothing imports {library}: the rule has lost its object"
    strangers = {
        user for user in users if not any(_within(user, owner) for owner in ENGINES[library])
    }
    assert strangers == set()


def test_nothing_calls_itself_a_helper():
    vague = {"utils", "util", "helpers", "base", "common", "misc", "manager", "core"}
    assert not [name for name in _sources() if vague & set(name.split("."))]


# --- what is loaded ------------------------------------------------------------------------------


def _run(code: str) -> str:
    """What ``code`` prints in a fresh process that treats warnings as errors."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def _loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    return set(_run(code).split())


HEAVY = {"torch", "spacy", "onnxruntime", "tokenizers", "transformers", "matplotlib"}
ENGINE_LIBRARIES = {"faiss", "igraph", "sqlalchemy", "llama_index", "openai", "pydantic", "scipy"}


def test_importing_the_package_loads_no_engine():
    loaded = _loaded_by("import graphmem, graphmem.types, graphmem.errors")
    assert "graphmem" in loaded
    assert not loaded & (HEAVY | ENGINE_LIBRARIES)


def test_importing_everything_public_loads_no_model_library():
    loaded = _loaded_by("from graphmem import *\nimport graphmem.extractors, graphmem.testing")
    assert {"llama_index", "sqlalchemy", "faiss"} <= loaded
    assert not loaded & HEAVY


def test_the_engine_needs_no_framework():
    loaded = _loaded_by("from graphmem import GraphMemory")
    assert "sqlalchemy" in loaded
    assert not loaded & (HEAVY | {"llama_index", "openai"})


@pytest.mark.parametrize("is_reversed", [False, True])
def test_modules_import_in_any_order(is_reversed):
    names = sorted(set(_sources()) - {"graphmem.__main__"}, reverse=is_reversed)
    _run("\n".join(f"import {name}" for name in names))


@pytest.mark.parametrize(
    "order", [("graphmem.block", "llama_index.core"), ("llama_index.core", "graphmem.block")]
)
def test_framework_and_block_import_in_either_order(order):
    _run("\n".join(f"import {name}" for name in order))


# --- what is public ------------------------------------------------------------------------------


def test_public_names():
    assert sorted(graphmem.__all__) == PUBLIC
    assert set(PUBLIC) <= set(dir(graphmem))
    for name in PUBLIC:
        assert inspect.isclass(getattr(graphmem, name)), name


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no_such_name"):
        graphmem.no_such_name  # noqa: B018 - the access is the test


def _public_names() -> list[tuple[str, str]]:
    return [
        (module, name)
        for module in _sources()
        if not module.endswith("__main__")
        for name in getattr(importlib.import_module(module), "__all__", ())
    ]


def test_listed_names_exist_and_are_sorted():
    listed: dict[str, list[str]] = {}
    for module, name in _public_names():
        assert hasattr(importlib.import_module(module), name), f"{module}.{name}"
        listed.setdefault(module, []).append(name)
    assert set(PUBLIC) <= set(listed["graphmem"])
    for module, names in listed.items():
        assert len(names) == len(set(names)), module


def test_every_public_name_is_documented():
    silent = []
    for module, name in _public_names():
        value = getattr(importlib.import_module(module), name)
        # Python 3.10 takes an alias such as list[int] for a class.
        is_alias = get_origin(value) is not None
        if (inspect.isclass(value) or inspect.isroutine(value)) and not is_alias:
            silent += [f"{module}.{name}{part}" for part in _silent(value)]
    assert silent == []


def _silent(value: object) -> list[str]:
    """The value itself ("") and those of its own public members that say nothing."""
    parts = [] if inspect.getdoc(value) else [""]
    if inspect.isclass(value):
        parts += [
            f".{name}"
            for name, member in vars(value).items()
            if not name.startswith("_")
            and (inspect.isroutine(member) or isinstance(member, property | classmethod))
            and not inspect.getdoc(getattr(value, name))
        ]
    return parts


def test_every_module_says_what_it_is():
    for module, path in _sources().items():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), module

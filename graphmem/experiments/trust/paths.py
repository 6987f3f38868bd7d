"""Every path on which a memory can show a word: one function, so that no check forgets one."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from graphmem import GraphMemory, Scope
from graphmem.context import render
from graphmem.types import Recall

__all__ = ["PATHS", "SPELLINGS", "plain", "shown_on", "signature"]

# Letters of other scripts that look like Latin ones, for a spelling that a reader cannot tell.
_TWINS = dict(zip("acehijopsxyTKABEHMOP", "асеһіјорѕхуТКАВЕНМОР", strict=True))
_LATIN = {other: letter for letter, other in _TWINS.items()}
_TOP = 20
_BUDGET = 100_000


def _wide(text: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def _hidden(text: str) -> str:
    return " ".join(f"{word[:1]}\u200b{word[1:]}" for word in text.split(" "))


def _alike(text: str) -> str:
    return "".join(_TWINS.get(char, char) for char in text)


SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "in capitals": str.upper,
    "in wide letters": _wide,
    "with unseen characters": _hidden,
    "in letters that look alike": _alike,
}
"""Ways to write the same words so that a reader takes them for the same."""


def plain(text: str) -> str:
    """The words whatever spelling of ``SPELLINGS`` they are in."""
    text = unicodedata.normalize("NFKC", text).replace("\u200b", "").replace("\\u200b", "")
    return "".join(_LATIN.get(char, char) for char in text).casefold()


def shown_on(
    memory: GraphMemory, words: str, question: str, *, scope: Scope | None = None
) -> list[str]:
    """The paths of ``PATHS`` on which a memory shows some words, in whatever spelling."""
    wanted = plain(words)
    return [name for name, path in PATHS.items() if wanted in plain(path(memory, question, scope))]


def signature(found: Recall) -> list[Any]:
    """What a recall answers, as values that equal indexes agree on."""
    ranked = [
        (one.passage.id, round(one.score, 6), [fact.id for fact in one.facts]) for one in found
    ]
    return [found.route, ranked, [(hit.fact.id, round(hit.score, 6)) for hit in found.facts]]


def _recalled(memory: GraphMemory, question: str, scope: Scope | None) -> str:
    found = memory.recall(question, scope=scope, top_k=_TOP)
    parts = [
        [(one.passage.full_text, one.facts, one.outdated) for one in found],
        [hit.fact for hit in found.facts],
        found.statements,
        found.seeds,
    ]
    return repr(parts)


def _context(memory: GraphMemory, question: str, scope: Scope | None) -> str:
    found = memory.recall(question, scope=scope, top_k=_TOP)
    return render(found, token_budget=_BUDGET, count_tokens=len)


def _facts(memory: GraphMemory, question: str, scope: Scope | None) -> str:
    return repr(memory.facts(scope))


def _sources(memory: GraphMemory, question: str, scope: Scope | None) -> str:
    return repr([memory.sources(fact, scope=scope) for fact in memory.facts(scope)])


def _passages(memory: GraphMemory, question: str, scope: Scope | None) -> str:
    return repr([(one.full_text, one.metadata) for one in memory.passages(scope)])


def _entities(memory: GraphMemory, question: str, scope: Scope | None) -> str:
    return repr(memory.entities(scope))


def _graph(memory: GraphMemory, question: str, scope: Scope | None) -> str:
    graph = memory.graph(scope)
    return repr([list(graph.nodes(data=True)), list(graph.edges(keys=True, data=True))])


def _log(memory: GraphMemory, question: str, scope: Scope | None) -> str:
    return repr(memory.log(scope))


PATHS: Mapping[str, Callable[[GraphMemory, str, Scope | None], str]] = {
    "recall": _recalled,
    "context": _context,
    "facts": _facts,
    "sources": _sources,
    "passages": _passages,
    "entities": _entities,
    "graph": _graph,
    "log": _log,
}
"""What a memory shows on each path, as one text."""

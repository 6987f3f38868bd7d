"""Which systems there are, and how one is opened by its name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from graphmem.errors import GraphMemError, InvalidInput
from graphmem.experiments.systems.baselines import Baseline
from graphmem.experiments.systems.graphmem import GraphMemorySystem
from graphmem.experiments.systems.interface import Kind, Parts, System
from graphmem.experiments.systems.plain import InContext, NoMemory
from graphmem.experiments.systems.ppr import PersonalizedPageRank

__all__ = ["SYSTEMS", "kind_of", "name_of", "open_system", "place_of"]


def _vector_block(parts: Parts) -> System:
    from graphmem.experiments.systems.llama import VectorBlock

    return VectorBlock(parts.embedder)


def _fact_block(parts: Parts) -> System:
    from graphmem.experiments.systems.llama import FactBlock

    return FactBlock(parts.llm)


SYSTEMS: Mapping[str, Kind] = {
    "no_memory": Kind(lambda parts: NoMemory()),
    "in_context": Kind(lambda parts: InContext(parts.budget)),
    "bm25": Kind(lambda parts: Baseline(parts.embedder, uses_words=True, uses_vectors=False)),
    "dense": Kind(lambda parts: Baseline(parts.embedder, uses_words=False, uses_vectors=True)),
    "hybrid": Kind(lambda parts: Baseline(parts.embedder, uses_words=True, uses_vectors=True)),
    "vector_block": Kind(_vector_block),
    "fact_block": Kind(_fact_block, needs_model=True),
    "ppr": Kind(PersonalizedPageRank, uses_triples=True),
    "graphmem": Kind(GraphMemorySystem, uses_triples=True, uses_settings=True),
}
"""The systems by name."""


def name_of(system: str | Callable[[Parts], Any]) -> str:
    """The name by which ``open_system`` finds a system, or what makes one (a class, a function).

    Raises:
        InvalidInput: it is neither a name nor something that has one.
    """
    if isinstance(system, str):
        return system
    inside = getattr(system, "__qualname__", None)
    if inside is None:
        raise InvalidInput(
            f"a system is a name or the class that makes it, not a {type(system).__name__}"
        )
    return f"{system.__module__}:{inside}"


def place_of(name: str) -> tuple[str, str]:
    """The module that a dotted name names, and the name inside it; ``""`` where it lacks one."""
    module, _, inside = name.partition(":") if ":" in name else name.rpartition(".")
    return module, inside


def kind_of(name: str) -> Kind:
    """How the system of that name is opened, registered or your own.

    One of your own reads the triples it is given; which constants it has is not known.
    """
    return SYSTEMS.get(name) or Kind(partial(_own, name), uses_triples=True)


def open_system(name: str, parts: Parts) -> System:
    """The system of that name, or one of your own.

    Args:
        name: out of ``SYSTEMS``, or where your own is made: ``"package.module:Factory"`` or
            ``"package.module.Factory"``, anything that makes a ``System`` when called with the
            parts. Modules of the current folder are found too.
        parts: what it may be made from.

    Raises:
        InvalidInput: there is no such system, it cannot be imported or made, or what is made is no
            System; or it needs a part that is missing.
    """
    return kind_of(name).open(parts)


def _own(name: str, parts: Parts) -> System:
    factory = _factory(name)
    try:
        system = factory(parts)
    except GraphMemError:
        raise
    except Exception as error:
        raise InvalidInput(
            f"{name!r} made no system: called with Parts it raised {_told(error)}"
        ) from error
    missing = [part for part in ("usage", "ingest", "ask", "close") if not hasattr(system, part)]
    if missing:
        raise InvalidInput(
            f"{name!r} made a {type(system).__name__}, which is no System: it lacks "
            f"{', '.join(missing)} (see graphmem.experiments.System)"
        )
    made: System = system
    return made


def _factory(name: str) -> Callable[[Parts], Any]:
    """What a dotted name stands for."""
    module, inside = place_of(name)
    if not module or not inside:
        raise InvalidInput(
            f"there is no system {name!r}: choose among {', '.join(SYSTEMS)}, or name your own as "
            "package.module:Factory"
        )
    try:
        found: Any = attrgetter(inside)(_module(module, name))
    except AttributeError as error:
        raise InvalidInput(f"system {name!r}: {module!r} has no {inside!r}") from error
    if not callable(found):
        raise InvalidInput(f"system {name!r} is a {type(found).__name__}: name what makes one")
    factory: Callable[[Parts], Any] = found
    return factory


def _module(module: str, name: str) -> ModuleType:
    here = str(Path.cwd())
    if not {"", here} & set(sys.path):
        sys.path.append(here)  # a console script does not look there by itself
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        told = _told(error)
        if _within(module, error.name or ""):
            told = f"there is no module {error.name!r} in the current folder or PYTHONPATH"
        raise InvalidInput(f"system {name!r}: {told}") from error
    except Exception as error:
        raise InvalidInput(
            f"system {name!r}: importing {module!r} raised {_told(error)}"
        ) from error


def _within(module: str, owner: str) -> bool:
    return module == owner or module.startswith(f"{owner}.")


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"

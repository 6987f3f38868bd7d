"""An extractor that keeps what it read on disk, so that no run pays for a reading twice."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

from graphmem.experiments.reading import usage_of
from graphmem.extraction import checked_extractions
from graphmem.identity import content_id
from graphmem.types import Extraction, Extractor, Passage, Triple, Usage

__all__ = ["CachedExtractor"]


@dataclass(frozen=True, slots=True)
class _Kept:
    """An extraction as kept, and what the call that made it has cost, once for the call."""

    extraction: Extraction
    cost: Usage


class CachedExtractor:
    """Another extractor's readings, each kept as a line of JSON as soon as its call is back.

    A reading is known again by the extractor's name, the passage's words, speaker, role, title and
    time, and those of the passages before it: not by the others of its batch, though a model may
    have looked at them too. A run that was killed goes on where it stood; a line that was cut off
    is read again. What failed is not kept.

    Safe to call from several threads. Several processes may add to one folder at a time: at worst
    both pay for the same passage.

    Args:
        extractor: reads what is not known yet. Its name must tell model and prompt apart.
        folder: made where it is missing; holds one file for each extractor's name. None: readings
            are kept in this object alone.
    """

    def __init__(self, extractor: Extractor, folder: str | Path | None) -> None:
        self._extractor = extractor
        self._charged = usage_of(extractor)
        self._usage = Usage()
        self._served: set[str] = set()
        self._lock = threading.Lock()
        self._file: Path | None = None
        self._kept: dict[str, _Kept] = {}
        if folder is not None:
            name = re.sub(r"[^\w.-]+", "_", extractor.name)
            self._file = Path(folder) / f"{name}.extractions.jsonl"
            self._kept = _load(self._file)

    @property
    def name(self) -> str:
        """The other extractor's."""
        return self._extractor.name

    @property
    def usage(self) -> Usage:
        """What the readings given out so far have cost when they were made, now or in an old run.

        The cost of a call is kept with one of its passages; calls that failed count too.
        """
        with self._lock:
            return self._usage

    def extract(self, passages: Sequence[Passage]) -> Sequence[Extraction]:
        """What is known of each passage, and what the other extractor makes of the rest."""
        keys = [_key(self.name, passage) for passage in passages]
        with self._lock:
            known = {key: self._kept[key] for key in keys if key in self._kept}
        missing = {
            key: passage for key, passage in zip(keys, passages, strict=True) if key not in known
        }
        if missing:
            batch = list(missing.values())
            made = checked_extractions(self._extractor.extract(batch), batch)
            known |= self._keep(dict(zip(missing, made, strict=True)))
        with self._lock:
            for key in known.keys() - self._served:
                self._usage += known[key].cost
            self._served |= known.keys()
        return [
            replace(known[key].extraction, passage_id=passage.id)
            for key, passage in zip(keys, passages, strict=True)
        ]

    def _keep(self, made: Mapping[str, Extraction]) -> dict[str, _Kept]:
        with self._lock:
            # All that the model has cost since the last call came back: exact in sum, though calls
            # that run at a time are told apart by their end only.
            cost = usage_of(self._extractor) - self._charged
            self._charged += cost
            found: dict[str, _Kept] = {}
            for key, extraction in made.items():
                if extraction.error is None:
                    found[key] = self._kept[key] = _Kept(extraction, cost)
                    cost = Usage()
                else:
                    found[key] = _Kept(extraction, Usage())
            self._usage += cost  # where all failed
            self._write([(key, one) for key, one in found.items() if key in self._kept])
        return found

    def _write(self, rows: Sequence[tuple[str, _Kept]]) -> None:
        if self._file is None or not rows:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{_line(key, one)}\n" for key, one in rows)
        with self._file.open("a+b") as file:
            if file.tell() and not _ends_line(self._file):
                lines = f"\n{lines}"  # a run was killed amid a line
            file.write(lines.encode())


def _key(name: str, passage: Passage) -> str:
    spoken = (*passage.before, passage)
    return content_id("x", name, *(part for one in spoken for part in _said(one)))


def _said(passage: Passage) -> tuple[str, ...]:
    at = passage.said_at.isoformat() if passage.said_at else ""
    return (passage.role, passage.speaker, at, passage.title, passage.text)


def _line(key: str, kept: _Kept) -> str:
    triples = [list(astuple(triple)) for triple in kept.extraction.triples]
    content = {"key": key, "triples": triples, "dropped": kept.extraction.dropped}
    if kept.cost != Usage():
        content["cost"] = astuple(kept.cost)
    return json.dumps(content, ensure_ascii=False)


def _load(file: Path) -> dict[str, _Kept]:
    found: dict[str, _Kept] = {}
    if file.is_file():
        for line in file.read_bytes().split(b"\n"):
            try:
                content = json.loads(line)
                found[content["key"]] = _read(content)
            except (ValueError, TypeError, KeyError):  # cut off: it will be read again
                continue
    return found


def _read(content: Mapping[str, Any]) -> _Kept:
    triples = tuple(Triple(*parts) for parts in content["triples"])
    extraction = Extraction("", triples, dropped=tuple(content["dropped"]))
    return _Kept(extraction, Usage(*content.get("cost", ())))


def _ends_line(file: Path) -> bool:
    with file.open("rb") as content:
        content.seek(-1, 2)
        return content.read() == b"\n"

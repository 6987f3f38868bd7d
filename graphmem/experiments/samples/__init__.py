"""Two small sets that ship with the package, to try the harness on: all in them is invented.

``documents`` are pages about ships, inventors, firms and towns of some islands; ``chat`` is what
somebody tells an assistant about a boat, in three conversations. They are written in the normal
form, with triples read by hand, and have questions of one, two and three hops. Too small to judge
a system by, they show how a set is written and what a run looks like.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import resources

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import DataSet
from graphmem.experiments.formats import load_dataset

__all__ = ["SAMPLES", "load_sample"]

SAMPLES = ("documents", "chat")
"""The names that ``load_sample`` knows."""


def load_sample(name: str) -> DataSet:
    """The sample set of that name.

    Raises:
        InvalidInput: there is none.
    """
    if name not in SAMPLES:
        raise InvalidInput(f"there is no sample {name!r}: choose among {', '.join(SAMPLES)}")
    with resources.as_file(resources.files(__name__) / f"{name}.json") as path:
        return replace(load_dataset(path, "normal"), name=name)

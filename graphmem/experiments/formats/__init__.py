"""Reading data sets from files, in the formats in which they are published.

``load_dataset`` tells the format by what stands in the file; ``FORMATS`` lists those it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import DataSet
from graphmem.experiments.formats import hipporag, hotpot, locomo, longmemeval, musique, normal
from graphmem.experiments.formats.source import Source, read_json

__all__ = ["FORMATS", "Format", "load_dataset"]


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write a data set down.

    Attributes:
        about: what the files of this format are.
        fits: whether a source looks like one; its fields may still be wrong.
        read: the set in a source; raises InvalidInput naming file, record and field.
        reads_folders: whether a folder can be named, and not only a file.
    """

    about: str
    fits: Callable[[Source], bool]
    read: Callable[[Source], DataSet]
    reads_folders: bool = False


FORMATS: Mapping[str, Format] = {
    # Its questions look like those of other sets: the corpus beside them tells.
    "hipporag": Format(
        "a questions' file X.json with X_corpus.json beside it, or their folder",
        hipporag.fits,
        hipporag.read,
        reads_folders=True,
    ),
    "normal": Format("an object with passages and queries", normal.fits, normal.read),
    "locomo": Format("samples with a conversation and qa", locomo.fits, locomo.read),
    "longmemeval": Format("questions with haystack_sessions", longmemeval.fits, longmemeval.read),
    "musique": Format("questions with paragraphs", musique.fits, musique.read),
    "hotpot": Format(
        "HotpotQA's and 2WikiMultihopQA's questions with context and supporting_facts",
        hotpot.fits,
        hotpot.read,
    ),
}
"""The known formats by name; the first one that fits a file is its format."""


def load_dataset(path: str | Path, format: str | None = None) -> DataSet:
    """Read a data set.

    Args:
        path: a file, or for ``hipporag`` the folder that holds its files.
        format: a name out of ``FORMATS``; told by the content where omitted.

    Raises:
        NotFound: there is no such file.
        InvalidInput: it is of no known format, or something in it is wrong; the message names
            file, record and field.
    """
    path = Path(path)
    if format is not None and format not in FORMATS:
        raise InvalidInput(f"there is no format {format!r}: choose among {', '.join(FORMATS)}")
    is_folder = path.is_dir()
    source = Source(path, None if is_folder else read_json(path))
    chosen = FORMATS[format] if format is not None else _told(source)
    if is_folder and not chosen.reads_folders:
        raise InvalidInput(f"{path} is a folder: name the file in it that is of format {format}")
    data = chosen.read(source)
    if not data.records:
        raise InvalidInput(f"{data.name}: there is no passage in it")
    return data


def _told(source: Source) -> Format:
    for one in FORMATS.values():
        if one.fits(source):
            return one
    if source.path.is_dir():
        raise InvalidInput(f"{source.name} is a folder, not one of HippoRAG's: name a file in it")
    known = "; ".join(f"{name} ({one.about})" for name, one in FORMATS.items())
    raise InvalidInput(f"{source.name} is of no known format. Known are: {known}")

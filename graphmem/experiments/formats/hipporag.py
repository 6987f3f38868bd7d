"""HippoRAG's own files: a corpus, questions, and what a model read in the corpus (OpenIE results).

Named by the questions' file ``X.json``, or by a folder that holds one such set. Beside it lies
``X_corpus.json``, a list of passages with title and text (in HippoRAG 1 also an object of titles
with their sentences). The results of OpenIE, ``openie_results_ner_*.json`` (in HippoRAG 1
``openie_X_results_ner_*.json``), lie there too, in a folder ``X``, or where HippoRAG puts them:
``outputs/X`` beside ``reproduce``, ``output`` beside ``data``. Without them the set has no triples.

Questions say in one of four ways which passages answer them: ``paragraphs`` (as MuSiQue),
``contexts`` (the same), ``supporting_facts`` with ``context`` (as HotpotQA), or ``gold_docs``
(whole passages, title line first).
"""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import DataSet, Question
from graphmem.experiments.formats.documents import Pool, paragraphs, question, question_id
from graphmem.experiments.formats.fields import (
    Fields,
    is_triple,
    objects,
    shown,
    some_list,
    text,
    texts,
    triples,
    wording,
)
from graphmem.experiments.formats.hotpot import passages, supporting_titles
from graphmem.experiments.formats.source import Source, read_json
from graphmem.identity import clean_text
from graphmem.types import Triple

__all__ = ["fits", "read"]

_CORPUS = "_corpus.json"


def fits(source: Source) -> bool:
    """Whether a corpus lies in the folder, or beside the questions."""
    if source.path.is_dir():
        return any(source.path.glob(f"*{_CORPUS}"))
    return isinstance(source.content, list) and _corpus_path(source.path).is_file()


def read(source: Source) -> DataSet:
    """The set of the questions' file, or of the folder.

    Triples that are not three texts are left out and counted, as in published work.
    """
    path, rows = source.path, source.rows
    if path.is_dir():
        path = _questions_path(path)
        rows = Source(path, read_json(path)).rows
    left_out: Counter[str] = Counter()
    pool = _corpus(_corpus_path(path), left_out)
    recorded = _openie(path, pool, left_out)
    questions: dict[str, Question] = {}
    for number, fields in enumerate(objects(path.name, "", rows)):
        key = question_id(fields, number, questions)
        questions[key] = question(fields, key, _gold(fields, pool))
    return DataSet(path.name, pool.records(recorded), tuple(questions.values()), dict(+left_out))


def _corpus_path(questions: Path) -> Path:
    return questions.with_name(f"{questions.stem}{_CORPUS}")


def _questions_path(folder: Path) -> Path:
    corpora = sorted(folder.glob(f"*{_CORPUS}"))
    found = [folder / f"{path.name.removesuffix(_CORPUS)}.json" for path in corpora]
    found = [path for path in found if path.is_file()]
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise InvalidInput(
            f"the folder {folder.name} must hold one X.json with its X{_CORPUS}, not {names}: "
            "name the questions' file"
        )
    return found[0]


def _corpus(path: Path, left_out: Counter[str]) -> Pool:
    if not path.is_file():
        raise InvalidInput(f"{path.name} is missing: it must lie beside the questions")
    pool = Pool()
    for title, words in _documents(path):
        known = len(pool)
        pool.add(title, words)
        left_out["repeated passages"] += len(pool) == known
    return pool


def _documents(path: Path) -> Iterator[tuple[str, str]]:
    content = read_json(path)
    if isinstance(content, dict):
        fields = Fields(path.name, "the file", content)
        for title in fields:
            yield clean_text(title), " ".join(part.strip() for part in fields.get(title, texts))
        return
    if not isinstance(content, list):
        raise InvalidInput(f"{path.name} must be a list of passages")
    for fields in objects(path.name, "", content):
        title, words = fields.get("title", wording, ""), fields.get("text", wording)
        if not f"{title}{words}".strip():
            raise fields.wrong("text", "a passage must have a title or a text")
        yield title, words


def _gold(fields: Fields, pool: Pool) -> list[str]:
    name, found = _gold_texts(fields)
    gold = []
    for full_text in found:
        passage = pool.find(full_text)
        if passage is None:
            raise fields.wrong(name, f"{shown(full_text)} is no passage of the corpus")
        gold.append(passage)
    if not gold:
        raise fields.wrong(name, "no passage of it answers the question")
    return gold


def _gold_texts(fields: Fields) -> tuple[str, list[str]]:
    """The field that says which passages answer a question, and their title lines and texts."""
    if "gold_docs" in fields:
        return "gold_docs", fields.get("gold_docs", texts)
    if "supporting_facts" in fields:
        own = dict(passages(fields))
        titles = supporting_titles(fields)
        for title in titles:
            if title not in own:
                raise fields.wrong("supporting_facts", f"{shown(title)} is not in the context")
        return "supporting_facts", [f"{title}\n{own[title]}" for title in titles]
    for name in ("contexts", "paragraphs"):
        if name in fields:
            return name, [
                f"{one.title}\n{one.text}"
                for one in paragraphs(fields, name, is_supporting=True)
                if one.is_supporting
            ]
    raise fields.wrong(
        "paragraphs", "missing, and so are contexts, supporting_facts and gold_docs: one is needed"
    )


def _openie(questions: Path, pool: Pool, left_out: Counter[str]) -> dict[str, list[Triple]]:
    recorded: dict[str, list[Triple]] = {}
    path = _openie_path(questions)
    if path is None:
        return recorded
    content = Fields(path.name, "the file", read_json(path))
    for fields in content.each("docs"):
        passage = pool.find(fields.get("passage", text))
        if passage is None:
            left_out["OpenIE passages that are not in the corpus"] += 1
            continue
        items = fields.get("extracted_triples", some_list)
        if passage in recorded:
            continue
        whole = [item for item in items if is_triple(item)]
        left_out["malformed triples"] += len(items) - len(whole)
        recorded[passage] = triples(whole)
    return recorded


def _openie_path(questions: Path) -> Path | None:
    name, pattern = questions.stem, glob.escape(questions.stem)
    beside = questions.resolve().parent
    folders = (beside, beside / name, beside.parent.parent / "outputs" / name)
    for folder in (*folders, beside.parent / "output"):
        found = sorted(
            {
                *folder.glob(f"openie_{pattern}_results_ner_*.json"),
                *folder.glob("openie_results_ner_*.json"),
            }
        )
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise InvalidInput(
                f"several OpenIE results belong to {questions.name}: keep one of {names}"
            )
        if found:
            return found[0]
    return None

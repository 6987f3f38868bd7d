"""Ellipsis: an answer says only what the question left open.

"Where do you live?" "In Lyon" states that the one who answers lives in Lyon; "Is she Danish?" "Yes"
states what was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphmem.extractors.rules import lexicon, phrases, verbs
from graphmem.extractors.rules.clauses import Reader
from graphmem.extractors.rules.words import Parse, Sentence
from graphmem.types import Triple

__all__ = ["Question", "answer", "question"]

_LONGEST_ANSWER = 5
_WH_SUBJECT = frozenset("who what which".split())
_WH = frozenset("who what where when why how which whose whom".split())


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked.

    Attributes:
        subjects: of whom or what; empty where that is the question.
        predicate: how the answer relates to it.
        stated: what a "yes" states; empty for a question that no "yes" answers.
        objects: what the asked-for subject relates to, where the subject is the question.
    """

    subjects: tuple[str, ...]
    predicate: str
    stated: tuple[Triple, ...] = ()
    objects: tuple[Triple, ...] = ()


def question(reader: Reader) -> Question | None:
    """The last question of a text, or ``None``."""
    parse = reader.parse
    asked = [
        sentence
        for sentence in parse.sentences
        if sentence.is_readable and verbs.is_question(parse, sentence)
    ]
    if not asked or asked[-1] not in parse.sentences[-2:]:
        return None
    return _read(reader, asked[-1])


def _read(reader: Reader, sentence: Sentence) -> Question | None:
    parse, root = reader.parse, sentence.root
    if parse[root].pos not in ("VERB", "AUX"):
        names = tuple(reader.names(root)) if phrases.is_noun(parse, root) else ()
        return Question(names, "is") if names else None
    wh = next((at for at in range(sentence.start, sentence.end) if parse[at].lower in _WH), None)
    subject = parse.child(root, "nsubj", "nsubjpass")
    if subject is not None and parse[subject].lower in _WH_SUBJECT:
        return Question((), "", objects=_open(reader, root))
    subjects = tuple(reader.subjects(root))
    if not subjects:
        return None
    predicate = _predicate(reader, root)
    stated = tuple(reader.clause(root)) if wh is None else ()
    return Question(subjects, predicate, stated)


def _predicate(reader: Reader, root: int) -> str:
    verb = verbs.chain(reader.parse, root)[-1]
    words = reader.predicate(verb)
    target = reader.parse.child(verb, "dobj")
    if target is not None and reader.parse[target].lower not in _WH:
        words += "".join(f" {name}" for name in reader.names(target)[:1])
    for prep in reader.parse.children(verb, "prep"):
        if reader.parse.child(prep, "pobj") is None:
            words += f" {reader.parse[prep].lower}"
    return words


def _open(reader: Reader, root: int) -> tuple[Triple, ...]:
    """What a question about the subject relates the subject to, with an empty subject."""
    return tuple(
        Triple("", words, target, positive) for words, target, positive in reader.complements(root)
    )


def answer(reader: Reader, asked: Question) -> Iterator[Triple]:
    """What a text's first sentences, as far as they are no clauses, state in answer."""
    for at, sentence in enumerate(reader.parse.sentences[:_LONGEST_ANSWER]):
        words = [i for i in range(sentence.start, sentence.end) if reader.parse[i].pos != "PUNCT"]
        if not words or not sentence.is_readable or verbs.is_question(reader.parse, sentence):
            return
        first = reader.parse[words[0]].lower
        if at == 0 and (first in lexicon.YES or first in lexicon.NO):
            for triple in asked.stated:
                yield replace(triple, polarity=triple.polarity == (first in lexicon.YES))
            if len(words) == 1:
                continue
        if reader.parse[sentence.root].pos in ("VERB", "AUX") or _has_clause(
            reader.parse, sentence
        ):
            return
        yield from _fragment(reader, sentence.root, asked)


def _has_clause(parse: Parse, sentence: Sentence) -> bool:
    return any(
        parse[at].dep in ("nsubj", "nsubjpass") for at in range(sentence.start, sentence.end)
    )


def _fragment(reader: Reader, root: int, asked: Question) -> Iterator[Triple]:
    parse = reader.parse
    if parse[root].pos == "ADP":
        for words, target, positive in reader.prepositional(root, asked.predicate):
            for subject in asked.subjects:
                yield Triple(subject, words, target, positive)
        return
    if not (phrases.is_noun(parse, root) or parse[root].pos == "ADJ"):
        return
    for name in reader.names(root):
        for subject in asked.subjects:
            yield Triple(subject, asked.predicate, name)
        for triple in asked.objects:
            yield replace(triple, subject=name)

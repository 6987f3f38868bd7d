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
    is_offer = any(parse[child].tag == "MD" for child in parse.children(root, "aux"))
    stated = () if is_offer or wh is not None else tuple(reader.clause(root))
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
    if reader.parse.child(root, "aux") is not None and words.startswith(("did ", "does ", "do ")):
        words = words.split(" ", 1)[1]
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
        end = _clause_start(reader.parse, sentence)
        top = _top(reader.parse, range(sentence.start, end))
        if top is not None:
            yield from _fragment(reader, top, asked)
        if end < sentence.end:
            return


def _clause_start(parse: Parse, sentence: Sentence) -> int:
    """Where the part that is no clause ends: at the first comma before one, or nowhere."""
    words = range(sentence.start, sentence.end)
    if parse[sentence.root].pos not in ("VERB", "AUX") and not any(
        parse[at].dep in ("nsubj", "nsubjpass") for at in words
    ):
        return sentence.end
    comma = next((at for at in words if parse[at].text in (",", ";", ":", "-")), sentence.start)
    opening = range(sentence.start, comma)
    has_verb = any(parse[at].pos in ("VERB", "AUX") or parse[at].dep == "mark" for at in opening)
    return sentence.start if has_verb else comma


def _top(parse: Parse, words: range) -> int | None:
    """The word of a stretch of text that governs the others."""
    tops = (at for at in words if parse[at].head not in words or parse[at].head == at)
    return next((at for at in tops if parse[at].pos not in ("PUNCT", "INTJ", "CCONJ")), None)


def _fragment(reader: Reader, root: int, asked: Question) -> Iterator[Triple]:
    parse = reader.parse
    day = reader.day_at(root)
    if day is not None:
        words = (
            asked.predicate
            if asked.predicate.endswith((" on", " in"))
            else (f"{asked.predicate} {'on' if day.day else 'in'}")
        )
        for subject in asked.subjects:
            yield Triple(subject, words, str(day), valid_from=day.iso)
        return
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

"""One-hop look-ups made from recorded triples: facts asked back in other words.

They measure what a graph must not spoil: questions that a single passage answers.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from graphmem.errors import InvalidInput
from graphmem.experiments.dataset import DataSet, Question, Record
from graphmem.experiments.lookups.english import has_day, kind_of
from graphmem.experiments.lookups.rewording import (
    PEOPLE_AS_OBJECTS,
    PEOPLE_AS_SUBJECTS,
    SYMMETRIC,
    relation,
    reworded,
)
from graphmem.identity import normal_form
from graphmem.types import Scope, Triple

__all__ = ["lookups"]

_MAX_WORDS = 8  # of an end: longer ones are sentences
_MIN_LETTERS = 2
# A subject is asked for where few passages know the object: what is in Europe, has no end.
_MAX_PASSAGES = 4
# Words that only point at a name.
_POINTING = frozenset(
    """
    he she it they we i you him her them us his hers its their theirs our my your this that these
    those who which what someone somebody something one another other others such both each
    """.split()
)

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A question that could be asked, what it asks for and what it gives."""

    relation: str
    given: str
    is_new: bool
    question: Question


def lookups(data: DataSet, count: int = 200, seed: int = 0) -> DataSet:
    """A data set of the same records, and questions that one recorded triple answers each.

    A triple can be asked for if one passage of its scope alone says that of its subject (or of its
    object, where the subject is asked for). Questions ask for objects and subjects in turn, and are
    spread over scopes, passages and kinds of facts. Those that say a predicate in other words come
    first; where there are too few, roles are asked for in another order ("vet of": "Who is Bolt's
    vet?"). Triples whose ends are no names (pronouns, sentences, single letters) are passed over.

    Args:
        data: records with triples; its own questions are not kept.
        count: how many questions; fewer where the triples do not yield as many.
        seed: draws triples and wordings; the same seed draws the same.

    Returns:
        Questions of kind "object" or "subject", by what they ask for, with one hop; gold are the
        records with a triple of these two ends.

    Raises:
        InvalidInput: no triple can be asked for.
    """
    if count < 1:
        raise InvalidInput(f"count must be at least 1, not {count}")
    rng = random.Random(seed)
    by_scope: dict[Scope, list[int]] = defaultdict(list)
    for place, record in enumerate(data.records):
        if record.triples:
            by_scope[record.scope].append(place)
    by_record: dict[int, list[_Candidate]] = {}
    for _, places in sorted(by_scope.items()):
        known = _Known([data.records[place] for place in places])
        for place in places:
            by_record[place] = list(_candidates(data.records[place], known, rng))
        rng.shuffle(places)
    turns = chain.from_iterable(zip_longest(*by_scope.values()))
    drawn = _drawn([by_record[place] for place in turns if place is not None], count)
    if not drawn:
        raise InvalidInput(f"{data.name}: none of its recorded triples can be asked for")
    questions = tuple(
        replace(one.question, id=f"lookup-{number}") for number, one in enumerate(drawn)
    )
    return DataSet(f"look-ups of {data.name}", data.records, questions, data.left_out)


def _drawn(by_record: Sequence[Sequence[_Candidate]], count: int) -> list[_Candidate]:
    """Candidates drawn round by round, one a record, of the kind of fact least asked for so far.

    Objects and subjects are asked for in turn, until one of them has run out.
    """
    drawn: list[_Candidate] = []
    used: Counter[str] = Counter()
    asked: set[_Key] = set()
    for is_new, in_turn in ((True, True), (True, False), (False, True), (False, False)):
        before = -1
        while before < len(drawn) < count:
            before = len(drawn)
            for candidates in by_record:
                wanted = ("object", "subject")[len(drawn) % 2]
                found = [
                    one
                    for one in candidates
                    if one.is_new == is_new
                    and (one.question.kind == wanted or not in_turn)
                    and (one.relation, one.given) not in asked
                ]
                if found and len(drawn) < count:
                    best = min(found, key=lambda one: used[one.relation])
                    drawn.append(best)
                    used[best.relation] += 1
                    asked.add((best.relation, best.given))
    return drawn


class _Known:
    """What the passages of a scope say, and how many of them."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._saying: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        self._naming: dict[str, set[str]] = defaultdict(set)
        self._pairs: dict[_Key, dict[str, None]] = defaultdict(dict)
        self._people: set[str] = set()
        for record in records:
            if record.message.speaker:
                self._people.add(normal_form(record.message.speaker))
            for triple in record.triples:
                self._add(record.id, triple)

    def _add(self, record_id: str, triple: Triple) -> None:
        subject, object_ = normal_form(triple.subject), normal_form(triple.object)
        for asks in ("object", "subject"):
            for key in _keys(triple, asks):
                self._saying[key].add(record_id)
        self._naming[subject].add(record_id)
        self._naming[object_].add(record_id)
        self._pairs[subject, object_][record_id] = None
        said = relation(triple)
        if said in PEOPLE_AS_SUBJECTS:
            self._people.add(subject)
        if said in PEOPLE_AS_OBJECTS:
            self._people.add(object_)

    def is_alone(self, triple: Triple, asks: str) -> bool:
        """Whether no other passage says the same of the given end, nor has these words of it."""
        return all(len(self._saying[key]) == 1 for key in _keys(triple, asks))

    def naming(self, name: str) -> int:
        """How many passages have triples with that end."""
        return len(self._naming[normal_form(name)])

    def stating(self, triple: Triple) -> tuple[str, ...]:
        """Ids of the records with a triple of these two ends."""
        first, second = normal_form(triple.subject), normal_form(triple.object)
        found = dict(self._pairs[first, second])
        if relation(triple) in SYMMETRIC:
            found.update(self._pairs.get((second, first), {}))
        return tuple(found)

    def is_person(self, name: str) -> bool:
        """Whether a name is a speaker's, or something that only people do is said of it."""
        return normal_form(name) in self._people


def _keys(triple: Triple, asks: str) -> Iterator[tuple[str, str, str]]:
    """What is said of the end that a question gives: by what it means, and by its words."""
    given = normal_form(triple.subject if asks == "object" else triple.object)
    said = relation(triple)
    yield given, said, "" if said in SYMMETRIC else asks
    yield given, f"literally {normal_form(triple.predicate)}", asks


def _candidates(record: Record, known: _Known, rng: random.Random) -> Iterator[_Candidate]:
    triples = list(dict.fromkeys(record.triples))
    rng.shuffle(triples)
    for triple in triples:
        yield from _asked(record, triple, known, rng)


def _asked(
    record: Record, triple: Triple, known: _Known, rng: random.Random
) -> Iterator[_Candidate]:
    found = reworded(triple, known.is_person)
    if found is None or _overlap(triple.subject, triple.object):
        return
    ways = (
        ("object", triple.subject, triple.object, found.about),
        ("subject", triple.object, triple.subject, found.of),
    )
    gold = known.stating(triple)
    for asks, given, answer, wordings in ways:
        is_askable = _is_name(given, known, asks) and _is_answer(answer)
        if wordings and is_askable and known.is_alone(triple, asks):
            text = rng.choice(wordings)
            question = Question("", record.scope, text, gold, kind=asks, hops=1, answer=answer)
            told = f"{asks} of {normal_form(given)}"
            yield _Candidate(found.relation, told, found.is_new, question)


def _is_answer(name: str) -> bool:
    parts = normal_form(name).split()
    letters = sum(char.isalnum() for char in name)
    is_short = 1 <= len(parts) <= _MAX_WORDS
    return is_short and letters >= _MIN_LETTERS and not _POINTING & set(parts[:1])


def _is_name(given: str, known: _Known, asks: str) -> bool:
    """Whether a question can be asked of this: a name, told by its capitals or its script.

    Where it asks for a subject, the name must narrow down what is said of it: people do, and names
    that few passages know; a whole date does as well.
    """
    kind = kind_of(given)
    if kind != "any" or not _is_answer(given):
        return asks == "subject" and kind == "time" and has_day(given) and len(given.split()) > 1
    if not any(char.isupper() or char.lower() == char.upper() for char in given if char.isalpha()):
        return False
    return asks == "object" or known.is_person(given) or known.naming(given) <= _MAX_PASSAGES


def _overlap(first: str, second: str) -> bool:
    """Whether a question would hold its answer."""
    one, other = normal_form(first), normal_form(second)
    return f" {one} " in f" {other} " or f" {other} " in f" {one} "

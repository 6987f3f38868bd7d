"""Steps of paths in words: which rows a trail needs, and what each of its legs means."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from graphmem.explanation import Path, Place, PlaceKind, Quote, Step, why_withheld
from graphmem.identity import normal_form
from graphmem.passages import sentences
from graphmem.recall.chain import Rows
from graphmem.recall.ways import Leg, Spot, Trail
from graphmem.types import Fact, Passage
from graphmem.words import terms, words

__all__ = ["needed", "worded"]


def needed(trails: Iterable[Trail]) -> tuple[list[str], list[str], list[str]]:
    """Ids of the passages, facts and entities that trails are told with; some more than once."""
    legs = [leg for trail in trails for leg in trail.legs]

    def passed(kind: PlaceKind) -> list[str]:
        return [id_ for leg in legs for name, id_ in (leg.source, leg.target) if name == kind]

    return (
        passed("passage") + [id_ for leg in legs for id_ in leg.passages],
        passed("fact") + [id_ for leg in legs for id_ in leg.facts],
        passed("entity") + [id_ for leg in legs for id_ in leg.names],
    )


def worded(trails: Sequence[Trail], query: str, rows: Rows) -> tuple[Path, ...]:
    """Trails as paths; one that leads over what was forgotten meanwhile is left out.

    Args:
        trails: by ids.
        query: the question.
        rows: what is ``needed``, as far as it is still there.
    """
    asked = _spelled(query)
    paths = []
    for trail in trails:
        spelled = [
            replace(
                leg,
                terms=tuple(asked.get(term, term) for term in leg.terms),
                beside=tuple(asked.get(term, term) for term in leg.beside),
            )
            for leg in trail.legs
        ]
        steps = [_step(leg, query, rows) for leg in spelled]
        known = tuple(step for step in steps if step is not None)
        if len(known) == len(steps):
            paths.append(Path(known, trail.share, trail.part))
    return tuple(paths)


def _spelled(query: str) -> dict[str, str]:
    """The terms of a question, each by the first of its words that has it."""
    return {term: word for word in reversed(words(query)) for term in terms([word])}


def _step(leg: Leg, query: str, rows: Rows) -> Step | None:
    """A leg in words; None where an end of it is not there any more."""
    source, target = (_place(spot, query, rows) for spot in (leg.source, leg.target))
    facts = tuple(rows.facts[id_] for id_ in leg.facts if id_ in rows.facts)
    if source is None or target is None or len(facts) < len(leg.facts):
        return None
    names = [rows.entities[id_].name for id_ in leg.names if id_ in rows.entities]
    said = [rows.passages[id_] for id_ in leg.passages if id_ in rows.passages]
    quotes = tuple(_quote(one, [fact for fact in facts if one.id in fact.passages]) for one in said)
    meaning = _meaning(leg, facts, names, set(terms(words(target.text))))
    return Step(leg.kind, source, target, leg.weight, meaning, facts, quotes)


def _place(spot: Spot, query: str, rows: Rows) -> Place | None:
    kind, id_ = spot
    if kind == "question":
        return Place(kind, "", query)
    if kind == "fact":
        return Place(kind, id_, rows.facts[id_].text) if id_ in rows.facts else None
    if kind == "entity":
        return Place(kind, id_, rows.entities[id_].name) if id_ in rows.entities else None
    return Place(kind, id_, rows.passages[id_].full_text) if id_ in rows.passages else None


def _meaning(
    leg: Leg, facts: Sequence[Fact], names: Sequence[str], target_terms: Collection[str]
) -> str:
    if leg.kind == "fits":
        return "the fact fits the question"
    if leg.kind == "names":
        return "the question names it"
    if leg.kind == "end":
        return "the fact is about it"
    if leg.kind == "alike":
        return f"names alike, cosine {leg.sense:.2f}"
    if leg.kind == "fact":
        alike = f", and names alike, cosine {leg.sense:.2f}" if leg.sense else ""
        return f"{_stated(facts)}{alike}"
    if leg.kind == "mention":
        return f"the passage states: {_stated(facts)}"
    if leg.kind == "answers":
        return f"{_covered(leg, target_terms)}, similarity {leg.sense:.2f}"
    if leg.kind == "bridge":
        shared = f"both name {', '.join(names)}; " if names else ""
        return f"{shared}it adds {_added(leg, target_terms)}"
    new, old = (*facts, *facts)[:2]
    return f"it brings up to date: {old.text}; now: {new.text}"


def _stated(facts: Sequence[Fact]) -> str:
    return "; ".join(map(_with_standing, facts))


def _with_standing(fact: Fact) -> str:
    return fact.text if fact.is_live else f"{fact.text} ({why_withheld(fact)})"


def _covered(leg: Leg, own: Collection[str]) -> str:
    if not leg.terms:
        return "it shares no word with the question"
    return f"words of the question: {_heard(leg, own)} (covered {leg.share:.2f})"


def _heard(leg: Leg, own: Collection[str]) -> str:
    """The words of the question: the passage's own, those of its facts, those of its neighbours."""
    said = [word for word in leg.terms if all(term in own for term in terms([word]))]
    read = [word for word in leg.terms if word not in (*said, *leg.beside)]
    places = (("", said), ("in its facts ", read), ("beside it ", leg.beside))
    return ", ".join(f"{place}{', '.join(some)}" for place, some in places if some)


def _added(leg: Leg, own: Collection[str]) -> str:
    sense = f"sense {leg.sense:.2f}"
    return f"{_heard(leg, own)} and {sense}" if leg.terms else sense


def _quote(passage: Passage, facts: Sequence[Fact]) -> Quote:
    return Quote(
        passage.id,
        passage.message_id,
        passage.speaker,
        passage.said_at,
        _telling(passage, facts),
    )


def _telling(passage: Passage, facts: Sequence[Fact]) -> str:
    """The first sentence that names both ends of a fact, or all words of the passage.

    Who speaks of themselves names the other end.
    """
    text = passage.text
    speaker = normal_form(passage.speaker)
    for fact in facts:
        ends = [end for end in (fact.subject, fact.object) if normal_form(end) != speaker]
        wanted = {word for end in ends for word in words(end)}
        for start, end in sentences(text) if wanted else ():
            sentence = text[start:end].strip()
            if wanted <= set(words(sentence)):
                return sentence
    return text

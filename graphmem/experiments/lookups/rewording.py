"""Facts asked back in other words, by tables of English predicates and of what says the same.

A question takes one end of a triple and asks for the other. Its own words share no stem with the
predicate's where the tables (``rewordings.json``) know another way to say it; of the rest, roles
("vet of") are asked for in another order ("Who is Bolt's vet?"); what neither fits is not asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from graphmem.experiments.lookups.english import (
    Predicate,
    conjugated,
    has_day,
    is_participle,
    kind_of,
    parsed,
)
from graphmem.types import Triple
from graphmem.words import STOP_WORDS, terms, words

__all__ = [
    "PEOPLE_AS_OBJECTS",
    "PEOPLE_AS_SUBJECTS",
    "SYMMETRIC",
    "Rewording",
    "relation",
    "reworded",
]

PEOPLE_AS_SUBJECTS = frozenset(
    """
    birth-date birth-place death-date death-place death-cause grave home household employer job post
    boss student field teacher teaches spouse engaged couple separation child parent grandparent
    sibling relative friend colleague landlord writes directs composes roles fondness dislike
    allergy illness language religion visit buy eat drink wear bake cook knit sew read choose
    """.split()
)
"""Relations whose subjects are people, as ``relation`` names them."""

PEOPLE_AS_OBJECTS = frozenset(
    """
    author director composer cast role spouse engaged couple separation sibling parent child boss
    relative friend colleague teacher landlord meet
    """.split()
)
"""Relations whose objects are people."""

SYMMETRIC = frozenset(
    """
    spouse engaged couple separation sibling relative friend colleague household near border
    """.split()
)
"""Relations that hold both ways."""

# Roles that are asked for in another order where no rule rewords them.
_ROLE = re.compile(
    r"(?:[a-z-]+ ){0,2}(?:[a-z-]*(?:er|or|ist|ian|ant|eur|man|woman|ess|cian)|president|agent"
    r"|home|birthplace|site|seat|symbol|name|nickname|title|slogan|motto|colou?rs?|flag|hymn|anthem"
    r"|vet|chef|cook|nurse|judge|saint|patron|bride|groom|witness|guest|mascot|hero|ally|source"
    r"|voice|face|uncle|aunt|godfather|godmother|guide|coach|rival|heir|secretary)"
)
_THING = re.compile(r"(?:[a-z-]+ ){0,2}(?!like|across|near|towards?|along)[a-z-]+(?<!ed)(?<!ing)")
_SLOT = re.compile(r"\{\w+\}")


@dataclass(frozen=True, slots=True)
class Rewording:
    """Questions that a triple answers.

    They may be patterns yet: ``{s}`` and ``{o}`` are its ends; ``{Who}``, ``{Agent}`` and
    ``{What}`` depend on whether a person is asked for, ``{is}`` and ``{does}`` on the tense,
    ``{on}`` on the date.

    Attributes:
        relation: what is asked; the same for predicates that say the same.
        about: questions about the subject, which the object answers.
        of: questions about the object, which the subject answers.
        is_new: whether they say the predicate in other words, and not only in another order.
    """

    relation: str
    about: tuple[str, ...]
    of: tuple[str, ...]
    is_new: bool = True


def reworded(triple: Triple, is_person: Callable[[str], bool]) -> Rewording | None:
    """Questions that ask for one end of a triple by the other, in other words.

    Args:
        triple: a recorded fact.
        is_person: whether a name is somebody's: then it is asked for with "who".

    Returns:
        ``None`` where the tables know no way, or the triple denies something.
    """
    predicate = parsed(triple.predicate) if triple.polarity else None
    if predicate is None:
        return None
    slots = {
        "s": triple.subject,
        "o": triple.object,
        "on": "on" if has_day(triple.object) else "in",
        "is": "was" if predicate.tense == "past" else "is",
        "does": {"past": "did", "present": "does", "future": "will"}[predicate.tense],
    }
    for found in _patterns(triple.predicate, kind_of(triple.object)):
        about, of = (
            tuple(one.format(**slots, **_asking(is_person(end))) for one in questions)
            for questions, end in ((found.about, triple.object), (found.of, triple.subject))
        )
        return Rewording(found.relation, about, of, found.is_new)
    return None


def relation(triple: Triple) -> str:
    """What a triple says of its ends, the same for predicates that say the same."""
    for found in _patterns(triple.predicate, kind_of(triple.object)):
        return found.relation
    predicate = parsed(triple.predicate)
    return predicate.core if predicate else triple.predicate


def _asking(is_person: bool) -> Mapping[str, str]:
    if is_person:
        return {"Who": "Who", "Agent": "Who", "What": "Whom"}
    return {"Who": "What", "Agent": "Who or what", "What": "What"}


@lru_cache(maxsize=1 << 14)
def _patterns(predicate: str, kind: str) -> tuple[Rewording, ...]:
    """All ways to ask for the ends of a predicate, best first, that share none of its stems."""
    found = parsed(predicate)
    if found is None:
        return ()
    stems = terms(words(predicate)).keys()
    kept = []
    for one in _from_tables(found, kind):
        about, of = (
            tuple(text for text in questions if not stems & _own_stems(text))
            for questions in (one.about, one.of)
        )
        if about or of:
            kept.append(Rewording(one.relation, about, of))
    return (*kept, *_in_another_order(found, kind))


@lru_cache(maxsize=1 << 12)
def _own_stems(question: str) -> frozenset[str]:
    return frozenset(terms(words(_SLOT.sub(" ", question))))


def _from_tables(predicate: Predicate, kind: str) -> Iterator[Rewording]:
    if predicate.tense != "future":
        for rule in _rules():
            if rule.kind == kind and rule.pattern.fullmatch(predicate.core):
                yield Rewording(rule.relation, rule.about, rule.of)
    for verb in _verbs():
        if kind == verb.kind or (kind, verb.kind) == ("number", "any"):
            yield from _with_verb(verb, predicate)


def _with_verb(verb: _Verb, predicate: Predicate) -> Iterator[Rewording]:
    """How to ask with what says the same as a verb, if the predicate is a form of that verb."""
    form, _, tail = predicate.core.partition(" ")
    base, third, past, ing, participle = verb.forms
    name = f"{base} {verb.tails[0]}".strip()
    if tail == "by" and form in (past, participle) and predicate.auxiliary != "have":
        about = f"{{Agent}} {conjugated(verb.phrase, 1)} {{s}}?"
        yield Rewording(f"{name} by", (about,), (f"{{What}} did {{o}} {verb.phrase}?",))
    if tail not in verb.tails:
        return
    question, whole = verb.asks
    if form == ing and predicate.auxiliary == "be":
        about = f"{question} {{is}} {{s}} {conjugated(whole, 2)}?"
        of = f"{{Agent}} {{is}} {conjugated(verb.phrase, 2)} {{o}}?"
        yield Rewording(name, (about,), (of,))
    elif predicate.auxiliary != "be" and form in (base, third, past, participle):
        finite = {
            "future": f"will {verb.phrase}",
            "past": conjugated(verb.phrase, 1),
            "present": conjugated(verb.phrase, 0),
        }
        about = f"{question} {{does}} {{s}} {whole}?"
        yield Rewording(name, (about,), (f"{{Agent}} {finite[predicate.tense]} {{o}}?",))


def _in_another_order(predicate: Predicate, kind: str) -> Iterator[Rewording]:
    """Roles and possessions, asked for by the same noun."""
    core = predicate.core
    if kind == "any" and core.endswith(" of") and _is_noun(core[:-3], _ROLE):
        about = f"Whose {core[:-3]} {{is}} {{s}}?"
        yield Rewording(core, (about,), (f"{{Agent}} {{is}} {{o}}'s {core[:-3]}?",), is_new=False)
    elif core.startswith("has ") and _is_noun(core[4:], _THING):
        yield Rewording(core, (f"Which {core[4:]} has {{s}} got?",), (), is_new=False)


def _is_noun(phrase: str, pattern: re.Pattern[str]) -> bool:
    """Whether a phrase is of that pattern, begins with no verb and holds no little words."""
    parts = phrase.split()
    if not parts or is_participle(parts[0]) or STOP_WORDS & set(parts):
        return False
    return bool(pattern.fullmatch(phrase))


@dataclass(frozen=True, slots=True)
class _Rule:
    """Predicates that say the same, and how to ask for either end of them.

    ``pattern`` is matched with the predicate's core; ``kind`` is what the object must be, as
    ``kind_of`` tells it.
    """

    relation: str
    pattern: re.Pattern[str]
    kind: str
    about: tuple[str, ...]
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Verb:
    """A verb and what says the same.

    ``forms`` are base, he/she, past, -ing and participle; ``tails`` what may follow it; ``kind`` is
    what its object must be; ``phrase`` says the same before the object; ``asks`` is a question word
    and what says the same without an object.
    """

    forms: tuple[str, str, str, str, str]
    tails: tuple[str, ...]
    kind: str
    phrase: str
    asks: tuple[str, str]


@cache
def _tables() -> Mapping[str, Any]:
    path = Path(__file__).with_name("rewordings.json")
    tables: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables


@cache
def _rules() -> tuple[_Rule, ...]:
    return tuple(
        _Rule(
            relation=one["relation"],
            pattern=re.compile("|".join(one["predicates"])),
            kind=one["object"],
            about=tuple(one["about"]),
            of=tuple(one["of"]),
        )
        for one in _tables()["rules"]
    )


@cache
def _verbs() -> tuple[_Verb, ...]:
    verbs = []
    for one in _tables()["verbs"]:
        base, third, past, ing, *more = one["forms"]
        question, whole = one.get("asks", ("{What}", one["says"]))
        verbs.append(
            _Verb(
                forms=(base, third, past, ing, more[0] if more else past),
                tails=tuple(one.get("then", [""])),
                kind=one.get("object", "any"),
                phrase=one["says"],
                asks=(question, whole),
            )
        )
    return tuple(verbs)

"""What is meant by words that ask to forget: "forget that I live in Oslo", "everything about Bob".

No model is asked, and nothing is meant by likeness. An entity is meant where the words are its
name, a fact where it holds all of them, a passage where it says the same or, where no fact does,
holds all of them. What holds only some is shown and never meant. Words that mean two things mean
nothing: see ``the_one``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from graphmem import predicates
from graphmem.errors import Ambiguous
from graphmem.identity import normal_form, skeleton
from graphmem.types import Candidate, Entity, Fact, Passage
from graphmem.words import terms, words

__all__ = ["means_everything", "the_one", "wanted"]

# How many passages that hold only some of the words are shown.
NEAR = 5

_ASKED = re.compile(
    r"\s*(?:(?:please|kindly|now|ok|okay|hey|and|also|just)[\s,]+"
    r"|(?:can|could|would|will) you (?:please )?|i(?:'d| would)? (?:want|need|like|love) you to "
    r"|you (?:should|must|may|can) )*"
    r"(?:forget|delete|remove|erase|wipe|drop|unlearn|(?:don't|do not) (?:remember|keep))\b",
    re.IGNORECASE,
)
_ALL_ABOUT = re.compile(
    r"\s*(?:all of |all )?(?:everything|anything|all|whatever)\b(?:[^.!?]*?)\b(?:about|on|of)\s+",
    re.IGNORECASE,
)
_EVERYTHING = re.compile(
    r"(?:absolutely )?(?:everything|it all|all(?: of (?:it|this|that))?"
    r"|(?:all (?:of )?|the whole |the entire )?(?:my |your |the )?(?:memory|memories))"
    r"(?:,? (?:that )?(?:you (?:know|have|remember|stored)|i(?:'ve| have)? (?:ever )?(?:told|said)"
    r"(?: to)?(?: you)?))?(?: (?:about|of|on) (?:me|myself))?",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"\s*(?:(?:(?:that|the|this) (?:fact|thing|bit|part|stuff|story) (?:about|that|with|where|of)"
    r"|about|that|it that|what i (?:said|told you|wrote)(?: about)?"
    r"|my message (?:about|that))\s+)+",
    re.IGNORECASE,
)
_TRAIL = re.compile(
    r"(?:[\s,]+(?:please|thanks|thank you|again"
    r"|from (?:your |the |my )?(?:memory|notes|records?)))*[\s.!?]*\Z",
    re.IGNORECASE,
)
_ME = frozenset({"i", "me", "my", "mine", "myself", "i'm", "i've", "i'd"})
_NOT = re.compile(r"\b(?:not|no longer|never|no)\b|n't\b", re.IGNORECASE)


def wanted(
    query: str,
    *,
    me: Collection[str],
    facts: Iterable[Fact],
    entities: Iterable[Entity],
    passages: Sequence[Passage],
) -> list[Candidate]:
    """What words may mean that ask to forget: what is meant first, with a score of 1.

    Args:
        query: the words.
        me: who says "I".
        facts: of the scope.
        entities: of the scope.
        passages: of the scope.

    Returns:
        Candidates with a score of 1 where the words mean them (several: they are ambiguous), and
        below it, with the share of the words that they hold, a few others.
    """
    bare, is_all = _bare(query)
    named = [one for one in entities if skeleton(one.name) == skeleton(bare)]
    if named:
        return [Candidate("entity", one.id, one.name, "it has this name", 1.0) for one in named]
    asked = set(terms(words(bare)))
    if is_all or not asked:
        return _near(asked, passages)
    meant = [
        Candidate("fact", one.id, one.text, "it holds all of the words", 1.0)
        for one in _facts(bare, asked, me, facts)
    ]
    meant += [
        Candidate("passage", one.id, one.text, "it says the same", 1.0)
        for one in passages
        if _plain(one.text) == _plain(bare) and _may_say(one.speaker, bare, me)
    ]
    if not meant:
        meant = [
            Candidate("passage", one.id, one.text, "it holds all of the words", 1.0)
            for one in passages
            if _holds(asked, f"{one.speaker}\n{one.full_text}")
        ]
    return [*meant, *([] if meant else _near(asked, passages))]


def means_everything(query: str) -> bool:
    """Whether words ask to forget all of a memory: that has to be said in another way."""
    bare = _TRAIL.sub("", _asked(query)).strip()
    return _EVERYTHING.fullmatch(bare) is not None


def the_one(candidates: Sequence[Candidate], facts: Mapping[str, Fact]) -> list[Candidate]:
    """The candidates that are meant, if that is one thing: one entity, one value, or one text.

    A value may have several facts, spelled otherwise; passages that say the same go with it.

    Raises:
        Ambiguous: they are several things, or nothing.
    """
    meant = [one for one in candidates if one.score >= 1.0]
    of_kind = {kind: [one for one in meant if one.kind == kind] for kind in ("fact", "passage")}
    things: set[object] = {one.id for one in meant if one.kind == "entity"}
    things |= {_value(facts[one.id]) for one in of_kind["fact"]}
    if not of_kind["fact"]:
        things |= {_plain(one.text) for one in of_kind["passage"]}
    if len(things) != 1:
        what = f"may mean {len(things)} things" if things else "fit nothing that is stored"
        raise Ambiguous(
            f"these words {what}: look at the candidates, and name one by its id",
            candidates=tuple(candidates),
        )
    return meant


def _bare(query: str) -> tuple[str, bool]:
    """What is asked to be forgotten, and whether that is all about something."""
    text = _asked(query)
    about = _ALL_ABOUT.match(text)
    text = text[about.end() :] if about else text
    if lead := _LEAD.match(text):
        text = text[lead.end() :]
    return _TRAIL.sub("", text).strip(), about is not None


def _asked(query: str) -> str:
    """The words behind "please forget"."""
    text = query.strip()
    asked = _ASKED.match(text)
    return text[asked.end() :].strip() if asked else text


def _facts(bare: str, asked: set[str], me: Collection[str], facts: Iterable[Fact]) -> list[Fact]:
    found = [one for one in facts if _holds(asked, one.text.replace("_", " "))]
    if _ME.intersection(words(bare)):
        names = set(map(normal_form, me))
        found = [
            one for one in found if names & {normal_form(one.subject), normal_form(one.object)}
        ]
    is_denied = bool(_NOT.search(bare))
    alike = [one for one in found if one.polarity != is_denied]
    return alike or found


def _may_say(name: str, bare: str, me: Collection[str]) -> bool:
    """Whether "I" in the words may be somebody of this name; anybody where there is none."""
    if not name or not _ME.intersection(words(bare)):
        return True
    return normal_form(name) in map(normal_form, me)


def _holds(asked: set[str], text: str) -> bool:
    # A stem nearly always begins as its words do: most texts need no closer look.
    form = normal_form(text)
    return all(term[:3] in form for term in asked) and asked <= set(terms(words(text)))


def _near(asked: set[str], passages: Sequence[Passage]) -> list[Candidate]:
    shares = [
        (len(asked.intersection(terms(words(one.full_text)))) / len(asked), one)
        for one in passages
        if asked
    ]
    best = sorted((pair for pair in shares if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].id))
    return [
        Candidate("passage", one.id, one.text, "it holds some of the words", min(share, 0.99))
        for share, one in best[:NEAR]
    ]


def _value(fact: Fact) -> object:
    return predicates.key(fact.subject, fact.predicate, fact.object, fact.polarity)


def _plain(text: str) -> str:
    return " ".join(words(skeleton(text)))

"""What sort of thing a name or a noun stands for: which pronouns fit it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from graphmem.extractors.rules import lexicon
from graphmem.extractors.rules.words import Parse

__all__ = ["Kind", "acts", "by_ending", "of_description", "of_name", "of_noun"]

Kind = Literal["female", "male", "person", "group", "animal", "thing"]

_PERSON_ENDINGS = ("ist", "ian", "woman", "man", "sman")
_NEVER_PEOPLE = frozenset("LOC FAC DATE TIME NORP LANGUAGE MONEY QUANTITY PERCENT CARDINAL".split())


def of_noun(noun: str) -> Kind:
    """The sort of a common noun in the singular: "sister" is female, "neighbour" a person."""
    if noun in lexicon.FEMALE or noun.endswith("woman"):
        return "female"
    if noun in lexicon.MALE:
        return "male"
    if noun in lexicon.ANIMALS:
        return "animal"
    is_person = noun in lexicon.KIN or noun in lexicon.PEOPLE or noun.endswith(_PERSON_ENDINGS)
    return "person" if is_person else "thing"


def of_name(words: Sequence[str]) -> Kind | None:
    """The sort that a name's words tell: "Mrs Perrin", "Anna"; ``None`` where they do not."""
    if any(word in lexicon.FEMALE for word in words):
        return "female"
    if any(word in lexicon.MALE for word in words):
        return "male"
    if any(word in lexicon.TITLES for word in words):
        return "person"
    return None


def by_ending(first: str) -> Kind:
    """The likeliest sort of a person by the ending of an unknown first name."""
    if first.lower().endswith("a"):
        return "female"
    return "male" if first.lower().endswith("o") else "person"


def of_description(parse: Parse, at: int) -> Kind | None:
    """The sort that a description beside a name tells: "my sister Kit", "Kit, her husband"."""
    beside = [*parse.children(at, "appos", "compound", "nmod")]
    if parse[at].dep in ("appos", "attr", "nsubj"):
        beside.append(parse[at].head)
    if parse[at].dep == "nsubj" and parse[parse[at].head].lemma == "be":
        beside += parse.children(parse[at].head, "attr")
    for other in beside:
        kind = of_noun(parse[other].lemma.lower()) if parse[other].pos == "NOUN" else "thing"
        if kind != "thing":
            return kind
    return None


def acts(parse: Parse, at: int) -> bool:
    """Whether a name that the recogniser calls something else does and has as people do."""
    word = parse[at]
    does = word.dep == "nsubj" and (
        parse[word.head].pos == "VERB" or (word.entity not in ("GPE", "ORG", "PRODUCT"))
    )
    return word.entity not in _NEVER_PEOPLE and (
        does or (word.dep == "poss" and word.entity != "GPE")
    )

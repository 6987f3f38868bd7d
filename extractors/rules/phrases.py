"""Noun phrases: which words name a thing, and how they read once references are resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graphmem.extractors.rules.words import Parse

__all__ = ["conjuncts", "core", "is_noun", "is_time", "naming", "phrase"]

Refs = Mapping[int, tuple[str, ...]]

MAX_WORDS = 12
_LEFT = frozenset(
    {
        "compound",
        "amod",
        "nummod",
        "nmod",
        "poss",
        "quantmod",
        "npadvmod",
        "neg",
        "advmod",
        "punct",
        "predet",
        "dep",
    }
)
_DROPPED = frozenset(
    """a an the this that these those some any all both each such his her its their my your our
    own another no same just only even also really basically apparently literally
    actually still""".split()
)  # fmt: skip
_NOUN = frozenset({"NOUN", "PROPN", "NUM", "PRON", "ADJ", "X", "VERB", "SYM", "ADV", "INTJ"})
_PUNCT_KEPT = frozenset({"-", "/", "&", "'", "\u2013", "+", "."})
TIME = frozenset({"DATE", "TIME"})


def is_noun(parse: Parse, index: int) -> bool:
    """Whether the word is a name, a noun or a number."""
    return parse[index].pos in ("NOUN", "PROPN", "NUM")


def is_time(parse: Parse, index: int) -> bool:
    """Whether the word is part of a date or a time."""
    return parse[index].entity in TIME


def conjuncts(parse: Parse, index: int) -> Iterator[int]:
    """The word and what is joined to it: "Ann" and "Bo" of "Ann and Bo"."""
    yield index
    for child in parse.children(index, "conj"):
        if parse[child].pos in _NOUN and not parse.child(child, "nsubj", "nsubjpass"):
            yield from conjuncts(parse, child)


def naming(parse: Parse, index: int) -> int:
    """Where the name of what a noun stands for is: "Kiki" of "a cat called Kiki", else itself."""
    for clause in parse.children(index, "acl"):
        if parse[clause].lower in ("called", "named", "nicknamed", "titled", "entitled"):
            name = parse.child(clause, "oprd", "attr", "dobj")
            if name is not None and parse[name].pos in ("PROPN", "NOUN", "X"):
                return name
    if parse[index].pos == "NOUN":
        for other in parse.children(index, "appos"):
            if parse[other].pos == "PROPN" and parse[other].entity not in TIME:
                return other
    return index


def core(parse: Parse, index: int) -> list[int]:
    """Indices of the phrase without determiners, prepositional phrases and clauses."""
    found = sorted(set(_core(parse, index)))
    while found and parse[found[-1]].tag == "POS":
        found.pop()
    return [at for at in found if parse[at].lower not in _DROPPED or at == index]


def _core(parse: Parse, index: int) -> Iterator[int]:
    yield index
    start = parse[index].entity_start
    for child in parse.children(index):
        word = parse[child]
        if start >= 0 and word.entity_start == start and _is_within_name(parse, index, child):
            yield from _entity_part(parse, child, start)
        elif _belongs(parse, index, child):
            yield from _modifier(parse, child)


def _belongs(parse: Parse, index: int, child: int) -> bool:
    """Whether a dependent is a part of its noun's name: "old", "kitchen", the 9 of "Flat 9"."""
    word = parse[child]
    if word.dep == "punct":
        return word.text in _PUNCT_KEPT and child < index
    if word.dep == "appos":
        return child == index + 1 and word.pos == "NUM"
    return word.dep in _LEFT and (child < index or word.dep in ("nummod", "compound", "nmod"))


def _is_within_name(parse: Parse, index: int, child: int) -> bool:
    """Whether a word that the recogniser puts into a name is one thing with it, not a second."""
    word = parse[child]
    if word.dep in ("cc", "conj"):
        return all(parse[other].text == "&" for other in parse.children(index, "cc"))
    return word.pos != "PUNCT"


def _entity_part(parse: Parse, index: int, start: int) -> Iterator[int]:
    return (at for at in parse.subtree(index) if parse[at].entity_start == start)


def _modifier(parse: Parse, index: int) -> Iterator[int]:
    yield index
    for child in parse.children(index):
        dep = parse[child].dep
        if dep in _LEFT or dep in ("cc", "conj", "prep", "pobj", "case"):
            yield from _modifier(parse, child)


def phrase(parse: Parse, index: int, refs: Refs, *, with_preps: bool = False) -> str:
    """The phrase as words, its possessor resolved: "my old bike" said by Ana is "Ana's old bike".

    Args:
        parse: the text.
        index: head of the phrase.
        refs: what pronouns stand for.
        with_preps: whether prepositional phrases after it belong to it ("shelf by the door").
    """
    pieces = _pieces(parse, index, refs, with_preps)
    if len(pieces) > MAX_WORDS and with_preps:
        pieces = _pieces(parse, index, refs, False)
    return _spaced(parse, pieces[:MAX_WORDS]).strip(" -/&'\"")


def _pieces(parse: Parse, index: int, refs: Refs, with_preps: bool) -> list[tuple[int, str]]:
    owner = parse.child(index, "poss")
    pieces = []
    if owner is not None:
        name = possessor(parse, owner, refs)
        if name:
            pieces.append((-1, f"{name}'s"))
    owned = set(parse.subtree(owner)) if owner is not None else set()
    pieces += [(at, parse[at].text) for at in core(parse, index) if at not in owned]
    if with_preps:
        inside = {at for at, _ in pieces}
        for prep in parse.children(index, "prep"):
            if prep not in inside:
                pieces += _prep_pieces(parse, prep, refs)
    return pieces


def _prep_pieces(parse: Parse, prep: int, refs: Refs) -> list[tuple[int, str]]:
    pieces = []
    for target in parse.children(prep, "pobj"):
        if parse[target].pos == "PRON" or target in refs:
            named = refs.get(target, ())[:1]
            pieces += [(-1, name) for name in named]
        else:
            pieces += _pieces(parse, naming(parse, target), refs, True)
            for other in list(conjuncts(parse, target))[1:]:
                pieces += [(-1, "and"), *_pieces(parse, other, refs, False)]
    return [(prep, parse[prep].text), *pieces] if pieces else []


def possessor(parse: Parse, owner: int, refs: Refs) -> str:
    """The name of who owns, or ``""`` where it is a pronoun that could not be resolved."""
    if parse[owner].pos == "PRON" or owner in refs:
        return " and ".join(refs.get(owner, ()))
    return phrase(parse, owner, refs)


def _spaced(parse: Parse, pieces: list[tuple[int, str]]) -> str:
    parts: list[str] = []
    for (at, text), (after, _) in zip(pieces, [*pieces, (-2, "")][1:], strict=True):
        parts.append(text)
        if at < 0 or after != at + 1 or parse[at].is_spaced:
            parts.append(" ")
    return "".join(parts).strip()

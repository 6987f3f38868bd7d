"""What verbs state beside their objects: of two people, of a nickname, of what is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphmem.extractors.rules import verbs
from graphmem.extractors.rules.names import Namer
from graphmem.types import Triple

__all__ = ["bare", "bonds", "nicknames"]

# Verbs that two do with each other, and the word before the second.
_MUTUAL = {
    **{"marry": "", "meet": "", "date": "", "divorce": ""},
    **{"engage": "to", "split": "from", "break": "with", "separate": "from"},
}
_CALLING = frozenset("call name nickname christen dub".split())
# A verb without an object says something when it is over: "she has left".
_OVER = frozenset("VBN VBD".split())


def bonds(namer: Namer, verb: int, subjects: Sequence[str]) -> Iterator[Triple]:
    """Of "Ann and Bo got engaged": Ann to Bo."""
    parse = namer.parse
    linked = _MUTUAL.get(parse[verb].lemma.lower())
    if linked is None or len(subjects) != 2 or parse.child(verb, "dobj") is not None:
        return
    words = verbs.predicate(parse, verb, is_singular=True)
    denied = verbs.is_negated(parse, verb)
    yield Triple(subjects[0], f"{words} {linked}".strip(), subjects[1], not denied)


def nicknames(namer: Namer, verb: int) -> Iterator[Triple]:
    """Of "we call Ann the Wizard": Ann is called Wizard."""
    parse = namer.parse
    if parse[verb].lemma.lower() not in _CALLING:
        return
    who, name = parse.child(verb, "dobj"), parse.child(verb, "oprd")
    if who is None or name is None or verbs.is_negated(parse, verb):
        return
    for one in namer.names(who):
        for other in namer.names(name):
            yield Triple(one, "is called", other)


def bare(namer: Namer, verb: int, subjects: Sequence[str]) -> Iterator[Triple]:
    """Of "Ann has retired": the verb itself, where nothing else is told of what is over."""
    parse = namer.parse
    auxiliaries = parse.children(verb, "aux", "auxpass")
    if parse[verb].tag not in _OVER or not auxiliaries or not verbs.is_asserted(parse, verb):
        return
    if parse.child(verb, "dobj", "attr", "acomp", "oprd", "prep", "ccomp", "xcomp") is not None:
        return
    words = verbs.predicate(parse, verb, is_singular=len(subjects) == 1).split(" ", 1)
    if len(words) == 2:
        for subject in subjects:
            yield Triple(subject, words[0], words[1], not verbs.is_negated(parse, verb))

"""Verb groups: how a predicate reads, whether it is denied, and whether it is stated at all."""

from __future__ import annotations

from graphmem.extractors.rules import lexicon
from graphmem.extractors.rules.words import Parse, Sentence

__all__ = [
    "PARTICLES",
    "chain",
    "is_asserted",
    "is_clause",
    "is_misread",
    "is_negated",
    "is_past",
    "is_question",
    "predicate",
]

_FULL = {
    "'m": "is",
    "am": "is",
    "'re": "are",
    "'ve": "have",
    "'ll": "will",
    "ca": "can",
    "wo": "will",
    "sha": "shall",
    "m": "is",
    "re": "are",
    "ve": "have",
    "ll": "will",
}
_IRREGULAR = {
    "have": "has",
    "be": "is",
    "are": "is",
    "am": "is",
    "do": "does",
    "go": "goes",
    "were": "was",
}
_MODALS = frozenset("would could might may should ought".split())
_BARE_STATEMENTS = frozenset("need want love hate miss".split())
_CLAUSES = frozenset(
    {
        "ROOT",
        "conj",
        "ccomp",
        "advcl",
        "relcl",
        "acl",
        "parataxis",
        "dep",
        "pcomp",
        "appos",
        "csubj",
        "intj",
    }
)
_EMBEDDED = frozenset({"ccomp", "advcl", "conj", "xcomp", "relcl", "acl", "pcomp", "csubj"})
PARTICLES = frozenset("back away out off up down over along together home".split())
_WH = frozenset("who what where when why how which whose whom".split())
_NEGATIONS = frozenset("not n't nt never neither nor".split())


def is_question(parse: Parse, sentence: Sentence) -> bool:
    """Whether a sentence asks: by its mark, or by its word order where the mark is left out."""
    if any(parse[at].text == "?" for at in range(sentence.start, sentence.end)):
        return True
    first = next(
        (
            at
            for at in range(sentence.start, sentence.end)
            if parse[at].pos not in ("PUNCT", "CCONJ", "INTJ", "SPACE")
        ),
        sentence.start,
    )
    word = parse[first]
    if word.lower in _WH and word.dep not in ("mark",):
        return parse[word.head].dep not in ("csubj", "advcl") and not _is_free_relative(
            parse, first
        )
    if word.pos == "AUX" or word.tag == "MD":
        subject = parse.child(
            word.head if word.dep in ("aux", "auxpass") else first, "nsubj", "nsubjpass"
        )
        return subject is not None and subject > first
    return False


def _is_free_relative(parse: Parse, wh: int) -> bool:
    """Whether a wh-word opens a statement: "what I like is tea", "when we got home they slept"."""
    head = parse[wh].head
    return parse[head].dep in ("csubj", "advcl", "ccomp", "nsubj", "relcl")


def is_clause(parse: Parse, at: int) -> bool:
    """Whether the word heads a clause of its own."""
    word = parse[at]
    if word.pos not in ("VERB", "AUX") or word.dep in ("aux", "auxpass", "amod", "compound"):
        return False
    if word.dep == "xcomp":
        return parse.child(at, "nsubj") is not None and word.tag != "VB"
    if word.dep in _CLAUSES and not (word.dep == "acl" and parse.child(at, "aux")):
        return True
    return parse.child(at, "nsubj", "nsubjpass") is not None


def is_negated(parse: Parse, at: int) -> bool:
    """Whether the verb is denied: "not", "never", "no longer", or an object with "no"."""
    for child in parse.children(at):
        word = parse[child]
        if word.dep == "neg" and word.lower in _NEGATIONS:
            return not (parse.words[child + 1 : child + 2] and parse[child + 1].lower == "only")
        if word.lower == "never" or (
            word.lower == "longer" and parse.child(child, "neg") is not None
        ):
            return True
        if word.dep in ("nsubj", "nsubjpass") and word.lower == "nobody":
            return True
    return False


def is_past(parse: Parse, at: int) -> bool:
    """Whether the clause speaks of the past, for dates that could lie on either side."""
    auxiliaries = [parse[child] for child in parse.children(at, "aux", "auxpass")]
    if any(word.tag == "MD" for word in auxiliaries):
        return False
    if any(word.tag == "VBD" or word.lemma == "have" for word in auxiliaries):
        return True
    return parse[at].tag in ("VBD", "VBN") and not (auxiliaries and auxiliaries[0].tag != "VBD")


def finite(parse: Parse, at: int) -> int:
    """The verb that carries the tense: "started" for the "play" of "started learning to play"."""
    while parse[at].dep == "xcomp" and parse[parse[at].head].pos in ("VERB", "AUX"):
        at = parse[at].head
    return at


def is_asserted(parse: Parse, at: int) -> bool:
    """Whether what the clause says is stated: no condition, wish, guess, order or possibility."""
    if _is_imperative(parse, at) or _is_unreal(parse, at):
        return False
    if any(_is_condition(parse, child) for child in parse.children(at, "advcl")):
        return False
    below = at
    for above in parse.ancestors(at):
        if parse[below].dep not in _EMBEDDED:
            break
        if _is_condition(parse, below) or _suspends(parse, above, below):
            return False
        below = above
    return not _is_condition(parse, below)


def _is_condition(parse: Parse, at: int) -> bool:
    return any(
        parse[child].lower in lexicon.HYPOTHETICAL_MARKS
        for child in parse.children(at, "mark", "advmod")
    )


def _suspends(parse: Parse, above: int, below: int) -> bool:
    """Whether a governing clause takes back what the clause below it says."""
    governor, dep = parse[above], parse[below].dep
    if dep in ("ccomp", "xcomp", "conj", "pcomp") and _is_unreal(parse, above):
        return True
    if dep == "conj" and _is_imperative(parse, above) and parse.child(below, "nsubj") is None:
        return True
    return dep == "ccomp" and (
        governor.lemma.lower() in lexicon.IRREALIS_VERBS or is_negated(parse, above)
    )


def _is_unreal(parse: Parse, at: int) -> bool:
    if parse[at].lemma.lower() == "wish":
        return True
    if any(parse[child].lower in ("nearly", "almost") for child in parse.children(at, "advmod")):
        return True
    for child in parse.children(at, "aux"):
        word = parse[child]
        if word.lower in _MODALS or (
            word.lower in ("'d", "d") and parse[at].tag not in ("VBN", "VBD")
        ):
            return True
    return False


def _is_imperative(parse: Parse, at: int) -> bool:
    word = parse[at]
    return (
        word.tag == "VB"
        and word.dep in ("ROOT", "ccomp", "conj", "parataxis", "dep", "intj")
        and parse.child(at, "nsubj", "nsubjpass", "expl") is None
        and (parse.child(at, "aux") is None or _is_do(parse, at))
        and (word.dep != "conj" or parse[word.head].tag == "VB")
        and word.lemma.lower() not in _BARE_STATEMENTS
    )


def _is_do(parse: Parse, at: int) -> bool:
    return all(parse[child].lower == "do" for child in parse.children(at, "aux"))


def chain(parse: Parse, at: int) -> list[int]:
    """A verb and the verbs it governs: "started", "learning", "play"."""
    verbs = [at]
    while (
        below := next(
            (
                child
                for child in parse.children(verbs[-1], "xcomp")
                if parse[child].pos in ("VERB", "AUX") and not is_clause(parse, child)
            ),
            None,
        )
    ) is not None:
        verbs.append(below)
    return verbs


def is_misread(parse: Parse, at: int) -> bool:
    """Whether the parser took an adjective for a verb: "is vegan"."""
    return parse[at].tag in ("VB", "VBP") and any(
        parse[child].lemma == "be" for child in parse.children(at, "aux", "auxpass")
    )


def predicate(parse: Parse, at: int, *, is_singular: bool) -> str:
    """The verb with auxiliaries and particle, in the third person: "has given up"."""
    words: list[str] = []
    auxiliaries = [child for child in parse.children(at, "aux", "auxpass") if child < at]
    for child in auxiliaries:
        word = parse[child]
        if word.lower in ("do", "does") or (
            word.lower == "to" and not words and child == at - 1 and parse[at].dep != "xcomp"
        ):
            continue
        words.append(_auxiliary(parse, child, at))
    written = parse[at].lower
    verb = _FULL.get(written, written)
    if verb in ("'s", "s"):
        verb = "is" if parse[at].lemma != "have" else "has"
    is_do = bool(auxiliaries) and not words and parse[at].tag == "VB"
    is_bare = not words and verb == written and _agrees(verb, parse[at].tag)
    if is_singular and (is_do or is_bare):
        verb = third_person(verb)
    words.append(verb)
    if is_singular:
        words[0] = (
            _IRREGULAR.get(words[0], words[0])
            if words[0] in ("have", "are", "am", "were")
            else words[0]
        )
    words += [
        parse[child].lower
        for child in parse.children(at, "prt", "advmod")
        if parse[child].dep == "prt" or (child == at + 1 and parse[child].lower in PARTICLES)
    ]
    return " ".join(words)


def _agrees(verb: str, tag: str) -> bool:
    return (
        tag == "VBP"
        or (tag == "VBD" and verb == "were")
        or (tag == "VB" and verb in _BARE_STATEMENTS)
    )


def _auxiliary(parse: Parse, child: int, at: int) -> str:
    text = parse[child].lower
    if text in ("'s", "s"):
        return "has" if _is_perfect(parse, child, at) else "is"
    if text in ("'d", "d"):
        return "had"
    return _FULL.get(text, text)


def _is_perfect(parse: Parse, child: int, at: int) -> bool:
    verb = parse[at]
    return verb.tag in ("VBN", "VBD") and (
        parse[child].dep == "aux"
        or verb.lower in ("got", "been", "gone", "become", "had")
        or parse.child(at, "dobj") is not None
    )


def third_person(verb: str) -> str:
    """The form after "she": "work" as "works"."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"

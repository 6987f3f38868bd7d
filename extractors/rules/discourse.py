"""Who is meant: pronouns and short names resolved from left to right through a conversation.

First and second person are the speaker and the one spoken to. A third-person pronoun is the last
name that fits it in gender and kind; in a document it is first of all what the title names.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from graphmem.extractors.rules import lexicon, phrases
from graphmem.extractors.rules.words import Parse

__all__ = ["Discourse", "Named", "bare_title"]

Kind = Literal["female", "male", "person", "group", "thing"]

_FITS: dict[str, tuple[Kind, ...]] = {
    "she": ("female", "person"),
    "he": ("male", "person"),
    "it": ("thing",),
    "they": ("group",),
}
_PRONOUNS = {
    form: base
    for base, forms in {
        "she": "she her hers herself",
        "he": "he him his himself",
        "it": "it its itself",
        "they": "they them their theirs themselves",
    }.items()
    for form in forms.split()
}
_HEAD_DEPS = frozenset(
    {
        "nsubj",
        "nsubjpass",
        "dobj",
        "pobj",
        "attr",
        "conj",
        "appos",
        "ROOT",
        "dative",
        "poss",
        "oprd",
        "npadvmod",
        "dep",
        "nmod",
        "intj",
    }
)
_LOOK_BACK = 6
_LAST_PEOPLE = 3


@dataclass(frozen=True, slots=True)
class Named:
    """Something that was mentioned, under its fullest name, and which pronouns fit it."""

    names: tuple[str, ...]
    kind: Kind
    is_proper: bool


@dataclass
class Discourse:
    """What has been mentioned so far, in order; grows with each text that is heard.

    Attributes:
        speaker, addressee: names for the first and second person of the text now heard.
        title: what a document is about, without a final parenthesis.
        definition: the noun that a document's first sentence defines it by: "film".
        is_person: whether a document is about a person.
        carried: what was mentioned last before each sentence of the text now heard, by its start.
    """

    speaker: str = ""
    addressee: str = ""
    title: str = ""
    definition: str = ""
    is_person: bool = False
    heard: list[Named] = field(default_factory=list)
    carried: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def hear(self, parse: Parse) -> dict[int, tuple[str, ...]]:
        """Names for the pronouns of a text, by index; remembers whom and what it mentions."""
        refs: dict[int, tuple[str, ...]] = {}
        self.carried = {}
        for sentence in parse.sentences:
            if self.heard:
                self.carried[sentence.start] = self.heard[-1].names
            for at in range(sentence.start, sentence.end if sentence.is_readable else 0):
                self._hear_word(parse, at, refs)
        return refs

    def _hear_word(self, parse: Parse, at: int, refs: dict[int, tuple[str, ...]]) -> None:
        word = parse[at]
        if word.pos == "PRON" or word.tag in ("PRP", "PRP$"):
            names = self._pronoun(parse, at)
            if names:
                refs[at] = names
        elif word.pos in ("PROPN", "NOUN") and word.dep in _HEAD_DEPS:
            self._mention(parse, at, refs)

    def full(self, name: str) -> str:
        """The fullest form of a name so far: "Lopes" is "Rita Lopes" once she was introduced."""
        if self.title and self._is_title(name):
            return self.title
        if " " in name or not name[:1].isupper():
            return name
        longer = {
            other
            for named in self.heard
            if named.is_proper and named.kind != "thing"
            for other in named.names
            if len(parts := other.split()) == 2
            and name in parts
            and all(p[:1].isupper() for p in parts)
        }
        return longer.pop() if len(longer) == 1 else name

    def _is_title(self, name: str) -> bool:
        words, title = name.lower().split(), self.title.lower().split()
        if words[:1] == ["the"] or title[:1] == ["the"]:
            words, title = words[words[:1] == ["the"] :], title[title[:1] == ["the"] :]
        if words == title:
            return True
        return (
            self.is_person
            and name[:1].isupper()
            and (set(words) <= set(title) or (len(title) > 1 and set(title) <= set(words)))
        )

    def _pronoun(self, parse: Parse, at: int) -> tuple[str, ...]:
        form = parse[at].lower
        if form in lexicon.FIRST_PERSON:
            return (self.speaker,) if self.speaker else ()
        if form in lexicon.SECOND_PERSON:
            return (self.addressee,) if self.addressee else ()
        base = _PRONOUNS.get(form)
        if base is None or self._is_empty(parse, at):
            return ()
        if self.title and (base in ("he", "she")) == self.is_person and base != "they":
            return (self.title,)
        found = self._last(base)
        if found is None:
            return (self.title,) if self.title and base == "they" and not self.is_person else ()
        if found.kind == "person":
            found = replace(found, kind="female" if base == "she" else "male")
        self.heard.append(found)
        return found.names

    def _is_empty(self, parse: Parse, at: int) -> bool:
        """Whether an "it" stands for nothing: "it is raining", "it seems that"."""
        head = parse[parse[at].head]
        return parse[at].lower == "it" and head.lemma in ("rain", "snow", "seem", "turn", "happen")

    def _last(self, base: str) -> Named | None:
        genders = {
            name: known.kind
            for known in self.heard
            for name in known.names
            if known.kind in ("female", "male")
        }
        fitting = [
            (named, genders.get(named.names[0], named.kind))
            for named in reversed(self.heard[-_LOOK_BACK:] if base == "it" else self.heard)
            if genders.get(named.names[0], named.kind) in _FITS[base]
            and named.names[0] not in (self.speaker, self.addressee)
        ]
        # A name that is known to be hers stands before a nearer one that may be anybody's.
        sure = (named for named, kind in fitting[:_LAST_PEOPLE] if kind == _FITS[base][0])
        return next(sure, fitting[0][0] if fitting else None)

    def _mention(self, parse: Parse, at: int, refs: dict[int, tuple[str, ...]]) -> None:
        if phrases.is_time(parse, at) or phrases.naming(parse, at) != at:
            return
        is_proper = parse[at].pos == "PROPN"
        if parse[at].dep == "attr" and not is_proper:
            return
        name = phrases.phrase(parse, at, refs)
        if not name:
            return
        kind = self._kind(parse, at, is_proper)
        if is_proper and kind != "thing":
            name = self.full(name)
        if (
            kind == "thing"
            and not is_proper
            and parse[at].dep not in ("nsubj", "dobj", "nsubjpass")
        ):
            return
        self.heard.append(Named((name,), kind, is_proper))
        joined = [
            self.full(phrases.phrase(parse, other, refs)) for other in phrases.conjuncts(parse, at)
        ]
        if len(joined) > 1 and kind != "thing":
            self.heard.append(Named(tuple(joined), "group", is_proper))

    def _kind(self, parse: Parse, at: int, is_proper: bool) -> Kind:
        words = [parse[i].lower for i in phrases.core(parse, at)]
        words = words if is_proper else [parse[at].lemma.lower()]
        if parse[at].tag == "NNS" and not is_proper:
            return "group"
        if any(word in lexicon.FEMALE for word in words):
            return "female"
        if any(word in lexicon.MALE for word in words):
            return "male"
        if not is_proper:
            return "person" if words[0] in lexicon.KIN else "thing"
        if parse[at].entity == "PERSON" or (not self.title and self._acts(parse, at)):
            return "person"
        first = parse[phrases.core(parse, at)[0]].text
        known = (
            named.kind
            for named in reversed(self.heard)
            if named.is_proper
            and named.kind in ("female", "male", "person")
            and first in named.names[0].split()
        )
        return next(known, "thing")

    def _acts(self, parse: Parse, at: int) -> bool:
        """Whether a name that the recogniser calls something else acts as people do."""
        word = parse[at]
        does = word.dep == "nsubj" and parse[word.head].pos == "VERB"
        return word.entity not in ("LOC", "FAC", "DATE", "NORP") and (
            does or (word.dep == "poss" and word.entity != "GPE")
        )

    def about(self, title: str, parse: Parse | None) -> None:
        """Sets what a document is about, and whether that is a person."""
        self.title = bare_title(title)
        words = set(self.title.lower().split())
        if parse is None or not words:
            return
        opening = parse.words[:60]
        people = {word.lower for word in opening if word.entity == "PERSON"}
        pronouns = [word.lower for word in parse.words if word.tag in ("PRP", "PRP$")]
        personal = sum(form in ("he", "she", "his", "her") for form in pronouns)
        born = any(word.lower == "born" for word in opening[:20])
        self.is_person = born or (bool(words & people) and personal >= len(pronouns) / 2)
        self.definition = _definition(parse)


def _definition(parse: Parse) -> str:
    """The noun that a document's first sentence defines its subject by: "film"."""
    for sentence in parse.sentences[:2]:
        attribute = parse.child(sentence.root, "attr")
        if parse[sentence.root].lemma == "be" and attribute is not None:
            return parse[attribute].lemma.lower()
    return ""


def bare_title(title: str) -> str:
    """A title without the parenthesis that only tells it from others: "Mercury (planet)"."""
    title = title.strip()
    cut = title.rfind(" (")
    return title[:cut].strip() if cut > 0 and title.endswith(")") else title

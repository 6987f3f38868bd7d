"""Who is meant: pronouns and short names resolved from left to right through a conversation.

First and second person are the speaker and the one spoken to. A third-person pronoun is the last
name that fits it in gender and kind; in a document it is first of all what the title names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from graphmem.extractors.rules import kinds, lexicon, phrases
from graphmem.extractors.rules.kinds import Kind
from graphmem.extractors.rules.words import Parse

__all__ = ["Discourse", "Named", "bare_title"]

_FITS: dict[str, tuple[Kind, ...]] = {
    "she": ("female", "person", "animal", "thing"),
    "he": ("male", "person", "animal", "thing"),
    "it": ("thing", "animal"),
    "they": ("group",),
}
_PRONOUNS = {
    form: base
    for base, forms in {
        "she": "she her herself",
        "he": "he him his himself",
        "it": "it its itself",
        "they": "they them their themselves",
    }.items()
    for form in forms.split()
}
_LIVING = ("female", "male", "person", "group", "animal")
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
# How many sentences back a pronoun may point, and what counts against a mention, in sentences.
_REACH = {"she": 24, "he": 24, "it": 2, "they": 3}
_NOT_SUBJECT = 0.7
_UNSURE = 0.6
_A_THING = 3.0
_WEATHER = frozenset("rain snow seem turn happen look sound".split())
_SUBJECTS = ("nsubj", "nsubjpass")


@dataclass(frozen=True, slots=True)
class Named:
    """Something that was mentioned, under its fullest name, and which pronouns fit it.

    Attributes:
        names: more than one for "Ann and Bo".
        kind: what sort of thing it is.
        is_proper: whether it was mentioned by a name.
        sentence: number of the sentence, counted through the conversation.
        is_subject: whether it was the subject there.
        verb: index of the verb whose subject it was, or -1.
    """

    names: tuple[str, ...]
    kind: Kind
    is_proper: bool
    sentence: int = 0
    is_subject: bool = False
    verb: int = -1


@dataclass
class Discourse:
    """What has been mentioned so far, in order; grows with each text that is heard.

    Attributes:
        speaker, addressee: names for the first and second person of the text now heard.
        title: what a document is about, without a final parenthesis.
        definition: the noun that a document's first sentence defines it by: "film".
        is_person: whether a document is about a person.
        heard: the mentions, in order.
        genders: what is known of a name's gender.
        carried: whom or what each sentence of the text now heard goes on about, by its start.
        going_on: whom the sentence before is about, if somebody, by the start of the next.
        sentences: how many were heard.
    """

    speaker: str = ""
    addressee: str = ""
    title: str = ""
    definition: str = ""
    is_person: bool = False
    heard: list[Named] = field(default_factory=list)
    carried: dict[int, tuple[str, ...]] = field(default_factory=dict)
    genders: dict[str, Kind] = field(default_factory=dict)
    going_on: dict[int, tuple[str, ...]] = field(default_factory=dict)
    sentences: int = 0

    def hear(self, parse: Parse) -> dict[int, tuple[str, ...]]:
        """Names for the pronouns of a text, by index; remembers whom and what it mentions."""
        refs: dict[int, tuple[str, ...]] = {}
        self.carried, self.going_on = {}, {}
        for sentence in parse.sentences:
            self.sentences += 1
            carried = self._carried()
            if carried:
                self.carried[sentence.start] = carried
            if sentence.start:
                self.going_on[sentence.start] = self._going_on()
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
            if form in ("i", "we") and self.speaker:
                verb = parse[at].head
                self._remember(Named((self.speaker,), "person", True, self.sentences, True, verb))
            return (self.speaker,) if self.speaker else ()
        if form in lexicon.SECOND_PERSON:
            return (self.addressee,) if self.addressee else ()
        base = _PRONOUNS.get(form)
        if base is None or self._is_empty(parse, at):
            return ()
        if self.title and (base in ("he", "she")) == self.is_person and base != "they":
            return (self.title,)
        found = self._last(base, at, parse)
        if found is None:
            return (self.title,) if self.title and base == "they" and not self.is_person else ()
        if found.kind in ("person", "animal") and base in ("she", "he"):
            found = replace(found, kind="female" if base == "she" else "male")
        self._hear_again(parse, at, found)
        return found.names

    def _hear_again(self, parse: Parse, at: int, found: Named) -> None:
        is_subject = parse[at].dep in _SUBJECTS
        verb = parse[at].head if is_subject else -1
        self._remember(replace(found, sentence=self.sentences, is_subject=is_subject, verb=verb))

    def _is_empty(self, parse: Parse, at: int) -> bool:
        """Whether an "it" stands for nothing: "it is raining", "it's hard to sleep"."""
        verb = parse[at].head
        if parse[at].lower != "it" or parse[at].dep not in _SUBJECTS:
            return False
        if parse[verb].lemma in _WEATHER:
            return True
        if parse[verb].lemma != "be":
            return False
        told = parse.child(verb, "attr", "acomp", "npadvmod")
        clause = parse.child(verb, "ccomp", "xcomp", "advcl", "csubj", "acl")
        if told is None or clause is not None or parse.child(told, "xcomp", "relcl") is not None:
            return True
        return phrases.is_time(parse, told) or parse[told].pos in ("NUM", "PRON")

    def _remember(self, named: Named) -> None:
        self.heard.append(named)
        if named.kind in ("female", "male"):
            self.genders.update(dict.fromkeys(named.names, named.kind))

    def _recent(self, sentences: int) -> Iterator[Named]:
        """The mentions in this sentence and in as many before it, the last one first."""
        for named in reversed(self.heard):
            if self.sentences - named.sentence > sentences:
                return
            yield named

    def _carried(self) -> tuple[str, ...]:
        """Who a sentence without a subject goes on about: the last subject, else the last name."""
        last = list(self._recent(2))
        subjects = [named for named in last if named.is_subject and named.kind in _LIVING]
        return next((named.names for named in subjects or last), ())

    def _going_on(self) -> tuple[str, ...]:
        """Whom the sentence before is about, where it is about somebody."""
        before = [named for named in self._recent(1) if named.is_subject]
        return before[-1].names if before and before[-1].kind in _LIVING else ()

    def _last(self, base: str, at: int, parse: Parse) -> Named | None:
        """The mention that fits a pronoun best: near, a subject, and known to be fitting."""
        own = self._own_clause(parse, at)
        best, least = None, float("inf")
        for named in self._recent(_REACH[base]):
            name = named.names[0]
            kind = self.genders.get(name, named.kind) if len(named.names) == 1 else named.kind
            if name in (self.speaker, self.addressee) or named.names in own:
                continue
            cost = self._cost(base, named, kind)
            if cost < least:
                best, least = replace(named, kind=kind), cost
        return best

    def _cost(self, base: str, named: Named, kind: Kind) -> float:
        """How far a mention is from being what the pronoun stands for, in sentences."""
        distance = self.sentences - named.sentence
        is_personal = base in ("she", "he")
        is_thing = kind == "thing" and is_personal
        if kind not in _FITS[base] or (is_thing and not (named.is_proper and distance <= 2)):
            return float("inf")
        cost = distance + _NOT_SUBJECT * (not named.is_subject) + _A_THING * is_thing
        return cost + _UNSURE * (is_personal and kind in ("person", "animal"))

    def _own_clause(self, parse: Parse, at: int) -> set[tuple[str, ...]]:
        """The subject of a pronoun's own verb, which it cannot stand for: "she took her"."""
        word = parse[at]
        if word.dep not in ("dobj", "dative", "pobj") or word.lower.endswith(("self", "selves")):
            return set()
        verb = next((a for a in parse.ancestors(at) if parse[a].pos in ("VERB", "AUX")), -1)
        here = (named for named in self._recent(0) if named.is_subject)
        return {named.names for named in here if named.verb == verb}

    def _mention(self, parse: Parse, at: int, refs: dict[int, tuple[str, ...]]) -> None:
        if phrases.is_time(parse, at) or phrases.naming(parse, at) != at:
            return
        is_proper = parse[at].pos == "PROPN"
        if parse[at].dep == "attr" and not is_proper:
            return
        if parse[at].dep == "appos" and not is_proper and parse[parse[at].head].pos == "PROPN":
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
        is_subject = parse[at].dep in _SUBJECTS
        verb = parse[at].head if is_subject else -1
        here = (self.sentences, is_subject, verb)
        self._remember(Named((name,), kind, is_proper, *here))
        joined = [
            self.full(phrases.phrase(parse, other, refs)) for other in phrases.conjuncts(parse, at)
        ]
        if len(joined) > 1 and kind != "thing":
            self._remember(Named(tuple(joined), "group", is_proper, *here))

    def _kind(self, parse: Parse, at: int, is_proper: bool) -> Kind:
        if not is_proper:
            noun = parse[at].lemma.lower()
            return "group" if parse[at].tag == "NNS" else kinds.of_noun(noun)
        known = kinds.of_description(parse, at) or kinds.of_name(
            [parse[i].lower for i in phrases.core(parse, at)]
        )
        if known:
            return known
        first = parse[phrases.core(parse, at)[0]].text
        before = (
            named.kind
            for named in reversed(self.heard)
            if named.is_proper and named.kind in _LIVING and first in named.names[0].split()
        )
        if parse[at].entity == "PERSON" or (not self.title and kinds.acts(parse, at)):
            return next(before, kinds.by_ending(first))
        return next(before, "thing")

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

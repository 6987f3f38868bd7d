"""The rules: clauses and noun phrases of one parsed text, read as triples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from graphmem.extractors.rules import bonds, dates, kinds, lexicon, phrases, verbs
from graphmem.extractors.rules.names import PLACES, RELATIVE, Namer
from graphmem.extractors.rules.words import Sentence
from graphmem.types import Triple

__all__ = ["Reader"]

_YEAR = re.compile(r"1[0-9]\d\d|20\d\d")
_UNTIL = frozenset("until till til by before".split())
_MOVES = frozenset("move postpone reschedule push shift change extend delay bring".split())
_AHEAD = frozenset({"to", "until", "till"})
_LONG_OBJECT = 5
_LONG_PREDICATE = 8


@dataclass(frozen=True, slots=True)
class When:
    """A date that belongs to a clause: where it stands and what it is."""

    words: range
    day: dates.Day
    preposition: str


@dataclass
class Reader(Namer):
    """Reads one parsed text.

    Attributes:
        said_at: when it was said.
    """

    said_at: datetime | None = None

    @cached_property
    def _whens(self) -> dict[int, list[When]]:
        """Dates by the verb that they belong to."""
        found: dict[int, list[When]] = {}
        for mention in dates.find(self.parse.text):
            placed = self._place(mention)
            if placed is not None:
                found.setdefault(placed[0], []).append(placed[1])
        return found

    def read(self) -> Iterator[Triple]:
        """The triples that the text states, in order; questions and jokes state nothing."""
        for sentence in self.parse.sentences:
            if sentence.is_readable and not verbs.is_question(self.parse, sentence):
                yield from self.read_sentence(sentence)

    def read_sentence(self, sentence: Sentence) -> Iterator[Triple]:
        """The triples of one sentence."""
        yield from self._fragment(sentence)
        for at in range(sentence.start, sentence.end):
            if verbs.is_clause(self.parse, at):
                if verbs.is_asserted(self.parse, at):
                    yield from self.clause(at)
            elif phrases.is_noun(self.parse, at):
                yield from self._noun(at)

    def _fragment(self, sentence: Sentence) -> Iterator[Triple]:
        """Of a sentence without a verb in a chat: who said so; "second place, Leeds cup!"."""
        words = range(sentence.start, sentence.end)
        if not self.discourse.speaker or any(verbs.is_clause(self.parse, at) for at in words):
            return
        kind = lexicon.GREETINGS | set(self.discourse.addressee.lower().split())
        nouns = [at for at in words if phrases.is_noun(self.parse, at)]
        if any(self.parse[at].lower not in kind for at in nouns):
            told = [at for at in words if self.parse[at].pos != "INTJ"]
            text = self.parse.join(told).strip(" .,;:!-")
            if 1 < len(text.split()) <= phrases.MAX_WORDS:
                yield Triple(self.discourse.speaker, "says", text)

    # Clauses

    def clause(self, verb: int) -> Iterator[Triple]:
        """The triples of one clause, with its polarity and its date."""
        if self.parse.child(verb, "expl") is not None:
            yield from self._existence(verb)
            return
        subjects = self.subjects(verb)
        if not subjects or self.parse[verb].lemma.lower() in lexicon.EMPTY_VERBS:
            return
        if verbs.is_misread(self.parse, verb):
            for subject in subjects:
                yield Triple(
                    subject, "is", self.parse[verb].text, not verbs.is_negated(self.parse, verb)
                )
            return
        if verbs.is_asserted(self.parse, verb) and self.parse[verb].lemma == "be":
            yield from self._role(verb)
        whens = self._whens.get(verb, [])
        for below in verbs.chain(self.parse, verb):
            whens = whens or self._whens.get(below, [])
        found = [
            *bonds.bonds(self, verb, subjects),
            *bonds.nicknames(self, verb),
            *self._complements(verb, subjects, whens),
        ]
        for triple in found or bonds.bare(self, verb, subjects):
            yield self._dated(triple, whens)

    def predicate(self, verb: int) -> str:
        """The verb group, with the verbs that govern it: "started learning to play"."""
        word = self.parse[verb]
        text = verbs.predicate(self.parse, verb, is_singular=self._is_singular(verb))
        if word.dep == "xcomp" and verb in verbs.chain(self.parse, word.head):
            return f"{self.predicate(word.head)}{self._own_object(word.head)} {text}"
        if (
            word.dep == "conj"
            and self.parse[word.head].dep == "xcomp"
            and word.tag in ("VB", "VBG")
        ):
            head = self.parse[word.head].head
            to = "to " if word.tag == "VB" and not text.startswith("to ") else ""
            return f"{self.predicate(head)} {to}{text}"
        return text

    def _is_singular(self, verb: int) -> bool:
        return len(self.subjects(verb)) == 1 and not (
            (subject := self.parse.child(verb, "nsubj", "nsubjpass")) is not None
            and self.parse[subject].tag in ("NNS", "NNPS")
        )

    def _own_object(self, verb: int) -> str:
        target = self.parse.child(verb, "dobj")
        if target is None:
            return ""
        text = next(iter(self.name(target)), "")
        return f" {text}" if text and len(text.split()) <= _LONG_OBJECT else ""

    def _complements(self, verb: int, subjects: list[str], whens: list[When]) -> Iterator[Triple]:
        for link in verbs.chain(self.parse, verb):
            predicate = self.predicate(link)
            polarity = not (
                verbs.is_negated(self.parse, link) or verbs.is_negated(self.parse, verb)
            )
            dated = {at for when in whens for at in when.words}
            for words, target, positive in self._objects(link, predicate, dated):
                for subject in subjects:
                    yield Triple(subject, words, target, polarity and positive)
        last = verbs.chain(self.parse, verb)[-1]
        for when in whens:
            words = f"{self.predicate(last)}{self._what(last)} {when.preposition}"
            for subject in subjects:
                yield Triple(subject, words, str(when.day), not verbs.is_negated(self.parse, verb))

    def _what(self, verb: int) -> str:
        """The object within a predicate that goes on: " a talk" in "gave a talk at"."""
        own = self._own_object(verb)
        if own:
            return own
        attribute = self.parse.child(verb, "attr", "acomp")
        if attribute is None:
            return ""
        text = phrases.phrase(self.parse, attribute, self.refs)
        return f" {text}" if len(text.split()) <= _LONG_OBJECT else ""

    def _objects(
        self, verb: int, predicate: str, dated: set[int]
    ) -> Iterator[tuple[str, str, bool]]:
        """(predicate, object, not denied by a "no") for each complement of a verb."""
        for target in self.parse.children(verb, "dobj", "attr", "acomp", "oprd", "dative"):
            if self.parse[target].dep == "dative" and self.parse[target].pos == "ADP":
                yield from self._prepositional(target, f"{predicate}{self._what(verb)}", dated)
            elif self._is_addressed(verb, target):
                continue
            elif self.parse[target].dep == "dative":
                yield from self._nominal(target, f"{predicate}{self._what(verb)} to")
            elif target not in dated:
                yield from self._nominal(target, predicate)
        relative = self._reduced_relative(verb)
        if relative:
            yield predicate, relative, True
        what = self._what(verb)
        for prep in self.parse.children(verb, "prep", "agent"):
            yield from self._prepositional(prep, f"{predicate}{what}", dated)
        for target in self.parse.children(verb, "npadvmod", "advmod"):
            yield from self._adverbial(target, f"{predicate}{what}", dated)

    def complements(self, verb: int) -> Iterator[tuple[str, str, bool]]:
        """(predicate, object, not denied) of a verb, whoever its subject may be."""
        yield from self._objects(verb, self.predicate(verb), set())

    def prepositional(self, prep: int, predicate: str) -> Iterator[tuple[str, str, bool]]:
        """(predicate, object, not denied) of a prepositional phrase that stands alone."""
        yield from self._prepositional(prep, predicate, set())

    def _is_addressed(self, verb: int, target: int) -> bool:
        """Whether the object is only who was spoken to: "I told you"."""
        return self.parse[verb].lemma in lexicon.SPEAKING and self.parse[target].pos == "PRON"

    def _reduced_relative(self, verb: int) -> str:
        """The object that stands outside: "the house we sold"."""
        if self.parse[verb].dep != "relcl" or self.parse.child(verb, "dobj", "attr", "acomp"):
            return ""
        if self.parse.child(verb, "nsubj", "nsubjpass") is None or self.parse.child(verb, "prep"):
            return ""
        subject = self.parse.child(verb, "nsubj", "nsubjpass")
        if subject is not None and self.parse[subject].lower in RELATIVE:
            return ""
        return next(iter(self.name(self.parse[verb].head)), "")

    def _nominal(self, target: int, predicate: str) -> Iterator[tuple[str, str, bool]]:
        for head in phrases.conjuncts(self.parse, target):
            if self.parse[head].pos == "ADJ" and self.parse[head].dep in ("acomp", "conj"):
                yield from self._adjective(head, predicate)
                continue
            denied = self._is_no(head)
            for name in self.name(head):
                whole = phrases.phrase(
                    self.parse, phrases.naming(self.parse, head), self.refs, with_preps=True
                )
                is_plain = head in self.refs or not whole.startswith(name + " ")
                yield predicate, name if is_plain else whole, not denied
                yield from self._within(head, predicate, name, denied)

    def _within(
        self, head: int, predicate: str, name: str, denied: bool
    ) -> Iterator[tuple[str, str, bool]]:
        """What a phrase holds beside its head: the place in "a bakery in Lyon"."""
        if head in self.refs:
            return
        for number in self.parse.children(head, "nummod", "compound"):
            if self.parse[head].dep == "attr" and _YEAR.fullmatch(self.parse[number].text):
                yield f"{predicate} from", self.parse[number].text, not denied
        owner = self.parse.child(head, "poss")
        if owner is not None and self.parse[head].dep == "attr":
            held = phrases.possessor(self.parse, owner, self.refs)
            rest = name.removeprefix(f"{held}'s ")
            if held and rest != name:
                yield f"{predicate} {rest} of", held, not denied
        inside = phrases.core(self.parse, phrases.naming(self.parse, head))
        if len(f"{predicate} {name}".split()) <= _LONG_PREDICATE:
            for prep in self.parse.children(head, "prep"):
                if prep not in inside and self._leads_to_name(prep):
                    yield from self._prepositional(prep, f"{predicate} {name}", set(), not denied)

    def _leads_to_name(self, prep: int) -> bool:
        """Whether a prepositional phrase holds a name or a number, which other facts may share."""
        return any(
            self.parse[target].pos in ("PROPN", "NUM", "PRON")
            or any(self.parse[at].pos == "PROPN" for at in phrases.core(self.parse, target))
            for target in self.parse.children(prep, "pobj")
        )

    def _adjective(self, head: int, predicate: str) -> Iterator[tuple[str, str, bool]]:
        text = phrases.phrase(self.parse, head, self.refs)
        preps = self.parse.children(head, "prep")
        for prep in preps:
            yield from self._prepositional(prep, f"{predicate} {text}", set())
        for below in self.parse.children(head, "xcomp"):
            yield from self._objects(
                below, f"{predicate} {text} to {self.parse[below].lower}", set()
            )
        yield predicate, text, True

    def _is_no(self, head: int) -> bool:
        return any(
            self.parse[child].lower in ("no", "neither")
            for child in self.parse.children(head, "det")
        )

    def _prepositional(
        self, prep: int, predicate: str, dated: set[int], positive: bool = True
    ) -> Iterator[tuple[str, str, bool]]:
        words = f"{predicate} {self.parse[prep].lower}"
        for target in self.parse.children(prep, "pobj"):
            if target in dated:
                continue
            for triple in self._nominal(target, words):
                yield triple[0], triple[1], triple[2] and positive
        for below in self.parse.children(prep, "prep"):
            yield from self._prepositional(below, words, dated, positive)
        for below in self.parse.children(prep, "pcomp"):
            yield from self._objects(below, f"{words} {self.parse[below].lower}", dated)

    def _adverbial(
        self, target: int, predicate: str, dated: set[int]
    ) -> Iterator[tuple[str, str, bool]]:
        word = self.parse[target]
        if target in dated or word.lower in verbs.PARTICLES:
            return
        if word.dep == "npadvmod" and (phrases.is_noun(self.parse, target)):
            yield predicate, self._quantified(target), True
        for prep in self.parse.children(target, "prep"):
            yield from self._prepositional(prep, f"{predicate} {word.lower}", dated)

    def _quantified(self, target: int) -> str:
        """A stretch of time with its "every" or "next": these carry its sense."""
        article = self.parse.child(target, "det")
        text = phrases.phrase(self.parse, target, self.refs)
        return (
            f"every {text}"
            if article is not None and self.parse[article].lower == "every"
            else text
        )

    def _existence(self, verb: int) -> Iterator[Triple]:
        """Of "there is a bakery in Lyon": the bakery is in Lyon."""
        if self.parse[verb].lemma != "be":
            return
        for target in self.parse.children(verb, "attr", "nsubj"):
            preps = (*self.parse.children(verb, "prep"), *self.parse.children(target, "prep"))
            for prep in preps:
                if self.parse[prep].lower == "of":
                    continue
                for words, place, positive in self._prepositional(prep, "is", set()):
                    for name in self.name(target):
                        yield Triple(
                            name,
                            words,
                            place,
                            positive
                            and not (self._is_no(target) or verbs.is_negated(self.parse, verb)),
                        )

    def _role(self, verb: int) -> Iterator[Triple]:
        """A role and who fills it: "her husband is Jonas", "the editor is Ann Lee"."""
        subject, filler = self.parse.child(verb, "nsubj"), self.parse.child(verb, "attr")
        if subject is None or filler is None or self.parse[subject].pos != "NOUN":
            return
        if self.parse[filler].pos != "PROPN":
            return
        owners = self._owners(subject)
        role = " ".join(
            self.parse[at].text
            for at in phrases.core(self.parse, subject)
            if self.parse[at].dep not in ("poss", "case")
        )
        for owner in owners:
            for name in self.names(filler):
                yield Triple(name, f"is {role} of", owner, not verbs.is_negated(self.parse, verb))

    def _owners(self, noun: int) -> list[str]:
        owner = self.parse.child(noun, "poss")
        if owner is not None:
            held = phrases.possessor(self.parse, owner, self.refs)
            return [held] if held else []
        for prep in self.parse.children(noun, "prep"):
            target = self.parse.child(prep, "pobj")
            if self.parse[prep].lower == "of" and target is not None:
                return self.names(target)
        return [self.discourse.title] if self.discourse.title else []

    # Noun phrases

    def _noun(self, at: int) -> Iterator[Triple]:
        """What a noun phrase says by itself: appositions, kinship, "a cat called Kiki"."""
        name = phrases.naming(self.parse, at)
        if name != at:
            yield from self._is_a(self.name(at), phrases.phrase(self.parse, at, self.refs), at)
        for other in self.parse.children(at, "appos"):
            yield from self._apposition(at, other)
        bare = self.bare_name(at)
        if bare:
            whole = phrases.phrase(self.parse, at, self.refs)
            described = whole.removesuffix(bare).strip()
            yield from self._is_a([self.discourse.full(bare)], described, at)

    def _apposition(self, at: int, other: int) -> Iterator[Triple]:
        if phrases.is_time(self.parse, other) or self.parse[other].pos not in ("NOUN", "PROPN"):
            return
        if not self._is_apposition(at, other):
            return
        first, second = self.parse[at], self.parse[other]
        if first.entity in PLACES and second.entity in PLACES:
            for name, place in zip(self.name(at), self.name(other), strict=False):
                yield Triple(name, "is in", place)
            return
        if first.pos == "PROPN" or at in self.refs:
            yield from self._is_a(
                self.name(at), phrases.phrase(self.parse, other, self.refs), other
            )
        elif second.pos == "PROPN":
            yield from self._is_a(self.name(other), phrases.phrase(self.parse, at, self.refs), at)

    def _is_apposition(self, at: int, other: int) -> bool:
        """Whether two neighbours are one thing: not "Leeds, what a coincidence", "a flat, no lift".

        A description has an article or an owner, or is what people are; a second name is of the
        same sort as the first.
        """
        first, second = self.parse[at], self.parse[other]
        if phrases.is_time(self.parse, at):
            return False
        if self.discourse.title:
            return True
        if first.pos == "PROPN" and second.pos == "PROPN":
            return bool(first.entity) and first.entity == second.entity
        noun = other if second.pos == "NOUN" else at
        marks = {self.parse[child].lower for child in self.parse.children(noun, "det", "predet")}
        if marks & {"what", "no", "such", "another"}:
            return False
        is_person = kinds.of_noun(self.parse[noun].lemma.lower()) != "thing"
        return bool(marks) or is_person or self.parse.child(noun, "poss") is not None

    def _is_a(self, names: list[str], description: str, head: int) -> Iterator[Triple]:
        """Kinship for "Ana's sister", what something is for "a small bakery"."""
        owner = self.parse.child(head, "poss")
        held = phrases.possessor(self.parse, owner, self.refs) if owner is not None else ""
        rest = description.removeprefix(f"{held}'s ") if held else description
        for name in names:
            if held and rest != description:
                yield Triple(name, f"is {rest} of", held)
            elif description:
                yield Triple(name, "is", description)
                for prep in self.parse.children(head, "prep"):
                    for words, target, positive in self._prepositional(
                        prep, f"is {description}", set()
                    ):
                        yield Triple(name, words, target, positive)

    # Dates

    def day_at(self, top: int) -> dates.Day | None:
        """The date that a word which no verb governs belongs to: "saturday the 11th"."""
        within = set(self.parse.subtree(top))
        for mention in dates.find(self.parse.text):
            for at in within:
                if mention.start <= self.parse[at].start < mention.end and (
                    phrases.is_time(self.parse, top) or self.parse[top].pos == "ADP" or at == top
                ):
                    return mention.resolve(self.said_at, is_past=False)
        return None

    def _place(self, mention: dates.Mention) -> tuple[int, When] | None:
        """The verb that a date belongs to, and the date; ``None`` where either is unknown."""
        parse = self.parse
        words = [
            at for at, word in enumerate(parse.words) if mention.start <= word.start < mention.end
        ]
        top = next((at for at in words if parse[at].head not in words), None)
        if top is None or self._is_part_of_name(top):
            return None
        verb = next((at for at in parse.ancestors(top) if parse[at].pos in ("VERB", "AUX")), None)
        if verb is None:
            return None
        governor = parse[parse[top].head]
        # What "was moved to Monday" in the past lies ahead.
        is_moved = parse[verb].lemma in _MOVES and governor.lower in _AHEAD
        is_past = verbs.is_past(parse, verbs.finite(parse, verb)) and not is_moved
        is_past = is_past or governor.lower == "since"
        day = mention.resolve(self.said_at, is_past=is_past)
        if day is None:
            return None
        preposition = "on" if day.day else "in"
        if governor.pos in ("ADP", "SCONJ") and governor.lower != "of":
            preposition = governor.lower
        return verb, When(range(words[0], words[-1] + 1), day, preposition)

    def _is_part_of_name(self, top: int) -> bool:
        """Whether a date only tells one thing from others: "the 1920 Olympics"."""
        word = self.parse[top]
        return word.dep in ("compound", "amod", "nmod", "poss") or (
            word.dep == "nummod" and phrases.is_noun(self.parse, word.head)
        )

    def _dated(self, triple: Triple, whens: list[When]) -> Triple:
        for when in whens:
            if when.preposition in _UNTIL:
                triple = replace(triple, valid_to=triple.valid_to or when.day.iso)
            elif triple.valid_from is None:
                triple = replace(triple, valid_from=when.day.iso)
        return triple


def is_joke(text: str) -> bool:
    """Whether the speaker says that it was not meant."""
    lower = f" {text.lower()} "
    return any(f" {sign}" in lower for sign in lexicon.JOKES)

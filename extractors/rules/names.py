"""Who and what: names for noun phrases, and the subject of a clause."""

from __future__ import annotations

from dataclasses import dataclass

from graphmem.extractors.rules import lexicon, phrases, verbs
from graphmem.extractors.rules.discourse import Discourse
from graphmem.extractors.rules.words import Parse

__all__ = ["PLACES", "RELATIVE", "Namer"]

RELATIVE = frozenset("who whom which that".split())
_EMPTY = frozenset(
    """it this that these those there one ones something someone somebody anything everything
    nothing everyone everybody anyone who what which whom thing things lot lots bit kind sort way
    he she they him her them i you we us me other others same both all any some such here time
    times none nobody more most much many few yes no
    mine ours yours his hers its theirs""".split()
)  # fmt: skip
PLACES = frozenset({"GPE", "LOC", "FAC"})


@dataclass
class Namer:
    """Names what the noun phrases of one parsed text stand for.

    Attributes:
        parse: the text.
        refs: names that its pronouns stand for, by index.
        discourse: what has been mentioned so far.
        topic: subject for a first sentence that has none: what was asked about.
    """

    parse: Parse
    refs: dict[int, tuple[str, ...]]
    discourse: Discourse
    topic: tuple[str, ...] = ()

    def names(self, at: int) -> list[str]:
        """Names of what a noun phrase stands for, one for each conjunct; empty if unknown."""
        found: list[str] = []
        for head in phrases.conjuncts(self.parse, at):
            found += self.name(head)
        return found

    def name(self, at: int) -> list[str]:
        """Names of what one noun or pronoun stands for, without what is joined to it."""
        word = self.parse[at]
        if at in self.refs:
            return list(self.refs[at])
        if word.lower in RELATIVE and word.tag in ("WDT", "WP", "IN"):
            return self._antecedent_of(at)
        head = phrases.naming(self.parse, at)
        if head == at and word.lower in _EMPTY:
            return []
        text = self.bare_name(head) or phrases.phrase(self.parse, head, self.refs)
        return [self._definite(at, self.discourse.full(text))] if text else []

    def bare_name(self, at: int) -> str:
        """The name alone where a description stands before it: "Nora" of "his sister Nora"."""
        indices = phrases.core(self.parse, at)
        if self.parse[at].pos != "PROPN" or self.parse[at].entity not in (
            "PERSON",
            "",
            "ORG",
            "GPE",
        ):
            return ""
        described = [
            i
            for i in indices
            if i < at and self.parse[i].pos == "NOUN" and self.parse[i].text.islower()
        ]
        if not described:
            return ""
        return self.parse.join([i for i in indices if i > described[-1]])

    def _definite(self, at: int, name: str) -> str:
        """The title for "the film" in a document about a film."""
        article = self.parse.child(at, "det")
        if (
            self.discourse.title
            and self._is_definition(name.lower())
            and article is not None
            and self.parse[article].lower in ("the", "this")
        ):
            return self.discourse.title
        return name

    def _is_definition(self, noun: str) -> bool:
        known = self.discourse.definition
        return bool(known) and (noun == known or {noun, known} <= lexicon.ORGANISATIONS)

    def _antecedent_of(self, at: int) -> list[str]:
        for above in self.parse.ancestors(at):
            if self.parse[above].dep == "relcl":
                noun = self.parse[above].head
                governor = self.parse[noun].head  # "a cook from Rome who"
                if self.parse[at].lower == "who" and self.parse[noun].entity in PLACES:
                    noun = self.parse[governor].head
                return self.antecedent(noun)
        return []

    def antecedent(self, noun: int) -> list[str]:
        """What a modifying clause is about: for "she is a cook who sings" it is her, not a cook."""
        if self.parse[noun].dep in ("attr", "appos"):
            above = self.parse[noun].head
            if self.parse[noun].dep == "appos":
                return self.name(above) or self.name(noun)
            if self.parse[above].lemma == "be" and verbs.is_asserted(self.parse, above):
                return self.subjects(above) or self.name(noun)
        return self.name(noun)

    def subjects(self, verb: int) -> list[str]:
        """Names of a verb's subject, inherited from the clause above where it has none."""
        subject = self._subject(verb)
        if subject is not None and self._is_anybody(verb, subject):
            return []
        if subject is not None:
            names = self.names(subject)
            return [self.discourse.title] if self._defines(verb, names) else names
        word = self.parse[verb]
        if word.dep in ("acl", "relcl"):
            return self.antecedent(word.head)
        if word.dep in ("conj", "xcomp", "advcl", "ccomp", "dep", "parataxis") and (
            self.parse[word.head].pos in ("VERB", "AUX")
        ):
            return self.subjects(word.head)
        if word.dep == "pcomp":  # "after selling it": who does so does the rest of the clause
            above = (at for at in self.parse.ancestors(verb) if self.parse[at].pos == "VERB")
            return next((self.subjects(at) for at in above), [])
        return self._dropped_subject(verb)

    def _subject(self, verb: int) -> int | None:
        """A verb's own subject, which the parser may hang on its auxiliary."""
        for at in (verb, *self.parse.children(verb, "aux", "auxpass")):
            subject = self.parse.child(at, "nsubj", "nsubjpass")
            if subject is not None:
                return subject
        return None

    def _is_anybody(self, verb: int, subject: int) -> bool:
        """Whether "you" means people at large: "you can't park there"."""
        return self.parse[subject].lower == "you" and any(
            self.parse[child].lower in ("can", "ca", "must")
            for child in self.parse.children(verb, "aux")
        )

    def _defines(self, verb: int, names: list[str]) -> bool:
        """Whether a document's first sentence says what the title is, under a longer name."""
        title = {word.lower() for word in self.discourse.title.split()}
        return (
            bool(title)
            and bool(self.parse.sentences)
            and verb == self.parse.sentences[0].root
            and self.parse[verb].lemma == "be"
            and any(title & {word.lower() for word in name.split()} for name in names)
        )

    def _dropped_subject(self, verb: int) -> list[str]:
        """In chats "landed at noon" is the speaker, "walks with a stick" who was spoken of."""
        if self.discourse.title:
            return [self.discourse.title]
        sentence = next(one for one in self.parse.sentences if one.start <= verb < one.end)
        if self.topic and sentence == self.parse.sentences[0]:
            return list(self.topic)
        if self.parse[verb].tag == "VBZ" or self.parse[verb].lower == "born":
            return list(self.discourse.carried.get(sentence.start, ()))
        if self.parse[verb].tag in ("VBD", "VBN", "VBG"):
            person = self.discourse.going_on.get(sentence.start, ())
            if person:
                return list(person)
        if self.parse[verb].tag == "VBN" and not self.parse.child(verb, "dobj", "aux"):
            return []
        return [self.discourse.speaker] if self.discourse.speaker else []

"""`RulesExtractor`: passages in, triples out, without a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from graphmem.courtesy import give_way
from graphmem.extractors.rules import answers, clauses, spelling
from graphmem.extractors.rules.discourse import Discourse, bare_title
from graphmem.extractors.rules.pipeline import Pipeline
from graphmem.extractors.rules.words import LONGEST_SENTENCE, Parse
from graphmem.identity import clean_text, normal_form
from graphmem.types import Extraction, Passage, Triple, Usage

__all__ = ["RulesExtractor"]

VERSION = 1


class RulesExtractor:
    """Reads triples out of English text by dependency rules; offline, deterministic, no model call.

    What it makes of a passage depends on the passage and on ``passage.before`` alone: not on the
    other passages of the call, their order, or earlier calls. Text that is not English yields no
    triples. spaCy and its pipeline are loaded at the first call and shared by the
    process; calls from several threads take turns at the parser.

    Raises:
        MissingDependency: at the first call, when spaCy or an English pipeline is not installed.
    """

    @property
    def name(self) -> str:
        """``rules/`` and the version of the rules."""
        return f"rules/{VERSION}"

    @property
    def usage(self) -> Usage:
        """Always zero: no model is asked."""
        return Usage()

    def extract(self, passages: Sequence[Passage]) -> Sequence[Extraction]:
        """One extraction for each passage, in their order."""
        pipeline = Pipeline.shared()
        spoken = [_Spoken(passage, pipeline) for passage in passages]
        parses = pipeline.parse(text for one in spoken for text in one.texts)
        return [one.read(parses) for one in spoken]


class _Spoken:
    """A passage and what was said before it, spelled as the parser likes it."""

    def __init__(self, passage: Passage, pipeline: Pipeline) -> None:
        self.passage = passage
        if passage.role == "document":
            text = spelling.unbracket(passage.text, bare_title(passage.title))
            self.pieces = tuple(_readable(text))
            self.before: tuple[tuple[Passage, tuple[str, ...]], ...] = ()
            return
        names = _known_names((*passage.before, passage))
        self.pieces = tuple(_readable(passage.text, names, pipeline))
        # What comes before is looked back at only where there is something to read.
        self.before = tuple(
            (one, tuple(_readable(one.text, names, pipeline))[-1:])
            for one in passage.before
            if self.pieces
        )

    @property
    def texts(self) -> Iterator[str]:
        yield from self.pieces
        for _, last in self.before:
            yield from last

    def read(self, parses: Mapping[str, Parse]) -> Extraction:
        """What the passage says."""
        give_way()
        triples = tuple(self.triples(parses))
        return Extraction(self.passage.id, triples, dropped=tuple(self.unread(parses)))

    def unread(self, parses: Mapping[str, Parse]) -> Iterator[str]:
        """Why something was not read: sentences too long to be prose."""
        for text in self.pieces:
            for sentence in parses[text].sentences:
                if not sentence.is_readable:
                    count = sentence.end - sentence.start
                    yield f"a sentence of {count} words is over {LONGEST_SENTENCE}: not read"

    def triples(self, parses: Mapping[str, Parse]) -> Iterator[Triple]:
        """The triples, each once, in the order read."""
        if not self.pieces or clauses.is_joke(self.passage.text):
            return
        seen: set[tuple[str, str, str, bool]] = set()
        for triple in self._read(parses):
            subject, predicate, target = map(
                normal_form, (triple.subject, triple.predicate, triple.object)
            )
            key = (subject, predicate, target, triple.polarity)
            if subject and predicate and target and subject != target and key not in seen:
                seen.add(key)
                yield triple

    def _read(self, parses: Mapping[str, Parse]) -> Iterator[Triple]:
        passage = self.passage
        discourse = Discourse()
        asked = None
        for one, texts in self.before:
            discourse.speaker, discourse.addressee = clean_text(one.speaker), self._other(one)
            asked = None
            for parse in map(parses.__getitem__, texts):
                refs = discourse.hear(parse)
                reader = clauses.Reader(parse, refs, discourse, said_at=one.said_at)
                asked = answers.question(reader) if one.speaker != passage.speaker else None
        discourse.speaker, discourse.addressee = clean_text(passage.speaker), self._other(passage)
        if passage.role == "document":
            discourse.about(clean_text(passage.title), parses[self.pieces[0]])
        for at, text in enumerate(self.pieces):
            parse = parses[text]
            topic = asked.subjects if asked and at == 0 else ()
            refs = discourse.hear(parse)
            reader = clauses.Reader(parse, refs, discourse, topic, passage.said_at)
            if asked and at == 0:
                yield from answers.answer(reader, asked)
            yield from reader.read()

    def _other(self, one: Passage) -> str:
        """Whom a speaker talks to: who else spoke last."""
        voices: Iterable[Passage] = reversed((*self.passage.before, self.passage))
        other = next((voice.speaker for voice in voices if voice.speaker != one.speaker), "")
        return clean_text(other)


def _known_names(context: Iterable[Passage]) -> frozenset[str]:
    """Words that are names: of who speaks, and as the speakers write them."""
    context = tuple(context)
    speakers = {word for one in context for word in one.speaker.split() if word.isalpha()}
    return spelling.names_in(one.text[: spelling.PIECE_CHARS] for one in context) | speakers


def _readable(
    text: str, names: frozenset[str] = frozenset(), pipeline: Pipeline | None = None
) -> Iterator[str]:
    for piece in spelling.pieces(text):
        spelled = spelling.plain(piece)
        if spelled and spelling.is_english(spelled):
            yield spelling.capitalise(spelled, names, pipeline.knows) if pipeline else spelled

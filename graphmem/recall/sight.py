"""What single passages show of an answer: words, sense and cues, each with its neighbours.

h adds up the share of the question's words that a passage covers, its cosine with the question,
that of its best fact, and what topic, speaker, time and manner tell. A part whose field is missing
(vectors, facts, speakers) is silent. All but the facts' part is looked at here, for any passages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmem.index.cues import closeness
from graphmem.index.index import Index
from graphmem.index.lists import Bools, Floats, Ints, places, read_off
from graphmem.recall.question import Question
from graphmem.settings import RecallSettings

__all__ = ["Sight", "Windows", "look"]


Value = TypeVar("Value", np.float32, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """What passages show of an answer; T terms of the question, n passages.

    Attributes:
        passages: (n,) ascending.
        present: (T, n) whether the passage or a neighbour has the term.
        share: (n,) how much of the question it covers, 0 to 1: BM25 over its greatest possible
            value. Terms that no passage has count as uncovered, so that the share of a question
            asked in other words is small and its vectors weigh more.
        cosines: (n,) of the question and the passage with its neighbours, 0 without vectors.
        own: (n,) of the question and a message alone; 0 for documents.
        base: (n,) h but for the facts.
    """

    passages: Ints
    present: Bools
    share: Floats
    cosines: Floats
    own: Floats
    base: Floats

    def only(self, places: Ints) -> Sight:
        """Of some of the passages, by place, ascending."""
        return Sight(
            self.passages[places],
            self.present.take(places, axis=1),
            self.share[places],
            self.cosines[places],
            self.own[places],
            self.base[places],
        )

    def join(self, other: Sight) -> Sight:
        """Of both's passages, which are not the same."""
        order = np.argsort(np.concatenate([self.passages, other.passages]))

        def both(one: NDArray[np.generic], two: NDArray[np.generic]) -> NDArray[np.generic]:
            return np.concatenate([one, two], axis=-1)[..., order]

        return Sight(
            *(
                both(getattr(self, name), getattr(other, name))  # type: ignore[arg-type]
                for name in ("passages", "present", "share", "cosines", "own", "base")
            )
        )

    def places(self, passages: Ints) -> Ints:
        """Where passages stand in ``passages``; -1 for those that are not looked at."""
        return places(self.passages, passages)


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """What stands around passages; n passages, m members.

    Attributes:
        members: (m,) passages that stand in a window, each once.
        own: (n,) the member that each passage is itself.
        places: for each offset, with its weight, (n,) the member that stands there; -1 for nobody.
            Offsets but 0 at which nobody stands are left out.
    """

    members: Ints
    own: Ints
    places: tuple[tuple[float, Ints], ...]

    @classmethod
    def of(cls, memory: Index, passages: Ints, settings: RecallSettings) -> Windows:
        """The windows of passages."""
        around = memory.passages.threads.around(passages, [one for one, _ in settings.window])
        somebody = [
            (offset, weight)
            for offset, weight in settings.window
            if not offset or around[offset].max(initial=-1) >= 0
        ]
        if len(somebody) == 1:
            own = np.arange(len(passages))
            return cls(passages, own, ((somebody[0][1], own),))
        members, places = memory.passages.numbering.number(
            np.concatenate([around[offset] for offset, _ in somebody]), len(memory.passages)
        )
        offsets = [offset for offset, _ in somebody]
        rows = dict(zip(offsets, places.reshape(len(offsets), -1), strict=True))
        return cls(members, rows[0], tuple((weight, rows[at]) for at, weight in somebody))

    def summed(self, values: NDArray[Value]) -> NDArray[Value]:
        """(n, …) for each passage the sum of its window's ``values`` by weight.

        Args:
            values: (m + 1, …) of the members, and nothing for nobody.
        """
        total = np.zeros((len(self.own), *values.shape[1:]), dtype=values.dtype)
        for weight, standing in self.places:
            part = values.take(standing, axis=0, mode="wrap")
            part *= values.dtype.type(weight)
            total += part
        return total


def look(memory: Index, question: Question, passages: Ints, settings: RecallSettings) -> Sight:
    """Look at passages, which are ascending and each there once."""
    windows = Windows.of(memory, passages, settings)
    frequency, products, own = _heard(memory, question, windows)
    mean = memory.mean_heard
    b = settings.bm25_b
    heard = memory.heard(passages)
    norm = settings.bm25_k1 * (1 - b + b * heard / mean) if mean else np.ones(len(passages))
    total = float(question.idf.sum())
    # Not a matrix product: BLAS would start threads for it, which cost more than they give.
    covered = np.einsum("t,tp->p", question.idf, frequency / (frequency + norm))
    share = covered / total if total else np.zeros(len(passages))
    lengths = memory.window_length(passages)
    cosines = products / np.where(lengths > 0, lengths, 1.0)
    own = np.where(memory.passages.flag("spoken", passages), own, 0.0)
    base = share + settings.meaning_weight * cosines
    base += _cue_scores(memory, question, passages, settings)
    base += settings.topic_weight * _topics(memory, question, passages)
    return Sight(passages, frequency > 0, share, cosines, own, base)


def _heard(memory: Index, question: Question, windows: Windows) -> tuple[Floats, Floats, Floats]:
    """What stands in windows, neighbours by weight.

    Returns:
        (T, n) how often each term stands there; (n,) inner product of the question and the sum of
        the window's vectors; (n,) that of the question and the passage alone.
    """
    size = len(question.idf)
    values = np.empty((len(windows.members) + 1, size + 1))
    values[:-1, :size] = question.counts.take(windows.members, axis=0)
    values[:-1, size] = 0.0
    values[-1] = 0.0
    if question.vector is not None:
        senses = memory.senses["passage"]
        values[:-1, size] = senses.cosines(windows.members, question.vector[None])[0]
    summed = windows.summed(values)
    return np.ascontiguousarray(summed[:, :size].T), summed[:, size], values[windows.own, size]


def _topics(memory: Index, question: Question, passages: Ints) -> Floats:
    """(n,) how telling the name is that the document is about; 0 for messages."""
    about, telling = question.about
    told = read_off(about, telling, passages)
    told[memory.passages.flag("spoken", passages)] = 0.0
    return told


def _cue_scores(
    memory: Index, question: Question, passages: Ints, settings: RecallSettings
) -> Floats:
    """What speaker, time and manner add to h."""
    cues, told = question.cues, memory.passages
    scores = told.by_flags(
        passages,
        personal=settings.personal_weight,
        question=-settings.question_weight,
        timed=settings.time_weight * cues.asks_when,
    )
    is_spoken = told.flag("spoken", passages)
    if cues.dates:
        near = closeness(cues.dates, told.days(passages), settings.date_scale)
        scores += settings.date_weight * np.where(is_spoken, near, 0.0)
    if cues.speakers:
        scores -= settings.document_weight * ~is_spoken
    if len(cues.speakers) == 1:
        # Half for the right speaker, half off for others: a question that names nobody stands in
        # the middle.
        is_named = told.speaker[passages] == told.speakers.number(cues.speakers[0])
        half = settings.speaker_weight / 2
        scores += np.where(is_spoken, np.where(is_named, half, -half), 0.0)
    return scores

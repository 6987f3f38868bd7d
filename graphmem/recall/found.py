"""What a recall found: a ranking, and all that it rests on, for whoever asks why."""

from __future__ import annotations

from dataclasses import dataclass

from graphmem.index.lists import Floats, Ints, read_off
from graphmem.recall.bridge import Bridge
from graphmem.recall.prior import Prior
from graphmem.recall.question import Question
from graphmem.recall.seeds import Fits, Seeds
from graphmem.recall.sight import Sight
from graphmem.recall.succession import Lifted
from graphmem.recall.walk import Reached
from graphmem.types import Route

__all__ = ["Found", "Parts"]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What the scores of n passages are made of; they add up to the scores.

    Attributes:
        reached: (n,) z: the higher of what the walk brought and what a passage is by itself; h
            where nothing walked.
        own: (n,) for the sense of a message alone.
        bridge: (n,) what the bridge added.
    """

    reached: Floats
    own: Floats
    bridge: Floats

    @property
    def scores(self) -> Floats:
        """(n,) their sums."""
        scores: Floats = self.bridge + (self.reached + self.own)
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A ranking and what it rests on; n passages.

    Attributes:
        route, reason: as in ``Recall``.
        ranking: passages that may be shown, best first.
        passages: (n,) all that were ranked, ascending.
        scores: (n,) what they are ranked by, each at least 0.
        parts: what those are made of.
        question: what was asked.
        sight: what the passages show, and others that were not ranked.
        prior: how well those that were weighed answer by themselves.
        fits: how well facts fit the question.
        lifts: what was then put above what, in the order in which it was done.
        seeds: where the walk began; None without a walk.
        reached: where it came to.
        bridge: what led from passage to passage.
    """

    route: Route
    reason: str
    ranking: Ints
    passages: Ints
    scores: Floats
    parts: Parts
    question: Question
    sight: Sight
    prior: Prior
    fits: Fits
    lifts: tuple[Lifted, ...] = ()
    seeds: Seeds | None = None
    reached: Reached | None = None
    bridge: Bridge | None = None

    def score(self, passages: Ints) -> Floats:
        """What passages are ranked by; 0 for those that were not scored."""
        return read_off(self.passages, self.scores, passages)

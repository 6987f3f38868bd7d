"""The constants of indexing and recall, each with what it trades."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf

from graphmem.errors import InvalidInput

__all__ = ["RecallSettings"]


_SHARES = frozenset(
    """
    hub_share bm25_b least_covered synonym_cosine later_alike seed_near
    """.split()
)
_COUNTS = frozenset({"longest_name", "look_k", "weigh_k", "settle_k"})
# Divided by, or the weight of an edge.
_POSITIVE = frozenset({"bm25_k1", "date_scale", "walk_half", "about_weight", "synonym_cosine"})
# A walk that never ends does not end.
_MOST = {"damping": 0.99}


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """The constants of indexing and recall, tuned on documents and chats together.

    They lie on plateaus: a tenth up or down moves no data set by more than a question or two. The
    first six shape the index and hold from when it is made; the others may differ by recall.

    Raises:
        InvalidInput: a constant that is no number, below 0, or no share where one is meant.

    Attributes:
        hub_share: a speaker of at least this share of the spoken passages is a hub: the name says
            nothing about a passage, so it leaves words, question vector, seeds and walk.
        window: offset within a thread → how much a neighbour's words and vector count for a
            passage: a message is understood by what stands around it.
        about_weight: weight of the mention edge to an entity that the passage is about; others
            weigh 1.
        synonym_cosine: entities at least this similar are joined by an edge of that weight.
        longest_name: words of the longest name that is looked for in texts.
        common_name: a name in more passages than this links none: it would link all.
        bm25_k1: how soon a repeated word stops counting; higher is later.
        bm25_b: how much long passages are held back, 0 to 1.
        meaning_weight: the windowed cosine in h, beside the covered share of the question.
        fact_weight: the best cosine of a fact of the passage in h.
        speaker_weight: in h, for the speaker that the question names. Above 0.15 it breaks
            questions that name the wrong person.
        document_weight: in h, taken from documents where the question names a speaker: it is about
            what was said.
        date_weight: in h, for being said near a date that the question names.
        date_scale: days in which that nearness falls to 1/e.
        personal_weight: in h, for words of the first person: people tell about themselves.
        question_weight: in h, taken from messages that ask.
        time_weight: in h, for a word of time where the question asks when.
        topic_weight: in h, for a document about something that the question names, times how
            telling the name is.
        least_covered: facts from a smaller share of the passages than this are no graph to rely on.
        look_all: in a memory or session of at most so many passages all are looked at.
        look_k: of a larger one so many by vectors and by words each, and their neighbours.
        weigh_k: passages whose facts are looked at: the best without them.
        fact_prior: the passage's h in a fact's score, beside its cosine.
        seed_k, seed_most, seed_near: number of seed facts: the ``seed_k`` best, and up to
            ``seed_most`` of those that fit ``seed_near`` times as well as the best. More bring in
            wrong ones.
        name_weight: reset weight of an entity that the question names, where a seed fact's is its
            score, 0 to 1.
        passage_weight, passage_power, passage_k: reset weight of the best passages,
            ``passage_weight * h ** passage_power`` for the ``passage_k`` best. The power is also
            the least that the walk leaves a passage: z is at least ``h ** passage_power``.
        damping: probability of going on in PageRank; 0.5 stays near the seeds.
        walk_all: a graph of at most so many edges, each counted from both ends, is walked whole, by
            power steps; a larger one by a push around the seeds.
        settle_k: a push is refined until its best passages are certain, so many.
        most_work: or until so many edges were read.
        walk_half: y at which the walk's score z = (1 + half) y / (y + half) is halfway up: the
            lower, the more alike the best passages are to each other.
        first_hops: passages that the bridge starts from.
        bridge_weight: the bridge beside z.
        linked_k: pairs that share a telling name, so many of which are looked at: those that add
            most of the question's words by the strongest links.
        bridge_k: linked pairs that the bridge looks at closely, the most promising.
        about_bonus: link bonus where one passage is about what the other names.
        own_weight: beside z, or h where nothing walks, for the sense of a message alone, as a share
            of the highest: of neighbours in one window the one that says it itself comes first.
        later_among, later_alike, later_as_good: see ``succession.lift_later``.
    """

    hub_share: float = 0.1
    window: tuple[tuple[int, float], ...] = (
        (-4, 0.1),
        (-3, 0.1),
        (-2, 0.4),
        (-1, 0.5),
        (0, 1.0),
        (1, 0.3),
        (2, 0.2),
        (4, 0.1),
    )
    about_weight: float = 5.0
    synonym_cosine: float = 0.8
    longest_name: int = 8
    common_name: int = 100
    bm25_k1: float = 1.2
    bm25_b: float = 0.75
    meaning_weight: float = 0.7
    fact_weight: float = 0.5
    speaker_weight: float = 0.1
    document_weight: float = 0.1
    date_weight: float = 0.25
    date_scale: float = 15.0
    personal_weight: float = 0.06
    question_weight: float = 0.08
    time_weight: float = 0.1
    topic_weight: float = 0.25
    least_covered: float = 0.15
    look_all: int = 500
    look_k: int = 100
    weigh_k: int = 100
    fact_prior: float = 1.5
    seed_k: int = 3
    seed_most: int = 8
    seed_near: float = 0.9
    name_weight: float = 0.3
    passage_weight: float = 0.2
    passage_power: float = 6.0
    passage_k: int = 50
    damping: float = 0.5
    walk_all: int = 40_000
    settle_k: int = 5
    most_work: int = 15_000
    walk_half: float = 0.2
    first_hops: int = 10
    bridge_weight: float = 0.5
    about_bonus: float = 0.5
    linked_k: int = 250
    bridge_k: int = 70
    own_weight: float = 0.2
    later_among: int = 10
    later_alike: float = 0.7
    later_as_good: float = 0.8

    def __post_init__(self) -> None:
        for constant in fields(self):
            name, value = constant.name, getattr(self, constant.name)
            if name == "window":
                _check_window(value)
                continue
            is_whole = isinstance(constant.default, int)
            if isinstance(value, bool) or not isinstance(value, int if is_whole else (int, float)):
                kind = "a whole number" if is_whole else "a number"
                raise InvalidInput(f"{name} must be {kind}, not {value!r}")
            _check_range(name, value)


def _check_range(name: str, value: float) -> None:
    least = 1 if name in _COUNTS else 0
    most = _MOST.get(name, 1.0 if name in _SHARES else inf)
    is_positive = name in _POSITIVE
    if least <= value <= most and value < inf and (value > 0 or not is_positive):
        return
    if is_positive:
        meant = "more than 0" if most == inf else f"more than 0, at most {most:g}"
    else:
        meant = f"{least} or more" if most == inf else f"{least} to {most:g}"
    raise InvalidInput(f"{name} must be {meant}, not {value!r}")


def _check_window(window: object) -> None:
    try:
        weights = {offset: weight for offset, weight in window}  # type: ignore[attr-defined]
        is_right = (
            len(weights) == len(window)  # type: ignore[arg-type]
            and all(isinstance(offset, int) for offset in weights)
            and all(0 <= weight < inf for weight in weights.values())
            and weights.get(0, 0) > 0
        )
    except (TypeError, ValueError):
        is_right = False
    if not is_right:
        raise InvalidInput(
            "window must be pairs of a whole offset, each once, and a weight of 0 or more, with "
            f"more than 0 at offset 0, such as ((-1, 0.5), (0, 1.0)), not {window!r:.80}"
        )

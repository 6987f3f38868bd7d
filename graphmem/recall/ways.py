"""What brought a passage up, by ids: the walk, itself, the bridge, or that it is newer.

They are read off what a recall found; nothing is ranked anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from graphmem.explanation import Part, PathPart, PlaceKind, StepKind
from graphmem.index.graph import entity_vertices, passage_vertices
from graphmem.index.index import Index
from graphmem.index.lists import Bools, Ints, among, each_once, places
from graphmem.recall.bridge import telling
from graphmem.recall.chain import raised
from graphmem.recall.found import Found
from graphmem.recall.paths import Way, likeliest
from graphmem.recall.sight import look
from graphmem.recall.wanted import Wanted
from graphmem.settings import RecallSettings

__all__ = ["QUESTION", "Leg", "Spot", "Trail", "Ways"]

_MOST_FACTS = 3
_MOST_NAMES = 3
_MOST_PASSAGES = 2
# Of the walk: what brings less than this explains nothing.
_LEAST_SHARE = 0.01

Spot = tuple[PlaceKind, str]
"""Where a way passes: what it is, and its id."""

QUESTION: Spot = ("question", "")


@dataclass(frozen=True, slots=True)
class Leg:
    """A step by ids; see ``explanation.Step``.

    Attributes:
        kind, source, target, weight: as there.
        facts: ids of what it rests on.
        passages: ids of those in whose words it stands.
        names: ids of entities that join what it joins.
        terms: terms of the question that the passage has (``answers``), or adds (``bridge``).
        beside: of these terms, those that only the messages beside it have, which count with it.
        share: of the question's words that those are, by weight, 0 to 1.
        sense: cosine: of the question and the passage, of names alike, or of what the bridge adds.
    """

    kind: StepKind
    source: Spot
    target: Spot
    weight: float
    facts: tuple[str, ...] = ()
    passages: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    share: float = 0.0
    sense: float = 0.0


@dataclass(frozen=True, slots=True)
class Trail:
    """A path by ids; see ``explanation.Path``."""

    part: PathPart
    share: float
    legs: tuple[Leg, ...]


class Ways:
    """The ways to passages in one recall.

    Needs the memory's lock.

    Args:
        memory: the index.
        found: what the recall found.
        wanted: what it was about.
        settings: its constants.
    """

    def __init__(
        self, memory: Index, found: Found, wanted: Wanted, settings: RecallSettings
    ) -> None:
        self._memory = memory
        self._found = found
        self._wanted = wanted
        self._settings = settings

    def parts(self, passage: int) -> tuple[Part, ...]:
        """What a passage's score is made of, without what adds nothing."""
        found = self._found
        at = int(places(found.passages, np.array([passage]))[0])
        if at < 0:
            return ()
        parts = found.parts
        # In the order in which they are added up for the score.
        named = (
            Part("walk" if self._is_walked(passage, at) else "itself", float(parts.reached[at])),
            Part("own words", float(parts.own[at])),
            Part("bridge", float(parts.bridge[at])),
        )
        return tuple(part for part in named if part.score)

    def _is_walked(self, passage: int, at: int) -> bool:
        """Whether what the walk brought is more than what the passage is by itself."""
        reached = self._found.reached
        if reached is None:
            return False
        walked = raised(reached.rank(np.array([passage])), self._settings)[0]
        return bool(walked > 0 and walked >= self._found.parts.reached[at])

    def trails(self, passage: int, most: int) -> list[Trail]:
        """What brought a passage up, by part of its score; of the walk the ``most`` likeliest."""
        parts = {part.name: part.score for part in self.parts(passage)}
        walked = self._walked(passage, most) if "walk" in parts else []
        trails = walked[:1] + [one for one in walked[1:] if one.share >= _LEAST_SHARE]
        # What it is by itself stands first where nothing else says more.
        is_own = parts.get("own words", 0.0) >= max(parts.values(), default=0.0) > 0
        is_direct = any(len(one.legs) == 1 for one in trails)
        if ("itself" in parts or is_own) and not is_direct:
            trails.append(self._direct(passage))
        trails += [*self._bridged(passage), *self._lifted(passage)]
        return trails or [self._direct(passage)]

    # -- by itself -------------------------------------------------------------------------------

    def answers(self, passage: int) -> Leg:
        """From the question to a passage by itself."""
        found, memory = self._found, self._memory
        at = int(found.sight.places(np.array([passage]))[0])
        sight = found.sight
        if at < 0:
            sight, at = look(memory, found.question, np.array([passage]), self._settings), 0
        place = int(places(found.prior.passages, np.array([passage]))[0])
        id_ = memory.passages.ids.text(passage)
        return Leg(
            "answers",
            QUESTION,
            ("passage", id_),
            float(found.prior.scores[place]) if place >= 0 else 0.0,
            passages=(id_,),
            terms=self._terms(sight.present[:, at]),
            beside=self._terms(sight.present[:, at] & ~self._has(passage)),
            share=float(sight.share[at]),
            sense=float(sight.cosines[at]),
        )

    def _has(self, passage: int) -> Bools:
        """Whether the passage has each of the question's terms, in its words or its facts."""
        has: Bools = self._found.question.counts[passage] > 0
        return has

    def _terms(self, present: Bools) -> tuple[str, ...]:
        return tuple(self._found.question.terms[at] for at in present.nonzero()[0].tolist())

    def _direct(self, passage: int) -> Trail:
        return Trail("itself", 1.0, (self.answers(passage),))

    # -- by the walk -----------------------------------------------------------------------------

    def _walked(self, passage: int, most: int) -> list[Trail]:
        """The likeliest ways of the walk to a passage, best first, ties by their ids."""
        found, graph = self._found, self._memory.graph
        if found.seeds is None or found.reached is None:
            return []
        rank = float(found.reached.rank(np.array([passage]))[0]) * found.reached.top
        if rank <= 0:
            return []
        damping = self._settings.damping
        ways = likeliest(
            graph.steps,
            graph.strengths,
            int(passage_vertices(np.array([passage]))[0]),
            found.seeds.reset.vertices,
            damping=damping,
            sizes=graph.sizes,
            ranks=self._ranks,
        )
        # The rank is a share of all walks but those of seeds without edges that are lost.
        moving = float(found.seeds.reset.weights[self._moves()].sum())
        whole = rank * (moving + (1 - damping) * (1 - moving))
        weighed = [
            (share * way.likelihood * (1 - damping), legs, way)
            for way in ways
            for share, legs in self._starts(way.vertices[0])
        ]
        weighed = [one for one in weighed if one[0] > 0]
        # What a push knows of a rank may be a little less than the ways come to.
        whole = max(whole, sum(likelihood for likelihood, _, _ in weighed))
        likely = sorted((likelihood for likelihood, _, _ in weighed), reverse=True)
        least = likely[:most][-1] if likely else 0.0
        trails = [
            Trail("walk", likelihood / whole, (*legs(), *self._legs(way)))
            for likelihood, legs, way in weighed
            if likelihood >= least
        ]
        return sorted(trails, key=_by_share)[:most]

    def _moves(self) -> Bools:
        seeds = self._found.seeds
        vertices = np.zeros(0, dtype=np.int64) if seeds is None else seeds.reset.vertices
        has_edges: Bools = self._memory.graph.strengths(vertices) > 0
        return has_edges

    def _starts(self, vertex: int) -> list[tuple[float, Callable[[], tuple[Leg, ...]]]]:
        """How the question comes to where a walk starts: (share of the starts, the legs)."""
        seeds = self._found.seeds
        assert seeds is not None
        reset, at = seeds.reset, vertex // 2
        if vertex % 2:
            place = int((reset.passages == at).nonzero()[0][0])
            return [(float(reset.by_passage[place]), lambda: (self.answers(at),))]
        place = int(reset.entities.searchsorted(at))
        target: Spot = ("entity", self._memory.entities.ids.text(at))
        by_name = float(reset.by_name[place])
        found: list[tuple[float, Callable[[], tuple[Leg, ...]]]] = []
        if by_name:
            found.append((by_name, lambda: (Leg("names", QUESTION, target, by_name),)))
        times = (self._memory.facts.ends(seeds.facts) == at).sum(axis=1)
        whole = float((times * seeds.scores).sum())
        for number in times.nonzero()[0].tolist():
            score = float(seeds.scores[number])
            share = float(reset.by_fact[place]) * float(times[number]) * score / whole
            legs = partial(self._through, int(seeds.facts[number]), score, target, share)
            found.append((share, legs))
        return found

    def _through(self, fact: int, score: float, target: Spot, share: float) -> tuple[Leg, ...]:
        id_ = self._memory.facts.ids.text(fact)
        spot: Spot = ("fact", id_)
        stating = self._stating(fact)
        return (
            Leg("fits", QUESTION, spot, score, facts=(id_,), passages=stating),
            Leg("end", spot, target, share, facts=(id_,)),
        )

    def _stating(self, fact: int) -> tuple[str, ...]:
        """Ids of passages that state a fact, a few, those that may be shown first."""
        stating = self._memory.facts.stating.row(fact)
        kept = self._wanted.only(stating)
        shown = kept if len(kept) else stating
        return tuple(sorted(self._memory.passages.ids.texts(shown))[:_MOST_PASSAGES])

    def _legs(self, way: Way) -> list[Leg]:
        pairs = zip(way.vertices, way.vertices[1:], way.shares, strict=False)
        return [self._leg(one, other, share) for one, other, share in pairs]

    def _leg(self, one: int, other: int, share: float) -> Leg:
        source, target = self._spot(one), self._spot(other)
        if one % 2 or other % 2:
            passage, entity = (one, other) if one % 2 else (other, one)
            facts = self._mentions(passage // 2, entity // 2)
            said = self._memory.passages.ids.text(passage // 2)
            return Leg("mention", source, target, share, self._fact_ids(facts), (said,))
        facts = self._between(one // 2, other // 2)
        near, cosines = self._memory.entities.synonyms.gather([one // 2])[1:]
        cosine = float(cosines[near == other // 2].sum())
        if not len(facts):
            return Leg("alike", source, target, share, sense=cosine)
        stating = self._stating(int(facts[0]))
        return Leg("fact", source, target, share, self._fact_ids(facts), stating, sense=cosine)

    def _spot(self, vertex: int) -> Spot:
        if vertex % 2:
            return "passage", self._memory.passages.ids.text(vertex // 2)
        return "entity", self._memory.entities.ids.text(vertex // 2)

    def _fact_ids(self, facts: Ints) -> tuple[str, ...]:
        return tuple(self._memory.facts.ids.texts(facts))

    def _mentions(self, passage: int, entity: int) -> Ints:
        """Facts of a passage that name an entity: believed ones, or others where there are none."""
        facts = self._memory.facts.stated.row(passage)
        facts = facts[(self._memory.facts.ends(facts) == entity).any(axis=1)]
        live = facts[self._wanted.is_live(facts)]
        return self._fittest(live if len(live) else facts)

    def _between(self, one: int, other: int) -> Ints:
        """Believed facts that join two entities."""
        memory = self._memory
        holding = [self._passages_of(entity) for entity in (one, other)]
        both = holding[0][among(holding[1], holding[0])]
        facts = each_once(memory.facts.stated.gather(both)[1])
        facts = facts[memory.facts.is_live(facts)]
        ends = np.sort(memory.facts.ends(facts), axis=1)
        return self._fittest(facts[(ends == sorted((one, other))).all(axis=1)])

    def _passages_of(self, entity: int) -> Ints:
        """Passages whose facts name an entity, ascending."""
        near = self._memory.graph.weights(entity_vertices(np.array([entity])))[1]
        return np.sort(near[near % 2 == 1] // 2)

    def _fittest(self, facts: Ints) -> Ints:
        """A few of the facts, those that fit best first, ties by id."""
        scores = self._found.fits.score(facts)
        order = np.lexsort((self._memory.facts.ids.ranks(facts), -scores))
        return facts[order][:_MOST_FACTS]

    def _ranks(self, vertices: Ints) -> Ints:
        """What decides ties: entities before passages, each by id."""
        is_passage = vertices % 2 == 1
        ranks = np.empty(len(vertices), dtype=np.int64)
        entities, passages = vertices[~is_passage] // 2, vertices[is_passage] // 2
        ranks[~is_passage] = self._memory.entities.ids.ranks(entities)
        ranks[is_passage] = len(entities) + self._memory.passages.ids.ranks(passages)
        return ranks

    # -- from other passages ---------------------------------------------------------------------

    def _best(self, passage: int) -> Trail:
        """The likeliest way of the walk to a passage, or by itself."""
        walked = self._walked(passage, 1)
        return walked[0] if walked else self._direct(passage)

    def _bridged(self, passage: int) -> list[Trail]:
        """Over the bridge, from the first hop that counted."""
        found, memory = self._found, self._memory
        pair = -1 if found.bridge is None else found.bridge.best(passage)
        if found.bridge is None or pair < 0:
            return []
        hop = int(found.bridge.linked.hops[pair])
        shared = telling(memory, hop, passage)[:_MOST_NAMES]
        at = found.sight.places(np.array([hop, passage]))
        adds = found.sight.present[:, at[1]] & ~found.sight.present[:, at[0]]
        ends = np.array([end for pair_ends in shared for end in pair_ends], dtype=np.int64)
        names = dict.fromkeys(memory.entities.ids.texts(ends))
        facts = [
            self._mentions(of, entity)[:1]
            for pair_ends in shared[:1]
            for of, entity in ((hop, pair_ends[0]), (passage, pair_ends[1]))
        ]
        ids = tuple(memory.passages.ids.texts(np.array([hop, passage])))
        place = int(places(found.passages, np.array([passage]))[0])
        leg = Leg(
            "bridge",
            ("passage", ids[0]),
            ("passage", ids[1]),
            float(found.parts.bridge[place]),
            tuple(dict.fromkeys(id_ for some in facts for id_ in self._fact_ids(some))),
            ids,
            tuple(names),
            self._terms(adds),
            self._terms(adds & ~self._has(passage)),
            float(found.bridge.words[pair]),
            float(found.bridge.sense[pair]),
        )
        return [Trail("bridge", 1.0, (*self._best(hop).legs, leg))]

    def _lifted(self, passage: int) -> list[Trail]:
        """By bringing up to date what stands just below."""
        memory = self._memory
        for lifted in reversed(self._found.lifts):
            pair = lifted.pair_of(passage)
            if pair < 0:
                continue
            earlier = int(lifted.earlier[pair])
            ids = tuple(memory.passages.ids.texts(np.array([earlier, passage])))
            facts = self._fact_ids(np.array([lifted.by[pair], lifted.replaced[pair]]))
            leg = Leg("newer", ("passage", ids[0]), ("passage", ids[1]), 1.0, facts, ids)
            return [Trail("newer", 1.0, (*self._best(earlier).legs, leg))]
        return []


def _by_share(trail: Trail) -> tuple[float, list[Spot]]:
    return -trail.share, [leg.target for leg in trail.legs]

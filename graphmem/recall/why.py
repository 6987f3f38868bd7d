"""Why a passage is recalled for a question, or is not: the recall made again, and read off."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphmem.errors import InvalidInput
from graphmem.explanation import Explanation, Outcome, Part, why_withheld
from graphmem.index.index import Index
from graphmem.index.lists import among, without
from graphmem.recall.chain import Read, Rows, Showing, answered, find, least_fit, showing
from graphmem.recall.clock import Clock
from graphmem.recall.found import Found
from graphmem.recall.past import Past
from graphmem.recall.steps import needed, worded
from graphmem.recall.wanted import Wanted
from graphmem.recall.ways import Trail, Ways
from graphmem.settings import RecallSettings
from graphmem.types import Recall, Scope

__all__ = ["explain"]

# Ways of the walk that are told; one by another of its starts each.
_MOST_WAYS = 3
_NO_VECTOR = "it has no vector yet: its own words alone count"


@dataclass(frozen=True, slots=True)
class _Case:
    """What became of a passage, by ids."""

    outcome: Outcome
    reason: str
    trails: tuple[Trail, ...] = ()
    rank: int | None = None
    score: float | None = None
    parts: tuple[Part, ...] = ()
    against: tuple[Part, ...] = ()
    withheld: tuple[str, ...] = ()


def explain(
    memory: Index,
    query: str,
    vector: NDArray[np.float32] | None,
    read: Read,
    *,
    passage_id: str,
    scope: Scope,
    top_k: int = 5,
    settings: RecallSettings = RecallSettings(),  # noqa: B008 - frozen
    session: str | None = None,
    past: Past | None = None,
) -> Explanation:
    """Why a passage is recalled, or not, by the same stages as ``recall`` and with its arguments.

    Args:
        memory: the scope's index.
        query: the question.
        vector: its embedding, as for ``recall``.
        read: reads what is told.
        passage_id: a passage of the scope.
        scope: whose memory it is, for the result.
        top_k: number of passages that are shown.
        settings: the constants.
        session: only passages of this session are meant.
        past: what held and was known at another time.

    Raises:
        InvalidInput: ``top_k`` below 1, or a vector that does not fit the memory's.
    """
    if top_k < 1:
        raise InvalidInput(f"top_k must be at least 1, not {top_k}")
    with memory.lock:
        wanted = Wanted(memory, session, past)
        found = find(memory, query, vector, wanted, top_k, settings, Clock())
        passage = memory.passages.ids.get(passage_id)
        case = _excluded(memory, passage, wanted)
        shown = None
        if isinstance(found, str):
            case = case or _Case("not reached", found)
        else:
            shown = showing(memory, found, wanted, top_k, settings.seed_near)
            case = case or _judged(memory, found, wanted, passage, top_k, settings)
        notes = _notes(memory, passage)
    rows = _rows(read, passage_id, case, shown, past)
    recall = Recall(query, scope)
    if shown is not None and not isinstance(found, str):
        recall = answered(recall, found, shown, rows)
    withheld = tuple(rows.facts[id_] for id_ in case.withheld if id_ in rows.facts)
    reason = case.reason
    if case.outcome == "withheld":
        reason = f"{', '.join(sorted({why_withheld(one) for one in withheld}))}: {reason}"
    # The last one shown may have been forgotten meanwhile.
    is_whole = shown is not None and len(recall) == len(shown.passage_ids)
    return Explanation(
        query,
        scope,
        passage_id,
        case.outcome,
        reason,
        passage=rows.passages.get(passage_id),
        rank=case.rank,
        score=case.score,
        top_k=top_k,
        route=recall.route,
        parts=case.parts,
        paths=worded(case.trails, query, rows),
        above=() if case.outcome == "recalled" else recall.passages,
        against=case.against if is_whole else (),
        withheld=withheld,
        notes=notes,
    )


def _excluded(memory: Index, passage: int, wanted: Wanted) -> _Case | None:
    """The case of a passage that this recall is not about; None of any other."""
    if passage < 0:
        return _Case("not reached", "it is stored, and will be found in a moment")
    one = np.array([passage])
    if wanted.session is not None and passage not in memory.passages.session(wanted.session):
        return _Case("other session", "it is not of the session that was asked for")
    if wanted.past is None or len(wanted.only(one)):
        return None
    if not wanted.past.passages([memory.passages.ids.text(passage)]):
        return _Case("not of that time", "it was not known then")
    return _Case("not of that time", "it was said later, and states nothing that held then")


def _judged(
    memory: Index,
    found: Found,
    wanted: Wanted,
    passage: int,
    top_k: int,
    settings: RecallSettings,
) -> _Case:
    """The case of a passage that was looked for."""
    ways = Ways(memory, found, wanted, settings)
    rank, shown = _rank(memory, found, passage), found.ranking[:top_k]
    if rank is None:
        case = _unranked(ways, passage)
    else:
        trails = tuple(ways.trails(passage, _MOST_WAYS))
        score = float(found.score(np.array([passage]))[0])
        reason = f"rank {rank} by the {found.route} route: {found.reason}"
        case = _Case("recalled", reason, trails, rank, score, ways.parts(passage))
        if rank > top_k:
            least = float(found.score(shown[-1:])[0])
            reason = f"rank {rank}, and {len(shown)} are shown: {score:.3f} against {least:.3f}"
            case = replace(case, outcome="outranked", reason=reason)
    case = replace(case, withheld=_withheld(memory, found, passage, settings.seed_near))
    if case.outcome == "recalled":
        return case
    if case.withheld:
        told = "it states what fits the question but may not lead to it; " + case.reason
        case = replace(case, outcome="withheld", reason=told)
    return replace(case, against=ways.parts(int(shown[-1])) if len(shown) else ())


def _unranked(ways: Ways, passage: int) -> _Case:
    """The case of a passage that nothing led to."""
    alone = ways.answers(passage)
    own = len(alone.terms) - len(alone.beside)
    words = f"{own} of its words" if own else "none of its words"
    return _Case(
        "not reached",
        f"neither near the question nor led to: it has {words}, similarity {alone.sense:.2f}",
    )


def _rank(memory: Index, found: Found, passage: int) -> int | None:
    """A passage's place in the ranking from 1, ties by id; None where it was not ranked."""
    order: list[int] = found.ranking.tolist()
    if passage in order:
        return order.index(passage) + 1
    if passage not in found.passages:
        return None
    rest = without(found.passages, np.sort(found.ranking))
    score = found.score(np.array([passage]))[0]
    scores, ranks = found.score(rest), memory.passages.ids.ranks(rest)
    mine = ranks[rest == passage][0]
    is_better = (scores > score) | ((scores == score) & (ranks < mine))
    return len(order) + int(np.count_nonzero(is_better)) + 1


def _withheld(memory: Index, found: Found, passage: int, near: float) -> tuple[str, ...]:
    """Ids of a passage's facts that fit well enough but may not seed, best first, ties by id."""
    facts = memory.facts.stated.row(passage)
    scores = found.fits.score(facts)
    is_live = among(found.fits.facts[found.fits.live], facts)
    kept = ~is_live & (scores > 0) & (scores >= least_fit(found, near))
    facts, scores = facts[kept], scores[kept]
    order = np.lexsort((memory.facts.ids.ranks(facts), -scores))
    return tuple(memory.facts.ids.texts(facts[order]))


def _notes(memory: Index, passage: int) -> tuple[str, ...]:
    if passage < 0 or memory.senses["passage"].has(np.array([passage]))[0]:
        return ()
    return (_NO_VECTOR,)


def _rows(
    read: Read, passage_id: str, case: _Case, shown: Showing | None, past: Past | None
) -> Rows:
    """What is told, of one state of the store."""
    passages, facts, entities = needed(case.trails)
    passages, facts = [passage_id, *passages], [*facts, *case.withheld]
    if shown is not None:
        passages, facts = [*shown.passage_ids, *passages], [*shown.fact_ids, *facts]
        entities = [*shown.entity_ids, *entities]
    passages, facts, entities = (list(dict.fromkeys(ids)) for ids in (passages, facts, entities))
    rows = read(passages, facts, entities)
    return rows if past is None else replace(rows, facts={**rows.facts, **past.facts(facts)})

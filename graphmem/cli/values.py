"""What commands print with ``--json``: values as JSON, in the names of their attributes."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from graphmem.display.data import fact_as_dict, passage_as_dict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphmem.explanation import Explanation
    from graphmem.types import (
        Ban,
        Diff,
        LogCheck,
        LogEntry,
        RankedPassage,
        Recall,
        Receipt,
        Source,
    )

__all__ = [
    "ban_as_json",
    "check_as_json",
    "diff_as_json",
    "entry_as_json",
    "print_json",
    "recall_as_json",
    "receipt_as_json",
    "source_as_json",
]


def print_json(value: Any) -> None:
    """Print a value; in ASCII, so that nothing in it can steer a terminal."""
    sys.stdout.write(json.dumps(value, ensure_ascii=True, indent=2, default=str) + "\n")


def recall_as_json(found: Recall, explained: Sequence[Explanation] | None = None) -> dict[str, Any]:
    """A recall, with its explanations where some were asked for."""
    data = _recall_as_json(found)
    if explained is not None:
        data["explanations"] = [one.as_dict() for one in explained]
    return data


def _recall_as_json(found: Recall) -> dict[str, Any]:
    return {
        "query": found.query,
        "scope": str(found.scope),
        "route": found.route,
        "reason": found.reason,
        "passages": [_ranked_as_json(ranked) for ranked in found.passages],
        "facts": [{**fact_as_dict(hit.fact), "score": hit.score} for hit in found.facts],
        "seeds": [
            {"entity": seed.entity.name, "weight": seed.weight, "reason": seed.reason}
            for seed in found.seeds
        ],
        "withheld": dict(found.withheld),
        "timings": dict(found.timings),
    }


def _ranked_as_json(ranked: RankedPassage) -> dict[str, Any]:
    return {
        **passage_as_dict(ranked.passage),
        "score": ranked.score,
        "facts": list(map(fact_as_dict, ranked.facts)),
        "outdated": list(map(fact_as_dict, ranked.outdated)),
    }


def source_as_json(source: Source) -> dict[str, Any]:
    """Where a fact comes from."""
    return {
        **asdict(source),
        "said_at": [at.isoformat() for at in source.said_at],
        "recorded_at": source.recorded_at.isoformat(),
        "heard_at": source.heard_at and source.heard_at.isoformat(),
    }


def entry_as_json(entry: LogEntry) -> dict[str, Any]:
    """An entry of the log."""
    return {**asdict(entry), "at": entry.at.isoformat()}


def check_as_json(check: LogCheck) -> dict[str, Any]:
    """Whether a log is what was written."""
    return {"is_intact": check.is_intact, **asdict(check)}


def diff_as_json(diff: Diff) -> dict[str, Any]:
    """What changed between two times."""
    return {
        "added": list(map(fact_as_dict, diff.added)),
        "ended": list(map(fact_as_dict, diff.ended)),
        "changed": [
            {"before": fact_as_dict(before), "after": fact_as_dict(after)}
            for before, after in diff.changed
        ],
        "forgotten": diff.forgotten,
    }


def ban_as_json(ban: Ban) -> dict[str, Any]:
    """What is not to be stored again."""
    return {**asdict(ban), "at": ban.at.isoformat()}


def receipt_as_json(receipt: Receipt) -> dict[str, Any]:
    """What was forgotten, or would be."""
    return {
        "scope": str(receipt.scope),
        "state": receipt.state,
        "candidates": list(map(asdict, receipt.candidates)),
        "forgotten": list(receipt.forgotten),
        "cut": list(receipt.cut),
        "facts": list(receipt.facts),
        "bans": list(receipt.bans),
        "deferred": list(receipt.deferred),
        "outside": list(receipt.outside),
        "unclear": receipt.unclear,
    }

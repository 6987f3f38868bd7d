"""Values in words, as people read them: facts, times, sources, changes and counts.

A terminal prints these words, a notebook marks them up: they are made here, in one place. Values
are only looked at: this module imports none of their classes while running.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from graphmem.display.plain import plain

if TYPE_CHECKING:
    from graphmem.explanation import Part
    from graphmem.types import Fact, LogCheck, LogEntry, Recall, Source, Stats

__all__ = [
    "arrows",
    "by",
    "change",
    "counted",
    "counts",
    "day",
    "how",
    "listed",
    "local",
    "origin",
    "outdated",
    "predicate",
    "sorted_facts",
    "stated",
    "status",
    "total",
    "triple",
    "validity",
    "verdict",
    "who",
]


def how(recall: Recall) -> str:
    """How a recall was found: its route, the time it took, and why where no graph was walked."""
    found = f"{recall.route} route · {_took(recall.timings)}"
    return found if recall.route == "graph" else f"{found} · {plain(recall.reason)}"


def _took(timings: Mapping[str, float]) -> str:
    total = timings.get("total", sum(timings.values()))
    return f"{total:.1f} ms ({timings.get('embed', 0.0):.1f} to embed the question)"


def sorted_facts(facts: Iterable[Fact]) -> list[Fact]:
    """Facts by what they are about: their ids are in no order that people read."""
    return sorted(facts, key=lambda one: (one.subject, one.predicate, one.object, one.id))


def day(at: datetime | None) -> str:
    """The day of a time; nothing where that is unknown."""
    return f"{at:%Y-%m-%d}" if at else ""


def local(at: datetime) -> str:
    """A time to the second, in this machine's zone."""
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def triple(fact: Fact) -> str:
    """A fact's ends and what is between them, with arrows."""
    return arrows(fact.subject, predicate(fact.predicate, fact.polarity), fact.object)


def arrows(*words: str) -> str:
    """Words with arrows between them."""
    return " → ".join(map(plain, words))


def predicate(words: str, polarity: bool) -> str:
    """A predicate, or that it is denied."""
    return words if polarity else f"not: {words}"


def status(fact: Fact) -> str:
    """What became of a fact, or how far it is believed."""
    return "replaced" if fact.replaced_by else fact.status


def total(score: float | None, parts: Iterable[Part]) -> str:
    """A score and the parts that add up to it; nothing where it has none."""
    added = " + ".join(f"{part.name} {part.score:.3f}" for part in parts)
    return f"{score:.3f} = {added}" if added else ""


def validity(fact: Fact) -> str:
    """Since when and until when a fact holds; nothing where that is unknown."""
    ends = (("since", fact.valid_from), ("until", fact.valid_to))
    return "".join(f" · {name} {plain(value)}" for name, value in ends if value)


def outdated(facts: Sequence[Fact]) -> list[str]:
    """What a passage says that is no longer so, and what was found wrong: a line for each."""
    wrong = [one for one in facts if one.status == "rejected"]
    over = [one for one in facts if one.status != "rejected"]
    labels = (("no longer so", over), ("found wrong", wrong))
    return [f"{label}: {'; '.join(map(_dated, some))}" for label, some in labels if some]


def _dated(fact: Fact) -> str:
    return f"{triple(fact)}{validity(fact)}"


def stated(fact: Fact) -> str:
    """A fact, when it holds, and its status where that is not the usual one."""
    standing = "" if fact.status == "asserted" else f" · {fact.status}"
    return f"{_dated(fact)}{standing}"


def change(entry: LogEntry) -> str:
    """What an entry is about, in words where it has any."""
    said = entry.after or entry.before
    if entry.kind == "log":
        runs = (said or {}).get("erased", ())
        spans = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
        return f"the words of entries {spans}" if spans else "words of entries"
    if entry.kind != "fact" or said is None:
        return plain(f"{entry.kind} {entry.id}".strip())
    relation = predicate(said["predicate"], said["polarity"])
    words = arrows(said["subject"], relation, said["object"])
    standing = "replaced" if said["replaced_by"] else said["status"]
    return f"{words} · {plain(standing)} · {plain(entry.id)}"


def counted(name: str, count: int, more: str = "") -> str:
    """A count with its noun and what goes with it; nothing where there are none."""
    many = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return f"{count:,} {name if count == 1 else many}{more}" if count else ""


def listed(names: Sequence[str], most: int) -> str:
    """The first names of a list, and how many more there are; nothing of an empty one."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def by(actor: str, kind: str, reason: str) -> str:
    """Who made a change, and why."""
    unnamed = f"by {'a' if kind == 'person' else 'the'} {kind}" if kind else ""
    named = f"by {plain(actor)} ({kind})" if actor else unnamed
    return " · ".join(part for part in (named, plain(reason)) if part)


def who(source: Source) -> str:
    """Who said what a source quotes, in which conversation and when."""
    speaker = f"{plain(source.speaker)} ({source.role})" if source.speaker else source.role
    session = f" · session {plain(source.session)}" if source.session else ""
    times = ", ".join(at.isoformat(" ") for at in source.said_at) or "time unknown"
    return f"{speaker}{session} · {times}"


def origin(source: Source) -> list[str]:
    """What read a source, where it is kept, and what is to be said against it."""
    lines = [
        f"read by {plain(source.extractor)} on {source.recorded_at.isoformat(' ', 'seconds')}",
        f"passage {plain(source.passage_id)}",
        f"message {plain(source.message_id)}",
    ]
    if source.heard_at:
        lines[2] += f", stored on {source.heard_at.isoformat(' ', 'seconds')}"
    if source.claimed_by:
        lines.insert(0, f"claimed by {plain(source.claimed_by)}")
    if not source.grounded:
        lines.insert(0, "these words do not name both ends")
    return lines


def counts(stats: Stats) -> list[tuple[str, str]]:
    """Names and counts; those that are zero by good fortune are left out."""
    always = [
        ("messages", stats.messages),
        ("passages", stats.passages),
        ("facts", stats.facts),
        ("entities", stats.entities),
        ("pending", stats.pending),
    ]
    sometimes = [
        ("facts withheld", stats.withheld),
        ("failed, will be retried", stats.failed),
        ("without a vector yet", stats.unembedded),
        ("in memory, disk refused", stats.spilled),
    ]
    rows = [*always, *((name, count) for name, count in sometimes if count)]
    lines = [(name, f"{count:,}") for name, count in rows]
    if stats.last_error:
        lines.append(("last error", stats.last_error))
    return lines


def verdict(check: LogCheck, *, is_other: bool = False) -> str:
    """Whether a log is what was written.

    Args:
        check: the result.
        is_other: whether nothing is wrong but that the log lacks the head that was noted.
    """
    if check.is_intact:
        erased = f", the words of {check.erased:,} erased" if check.erased else ""
        return f"{check.entries:,} entries{erased}: as they were written"
    if is_other:
        return (
            f"{check.entries:,} entries that fit each other, but the noted head is none of theirs: "
            "the log was written anew since, or that is the head of another one"
        )
    return (
        f"{check.entries:,} entries, and from number {check.broken_at} on they are not what "
        "was written: one was changed, removed, inserted or moved"
    )

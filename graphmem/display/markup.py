"""Values as HTML, for notebooks: what a value's ``_repr_html_`` returns.

Stored words are other people's. Each goes through ``_words``, which shortens it, makes characters
visible that could move or hide what is shown, and escapes it; the type ``Html`` is how the type
checker knows. No script, no style sheet, nothing from elsewhere, and colours that are read on
light and on dark ground. Values are only looked at: this module imports none of their classes
while running, so that they can import it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, NewType

from graphmem.display import wording
from graphmem.display.plain import shortened

if TYPE_CHECKING:
    from graphmem.explanation import Explanation, Path, Place, Quote, Step
    from graphmem.types import (
        Candidate,
        Diff,
        Fact,
        LogCheck,
        RankedPassage,
        Recall,
        Receipt,
        Scope,
        Seed,
        Source,
        Stats,
    )

__all__ = [
    "Html",
    "check_html",
    "diff_html",
    "explanation_html",
    "fact_html",
    "memory_html",
    "ranked_html",
    "recall_html",
    "receipt_html",
    "source_html",
    "stats_html",
    "table_html",
]

Html = NewType("Html", str)
"""Text that is markup already: all that came from data in it is escaped."""

_NOTHING = Html("")

MAX_CHARS = 600
"""Of one text: a passage of a chat in full, a page's first lines."""
MAX_LINES = 50
"""Of one list. A notebook keeps what it shows, and a receipt can name thousands of ids."""
_MAX_FACTS = 6
_MAX_QUOTES = 2
_MAX_PLACE = 80
_ONE_LINE = 20

_CELL = "text-align: left; vertical-align: top; padding: 0.2em 0.7em 0.2em 0; white-space: normal"
_SHORT_CELL = _CELL.replace("white-space: normal", "white-space: nowrap")
_NUMBER = "text-align: right; vertical-align: top; padding: 0.2em 0.7em 0.2em 0"
_FAINT = "opacity: 0.7"
_ID = "opacity: 0.7; font-size: 85%"
_QUOTE = "margin: 0.3em 0 0.3em 1.2em"
_BADGE = "padding: 0 0.4em; border-radius: 0.4em; background: "
_TINTS = {
    "good": "rgba(46, 160, 67, 0.25)",
    "over": "rgba(210, 153, 34, 0.3)",
    "wrong": "rgba(218, 54, 51, 0.3)",
    "": "rgba(128, 128, 128, 0.25)",
}


def recall_html(recall: Recall) -> Html:
    """A recall: the question, how it was answered, its passages, and where the walk began."""
    times = (("as of", recall.as_of), ("known at", recall.known_at))
    asked = [f"{name} {at.isoformat(' ', 'seconds')}" for name, at in times if at is not None]
    how = " · ".join([wording.how(recall), f"memory of {recall.scope}", *asked])
    is_told = recall.route == "graph" and recall.reason
    passages = [[_number(f"{rank}"), *_cells(one)] for rank, one in enumerate(recall.passages, 1)]
    return _block(
        _line(_element("b", _words(recall.query))),
        _line(_words(how), style=_FAINT),
        _line(_words(recall.reason), style=_FAINT) if is_told else _NOTHING,
        _table(["", *_RANKED], _few(passages, len(_RANKED) + 1)) if passages else _NOTHING,
        _named(
            {
                "began at": _joined(map(_seed, recall.seeds)),
                "from the facts": _lines(map(_stated, recall.statements), most=_MAX_FACTS),
                "kept out": _joined(_words(f"{n:,} {why}") for why, n in recall.withheld.items()),
            }
        ),
    )


def ranked_html(ranked: RankedPassage) -> Html:
    """A recalled passage: who said it and when, its words, the facts on its way, and its id."""
    table = _table(_RANKED, [_cells(ranked)])
    return _block(table, _line(_id(ranked.passage.id)))


def fact_html(fact: Fact) -> Html:
    """A fact: what it says, whether it is believed, when it held, and its id."""
    known = [
        f"{name} {at.isoformat(' ', 'seconds')}"
        for name, at in (("recorded", fact.recorded_at), ("retired", fact.retired_at))
        if at is not None
    ]
    stated = wording.counted("passage", len(fact.passages))
    how = " · ".join([*known, *([f"stated by {stated}"] if stated else ())])
    replaced = _element("span", _faint("replaced by"), Html(" "), _id(fact.replaced_by or ""))
    return _block(
        _line(_stated(fact), Html(" "), _status(fact)),
        _line(_words(how), style=_FAINT),
        _line(replaced) if fact.replaced_by else _NOTHING,
        _line(_id(fact.id)),
    )


def source_html(source: Source) -> Html:
    """A source: who said it and when, in which words, and what read it."""
    words = _element("blockquote", _words(source.quote), style=_QUOTE)
    lines = [_line(_words(line), style=_FAINT) for line in wording.origin(source)]
    return _block(_line(_element("b", _words(wording.who(source)))), words, *lines)


def receipt_html(receipt: Receipt) -> Html:
    """A receipt: what was stored, ruled or erased, and what was not, each with ids and reasons."""
    ids = {
        "stored": receipt.stored,
        "known already": receipt.merged,
        "forgotten": receipt.forgotten,
        "lost sentences": receipt.cut,
        "facts gone or ruled on": receipt.facts,
        "bans": receipt.bans,
    }
    reasons = {
        "no memory": [f"{a}: {b}" for a, b in receipt.dropped if (a, b) not in receipt.refused],
        "refused": [f"{a}: {b}" for a, b in receipt.refused],
        "not yet": receipt.deferred,
        "out of reach": receipt.outside,
        "unclear": [receipt.unclear] if receipt.unclear else [],
    }
    rows = [
        [_text(name), _number(f"{len(some):,}"), _cell(_lines(map(_id, some), most=3))]
        for name, some in ids.items()
        if some
    ]
    rows += [
        [_text(name), _number(f"{len(some):,}"), _cell(_lines(map(_words, some)))]
        for name, some in reasons.items()
        if some
    ]
    title = [_element("b", _words(f"memory of {receipt.scope}"))]
    if receipt.state:
        title += [Html(" "), _badge(receipt.state, "good" if receipt.state == "erased" else "over")]
    return _block(
        _line(*title),
        _candidates(receipt.candidates) if receipt.candidates else _NOTHING,
        _table(["", "", ""], rows) if rows else _NOTHING,
        _NOTHING if rows or receipt.candidates else _line(_faint("nothing changed")),
    )


def diff_html(diff: Diff) -> Html:
    """What was believed newly, no longer and otherwise."""
    rows = [
        [_cell(_badge("new", "good")), _cell(_stated(one), _id_below(one))] for one in diff.added
    ]
    rows += [
        [_cell(_badge("no longer", "over")), _cell(_stated(one), _id_below(one))]
        for one in diff.ended
    ]
    rows += [
        [_cell(_badge("otherwise", "")), _cell(_stated(before), _element("br"), _stated(after))]
        for before, after in diff.changed
    ]
    forgotten = f"and {diff.forgotten:,} that were forgotten" if diff.forgotten else ""
    return _block(
        _table(["", "fact"], _few(rows, 2)) if rows else _NOTHING,
        _line(_faint(forgotten if rows or forgotten else "nothing changed")),
    )


def check_html(check: LogCheck) -> Html:
    """Whether a log is what was written."""
    badge = _badge("intact", "good") if check.is_intact else _badge("broken", "wrong")
    head = _line(_faint("head"), Html(" "), _id(check.head)) if check.head else _NOTHING
    return _block(_line(badge, Html(" "), _words(wording.verdict(check))), head)


def stats_html(stats: Stats) -> Html:
    """Counts as a small table."""
    return _counts(wording.counts(stats))


def explanation_html(explanation: Explanation) -> Html:
    """Why a passage was recalled, or why not: its score, and each way to it step by step."""
    passage = explanation.passage
    badge = _badge(explanation.outcome, "good" if explanation.is_recalled else "over")
    above = [_words(f"{one.score:.3f} {one.passage.text}") for one in explanation.above]
    withheld = [
        _element("span", _stated(one), Html(" "), _status(one)) for one in explanation.withheld
    ]
    last = explanation.above[-1].score if explanation.above else None
    return _block(
        _line(_element("b", _words(explanation.query))),
        _line(_element("span", badge, Html(" "), _words(explanation.reason))),
        _said(passage.speaker or passage.title, passage.said_at, passage.text)
        if passage
        else _NOTHING,
        _named(
            {
                "score": _words(wording.total(explanation.score, explanation.parts)),
                "last shown": _words(wording.total(last, explanation.against)),
            }
        ),
        _steps(explanation.paths) if explanation.paths else _NOTHING,
        _named(
            {
                "shown instead": _lines(above, most=_MAX_FACTS),
                "withheld": _lines(withheld, most=_MAX_FACTS),
                "to be known": _lines(map(_words, explanation.notes)),
            }
        ),
        _line(_id(explanation.passage_id)),
    )


def memory_html(uri: str, scope: Scope, stats: Stats | None, problem: str = "") -> Html:
    """A memory: where it is kept, whose it is meant for, and what that scope holds.

    Args:
        uri: its address.
        scope: whose memory is meant where a call names none.
        stats: that scope's counts; ``None`` where there are none to be had.
        problem: why not.
    """
    return _block(
        _line(_element("b", _words("GraphMemory")), Html(" "), _id(uri)),
        _line(_faint("memory of"), Html(" "), _words(f"{scope}")),
        _line(_words(problem)) if problem else _NOTHING,
        stats_html(stats) if stats else _NOTHING,
    )


def table_html(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table of words: every cell is data."""
    cells = [[_text(cell) for cell in row] for row in rows]
    return _block(_table(header, _few(cells, len(header))) if cells else _faint("none"))


# --- parts of values -----------------------------------------------------------------------------

_STEP = ("step", "weight", "from", "to", "why", "in whose words")
_RANKED = ("score", "who", "when", "words", "facts on the way")


def _cells(ranked: RankedPassage) -> list[Html]:
    passage = ranked.passage
    over = [_line(_badge(line, "over")) for line in wording.outdated(ranked.outdated)]
    return [
        _number(f"{ranked.score:.3f}"),
        _text(passage.speaker or passage.title),
        _text(wording.day(passage.said_at)),
        _cell(_words(passage.text), *over),
        _cell(_lines(map(_stated, ranked.facts), most=_MAX_FACTS)),
    ]


def _named(parts: Mapping[str, Html]) -> Html:
    """A table of parts by name, without those that are empty."""
    rows = [[_faint_text(name), _cell(part)] for name, part in parts.items() if part]
    return _table(["", ""], rows) if rows else _NOTHING


def _seed(seed: Seed) -> Html:
    return _words(f"{seed.entity.name} {seed.weight:.2f} (by {seed.reason})")


def _stated(fact: Fact) -> Html:
    return _element("span", _words(wording.triple(fact)), Html(" "), _faint(wording.validity(fact)))


def _id_below(fact: Fact) -> Html:
    return _element("span", _element("br"), _id(fact.id))


def _status(fact: Fact) -> Html:
    status = wording.status(fact)
    tints = {"rejected": "wrong"} | dict.fromkeys(("replaced", "disputed", "candidate"), "over")
    return _badge(status, tints.get(status, "good"))


def _said(who: str, when: datetime | None, words: str) -> Html:
    """Somebody's words, and below them whose they are."""
    return _element("blockquote", _words(words), _line(_by(who, when)), style=_QUOTE)


def _by(who: str, when: datetime | None) -> Html:
    return _faint(" · ".join(part for part in (who, wording.day(when)) if part))


def _steps(paths: Sequence[Path]) -> Html:
    rows: list[list[Html]] = []
    for path in paths:
        name = _element("b", _words(f"{path.part}, {path.share:.0%}"))
        rows.append([_element("td", name, style=_SHORT_CELL), *[_cell()] * (len(_STEP) - 1)])
        rows += [_step(one) for one in path.steps]
    return _table(_STEP, _few(rows, len(_STEP)))


def _step(step: Step) -> list[Html]:
    return [
        _text(step.kind),
        _number(f"{step.weight:.3f}"),
        _cell(_place(step.source)),
        _cell(_place(step.target)),
        _text(step.meaning),
        _cell(_lines(map(_quote, step.quotes), most=_MAX_QUOTES)),
    ]


def _place(place: Place) -> Html:
    if place.kind == "question":
        return _faint("the question")
    return _element(
        "span", _faint(place.kind), Html(" "), _words(shortened(place.text, _MAX_PLACE))
    )


def _quote(quote: Quote) -> Html:
    return _element("span", _words(quote.text), Html(" "), _by(quote.speaker, quote.said_at))


def _candidates(candidates: Sequence[Candidate]) -> Html:
    rows = [
        [_text(one.kind), _cell(_words(one.text), _element("br"), _id(one.id)), _text(one.reason)]
        for one in candidates
    ]
    return _table(["may be meant", "", "why"], _few(rows, 3))


def _counts(rows: Iterable[tuple[str, str]]) -> Html:
    return _block(_table(["", ""], [[_text(name), _number(value)] for name, value in rows]))


# --- markup --------------------------------------------------------------------------------------


def _words(text: str) -> Html:
    """Data as markup: visible, shortened, escaped, and running its own way."""
    shown = shortened(text, MAX_CHARS)
    return Html(f"<bdi>{escape(shown)}</bdi>") if shown else _NOTHING


def _element(tag: str, *inside: Html, style: str = "") -> Html:
    """An element. Tag and style are ours, never data."""
    opening = f'<{tag} style="{style}">' if style else f"<{tag}>"
    return Html(opening if tag == "br" else f"{opening}{''.join(inside)}</{tag}>")


def _block(*inside: Html) -> Html:
    return _element("div", *inside, style="line-height: 1.4; margin: 0.3em 0")


def _line(*inside: Html, style: str = "") -> Html:
    """A line of its own; none where the last part, which is what it tells, is empty."""
    return _element("div", *inside, style=style) if inside[-1] else _NOTHING


def _faint(text: str) -> Html:
    return _element("span", _words(text), style=_FAINT) if text else _NOTHING


def _id(id_: str) -> Html:
    return _element("code", _words(id_), style=_ID)


def _badge(text: str, tint: str) -> Html:
    return _element("span", _words(text), style=f"{_BADGE}{_TINTS[tint]}")


def _cell(*inside: Html) -> Html:
    return _element("td", *inside, style=_CELL)


def _text(text: str) -> Html:
    """A cell of data. A name, a date or a count stays on one line."""
    style = _CELL if len(text) > _ONE_LINE else _SHORT_CELL
    return _element("td", _words(text), style=style)


def _faint_text(text: str) -> Html:
    return _cell(_faint(text))


def _number(text: str) -> Html:
    return _element("td", _words(text), style=_NUMBER)


def _table(header: Sequence[str], rows: Iterable[Sequence[Html]]) -> Html:
    names = [_element("th", _words(name), style=_CELL) for name in header]
    head = _element("thead", _element("tr", *names)) if any(header) else _NOTHING
    body = _element("tbody", *(_element("tr", *row) for row in rows))
    return _element("table", head, body, style="margin: 0.3em 0; border-collapse: collapse")


def _few(rows: Sequence[Sequence[Html]], width: int) -> list[Sequence[Html]]:
    """The first rows, and how many more there are."""
    more = len(rows) - MAX_LINES
    if more <= 0:
        return list(rows)
    rest = _cell(_faint(f"and {more:,} more"))
    return [*rows[:MAX_LINES], [rest, *[_cell()] * (width - 1)]]


def _lines(parts: Iterable[Html], *, most: int = MAX_LINES) -> Html:
    """Parts one below the other, and how many more there are."""
    shown = [part for part in parts if part]
    more = len(shown) - most
    shown[most:] = [_faint(f"and {more:,} more")] if more > 0 else []
    return Html("<br>".join(shown))


def _joined(parts: Iterable[Html]) -> Html:
    """Parts in one line."""
    return Html(" · ".join(part for part in parts if part))

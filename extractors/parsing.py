"""From a model's reply to triples, whatever the model made of the format.

The reply should be ``{"triples": [{"source": "m1", "subject": …, "predicate": …, "object": …}]}``.
Models also send fences, prose, other key names, bare lists, items of three or four strings, or
numbered lines ``1. (a, b, c)``. All of that is read. What is no triple is dropped with a reason,
and a reply that cannot be read at all says so: it never looks like "nothing to learn", which is an
explicit empty list and nothing else.

Pure functions of the text: no model, no passages, no clock. Nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from graphmem.extractors import jsonish
from graphmem.identity import clean_text, normal_form
from graphmem.times import moment
from graphmem.types import Triple

__all__ = ["Dropped", "Item", "Reply", "read"]

# A longer subject, predicate or object is a sentence gone astray, not a name.
MAX_NAME_CHARS = 300


@dataclass(frozen=True, slots=True)
class Item:
    """A triple and the label of the message it was read from, as the reply gave it."""

    triple: Triple
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something in a reply that is no triple: why, and the label it carried.

    Attributes:
        is_blank: a well-formed item that names nothing at one end. It states nothing, and says so:
            a reply of such items alone was read.
    """

    reason: str
    source: str | None = None
    is_blank: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply says.

    Attributes:
        items: its triples, in order, each once.
        dropped: its items that are none.
        problem: why it could not be read; ``""`` when it could, be it with nothing in it.
        is_cut: it stops before its end; ``items`` are those that are complete.
    """

    items: tuple[Item, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    problem: str = ""
    is_cut: bool = False


def read(text: str) -> Reply:
    """Read a reply. Never raises; see ``Reply.problem`` for "could not read"."""
    answer, is_thinking = _without_thoughts(text)
    if is_thinking:
        return Reply(problem="the reply ends within the model's thoughts", is_cut=True)
    if not answer.strip():
        return Reply(problem="the reply is empty")
    found = jsonish.find(answer)
    outcomes = [outcome for value in found.values for outcome in _walk(value, None, "", 0)]
    if not any(isinstance(outcome, Item) for outcome in outcomes):
        lines = [outcome for line in answer.splitlines() for outcome in _from_line(line, None)]
        outcomes = lines or outcomes
    items = tuple(dict.fromkeys(o for o in outcomes if isinstance(o, Item)))
    dropped = tuple(dict.fromkeys(o for o in outcomes if isinstance(o, Dropped)))
    if found.is_damaged and found.values:
        dropped += (Dropped("a part of the reply is not JSON"),)
    return Reply(items, dropped, _problem(outcomes, found, answer), found.is_cut)


_THOUGHT_START = re.compile(r"\s*<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)


def _without_thoughts(text: str) -> tuple[str, bool]:
    """The reply without a reasoning model's thoughts, and whether it never got beyond them."""
    end = _THOUGHT_END.search(text)  # some servers keep the closing tag only
    if end is not None:
        return text[end.end() :], False
    return text, _THOUGHT_START.match(text) is not None


def _problem(outcomes: Sequence[_Outcome], found: jsonish.Found, answer: str) -> str:
    dropped = [outcome for outcome in outcomes if isinstance(outcome, Dropped)]
    if len(dropped) < len(outcomes) or any(item.is_blank for item in dropped):
        return ""
    faults = [item.reason for item in dropped]
    if faults:
        return f"no item of the reply is a triple: {faults[0]}"
    if found.is_cut:
        return "the reply is cut before its first complete item"
    return f"the reply holds no list of triples: {_clip(answer)!r}"


@dataclass(frozen=True, slots=True)
class _Nothing:
    """An empty list where triples belong: nothing to learn."""


_Outcome = Item | Dropped | _Nothing

_SUBJECT = ("subject", "subj", "s", "head", "headentity", "h", "entity1", "node1", "sub")
_PREDICATE = (
    "predicate", "pred", "p", "relation", "relationship", "rel", "r", "relationtype", "verb",
    "property", "edge", "label", "type",
)  # fmt: skip
_OBJECT = ("object", "obj", "o", "tail", "tailentity", "t", "entity2", "node2", "value", "target")
_SOURCE = ("source", "sources", "message", "messageid", "passage", "id", "src", "m", "ref")
# Pairs whose first member is a subject only where the second stands beside it.
_ENDS = (("source", "target"), ("from", "to"), ("start", "end"))
_TRIPLES = frozenset(
    {
        "triples", "triple", "triplets", "triplet", "facts", "fact", "relations", "relationships",
        "edges", "spo", "items", "results", "result", "data", "output",
    }
)  # fmt: skip
_NO_TRIPLES = frozenset({"entities", "nodes", "namedentities", "mentions"})
_LABEL = re.compile(r"\[?(?:m|msg|message)[-_# ]{0,2}\d{1,4}\]?:?", re.IGNORECASE)
_MAX_DEPTH = 24


def _walk(value: Any, source: str | None, key: str, depth: int) -> Iterator[_Outcome]:
    """All items in a value that stands under ``key`` (``""`` at the top)."""
    if key in _NO_TRIPLES or depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        yield from _walk_object(value, source, key, depth)
    elif isinstance(value, list):
        yield from _walk_list(value, source, key, depth)
    elif isinstance(value, str) and key in _TRIPLES:
        lines = [outcome for line in value.splitlines() for outcome in _from_line(line, source)]
        yield from lines or [Dropped(f"text instead of a triple: {_clip(value)!r}", source)]
    elif value is not None and key in _TRIPLES:
        yield Dropped(f"{value!r} instead of a triple", source)


def _walk_object(
    value: dict[str, Any], source: str | None, key: str, depth: int
) -> Iterator[_Outcome]:
    fields = {_plain(name): item for name, item in value.items()}
    if _is_triple(fields):
        if not isinstance(value, jsonish.CutDict):
            yield from _from_object(fields, source)
        return
    own = _label(_first(fields, _SOURCE)) or source
    inner = [
        (name, item)
        for name, item in fields.items()
        if isinstance(item, dict | list) or name in _TRIPLES
    ]
    if not inner and key in _TRIPLES and not isinstance(value, jsonish.CutDict):
        yield Dropped(f"no subject, predicate and object: {_clip(value)}", own)
    for name, item in inner:
        is_label = _LABEL.fullmatch(name) is not None  # {"m1": [...], "m2": [...]}
        below = key or "triples" if is_label else name
        yield from _walk(item, name if is_label else own, below, depth + 1)


def _walk_list(value: list[Any], source: str | None, key: str, depth: int) -> Iterator[_Outcome]:
    is_cut = isinstance(value, jsonish.CutList)
    holds_triples = not key or key in _TRIPLES
    if not value and holds_triples and not is_cut:
        yield _Nothing()
    elif _is_positional(value) and holds_triples:
        if not is_cut:
            yield from _from_list(value, source)
    else:
        for item in value:
            if holds_triples and (item is None or item == []):
                if not isinstance(item, jsonish.CutList):
                    yield Dropped(f"{item} instead of a triple", source)
            elif isinstance(item, list) and not any(map(_is_container, item)):
                if not isinstance(item, jsonish.CutList):
                    yield from _from_list(item, source)
            else:
                yield from _walk(item, source, key or "triples", depth + 1)


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list)


def _is_positional(value: list[Any]) -> bool:
    """Whether a list is one triple by position, not a list of items."""
    scalars = len(value) >= 3 and not any(map(_is_container, value))
    return scalars and not any(isinstance(item, str) and _line_match(item) for item in value)


def _plain(key: str) -> str:
    return re.sub(r"[\s_-]", "", key).lower()


def _is_triple(fields: Mapping[str, Any]) -> bool:
    """Whether an object means to be a triple: it has two of the three fields by some name."""
    if any(first in fields and second in fields for first, second in _ENDS):
        return True
    named = [any(name in fields for name in names) for names in (_SUBJECT, _PREDICATE, _OBJECT)]
    return sum(named) >= 2


def _first(fields: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _label(value: Any) -> str | None:
    if isinstance(value, list) and value:
        value = value[-1]  # a fact is complete with the last message that it needs
    return value.strip() or None if isinstance(value, str) else None


def _from_object(fields: Mapping[str, Any], source: str | None) -> Iterator[_Outcome]:
    subject, object_ = _first(fields, _SUBJECT), _first(fields, _OBJECT)
    labels: tuple[str, ...] = _SOURCE
    for first, second in _ENDS:
        if subject is None and first in fields and second in fields:
            subject, object_ = fields[first], fields[second]
            labels = tuple(name for name in _SOURCE if name != first)
    label = _label(_first(fields, labels)) or source
    polarity = _polarity(fields)
    if polarity is None:
        yield Dropped(f"neither stated nor denied: {_clip(dict(fields))}", label)
        return
    extra = {
        "polarity": polarity,
        "valid_from": iso_date(fields.get("validfrom")),
        "valid_to": iso_date(fields.get("validto")),
        "speaker": _name(fields.get("speaker")) or None,
    }
    for one_subject in _each(subject):
        for one_object in _each(object_):
            ends = (one_subject, _first(fields, _PREDICATE), one_object)
            yield _item(ends, label, fields, extra)


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) and value else [value]


def _from_list(value: Sequence[Any], source: str | None) -> Iterator[_Outcome]:
    """Three items by position; a fourth is a label, a polarity, or the predicate's second half."""
    parts, label, polarity = list(value), source, True
    if len(parts) > 3 and isinstance(parts[-1], str) and _LABEL.fullmatch(parts[-1].strip()):
        label = parts.pop().strip()
    if len(parts) == 4 and isinstance(parts[-1], bool):
        polarity = bool(parts.pop())
    if len(parts) == 4 and all(isinstance(part, str) for part in parts):
        # ["Ohio", "is", "north of", "Kentucky"]: how models split what should be one predicate
        parts[1:3] = [f"{parts[1]} {parts[2]}"]
    if len(parts) == 3:
        yield _item(parts, label, list(value), {"polarity": polarity})
    else:
        yield Dropped(f"{len(parts)} items instead of 3: {_clip(list(value))}", label)


def _item(ends: Sequence[Any], label: str | None, whole: Any, extra: Mapping[str, Any]) -> _Outcome:
    names = [_name(end) for end in ends]
    for name, field in zip(names, ("subject", "predicate", "object"), strict=True):
        if name is None:
            return Dropped(f"no {field}: {_clip(whole)}", label)
        if len(name) > MAX_NAME_CHARS:
            return Dropped(f"{field} is longer than {MAX_NAME_CHARS} characters", label)
    subject, predicate, object_ = (str(name) for name in names)
    if not all(normal_form(name) for name in (subject, predicate, object_)):
        return Dropped(f"blank subject, predicate or object: {_clip(whole)}", label, is_blank=True)
    if not any(char.isalpha() for char in predicate):
        return Dropped(f"the predicate holds no word: {_clip(whole)}", label)
    return Item(Triple(subject, predicate, object_, **extra), label)


_BLANK = frozenset({"", "null", "none", "nil", "nan", "n/a", "undefined", "unknown", "..."})


def _name(value: Any) -> str | None:
    """The value as a name: ``""`` where it names nothing, ``None`` where it is no name at all."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        fields = {_plain(name): item for name, item in value.items()}
        value = _first(fields, ("name", "text", "value", "label", "id", "type"))
    if not isinstance(value, str):
        return None
    name = " ".join(clean_text(value).split())
    return "" if name.casefold() in _BLANK else name


_DENIED = frozenset({"false", "no", "negative", "neg", "-", "-1", "0", "denied", "negated"})
_STATED = frozenset({"true", "yes", "positive", "pos", "+", "1", "affirmed", "stated", "", "null"})


def _polarity(fields: Mapping[str, Any]) -> bool | None:
    """True for stated, False for denied, ``None`` for a value that is neither ("maybe")."""
    denial = _first(fields, ("negated", "negation", "isnegated"))
    if isinstance(denial, bool):
        return not denial
    value = fields.get("polarity")
    if isinstance(value, bool):
        return value
    word = "" if value is None else str(value).strip().casefold()
    return True if word in _STATED else False if word in _DENIED else None


_ISO = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")


def iso_date(value: Any) -> str | None:
    """The ISO 8601 date (year, month or day precision) or time that a value gives, or ``None``."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    if "T" in text:
        try:
            return moment(text).isoformat()
        except ValueError:
            text = text.partition("T")[0]
    parts = _ISO.fullmatch(text)
    if parts is None:
        return None
    year, month, day = parts.groups()
    try:
        date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None
    return "-".join([year, *(f"{int(part):02}" for part in (month, day) if part)])


# "1. (a, b, c)", "- (a, b, c) [m1]", "m1: (a | b | c)", "<a, b, c>", with single spaces
_LINE = re.compile(
    r"(?:[-*•] ?|\d{1,4} ?[.):] ?)?(?:(?P<before>(?:m|message) ?\d{1,4}) ?[:-]? ?)?"
    r"[(<](?P<inside>.+?)[)>](?: ?\[?(?P<after>(?:m|message) ?\d{1,4})\]?)? ?[.,;]?",
    re.IGNORECASE,
)
# A longer line holds no single triple.
_MAX_LINE_CHARS = 3 * MAX_NAME_CHARS
_QUOTED = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*(?:[,;|]|$)""")


def _line_match(line: str) -> re.Match[str] | None:
    line = " ".join(line[: 2 * _MAX_LINE_CHARS].split())
    return _LINE.fullmatch(line) if len(line) <= _MAX_LINE_CHARS else None


def _from_line(line: str, source: str | None) -> Iterator[_Outcome]:
    """The item of a line such as ``1. (a, b, c)``, or nothing for any other line."""
    line_match = _line_match(line)
    if line_match is None:
        return
    label = line_match["before"] or line_match["after"] or source
    inside = line_match["inside"]
    quoted = [first or second for first, second in _QUOTED.findall(inside)]
    if len(quoted) >= 3:
        yield from _from_list(quoted, label)
        return
    separator = "|" if "|" in inside else ";" if inside.count(";") >= 2 else ","
    parts = [part.strip(" \t\"'") for part in inside.split(separator)]
    if len(parts) > 3 and _LABEL.fullmatch(parts[-1]):
        label = parts.pop()
    if len(parts) < 3:
        return  # a remark in brackets
    # Without quotes a comma may be part of the last name: "Springfield, Illinois".
    object_ = f"{separator} ".join(parts[2:])
    yield from _from_list([parts[0], parts[1], object_], label)


def _clip(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"

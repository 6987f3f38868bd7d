"""What a message becomes: admitted or refused at the door, then one passage, or several if long.

Everything here is a function of the message alone: neither its batch nor the clock counts.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, get_args

from graphmem.context import without_recalled
from graphmem.errors import InvalidInput
from graphmem.identity import clean_text, content_id
from graphmem.tags import enclosed, is_opening, without
from graphmem.types import Message, Passage, Role

__all__ = [
    "MAX_DOCUMENT_CHARS",
    "MAX_PASSAGE_CHARS",
    "admit",
    "build",
    "message_spans",
    "sentences",
    "spans",
    "without_sentences",
]

# A message up to this long is one passage. About 450 tokens: it still fits a context of 550 whole.
MAX_PASSAGE_CHARS = 2_000

# Documents come as paragraphs under a title, and keep together for longer.
MAX_DOCUMENT_CHARS = 4_000

# What is longer is cut into parts of about this size: what a small embedding model reads (256
# tokens), so that no part has a tail that its vector does not know.
_PART_CHARS = 1_200

# One paragraph may be this much and stay whole: 300 words of prose, with a margin.
_PARAGRAPH_CHARS = 2_000

_ROLES = get_args(Role)
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})

_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n\s*")
# Latin-like stops need white space behind them (3.10, e.g.x); ideographic ones do not.
_SENTENCE_END = re.compile(
    r"[.!?\u2026\u061f\u06d4\u0964\u0965\u1362\u1367\u104b\u17d4][\"'\u2019\u201d\u00bb)\]]*\s+"
    r"|[\u3002\uff01\uff1f\uff0e\uff61][\u300d\u300f\u201d\uff09]*\s*"
    r"|\n\s*"
)
_WHITE_SPACE = re.compile(r"\s+")
# No sentence ends behind an initial or one of these, whatever stop they have.
_ABBREVIATION_CHARS = len("approx")  # the longest
_ABBREVIATED = re.compile(
    r"(?<![^\s(\"'])(?:[A-Z]|(?i:dr|mr|mrs|ms|prof|st|jr|sr|vs|approx|nr|tel|e\.g|i\.e))\.\s+\Z"
)

# Quoted in backticks it is talk about the tag.
_THINKING_TAG = re.compile(r"(?<!`)<(/?)think(?:ing)?>", re.IGNORECASE)
_THOUGHT = re.compile(r"^[ \t]*Thought:", re.MULTILINE)
_ANSWER = re.compile(r"^[ \t]*Answer:[ \t]*", re.MULTILINE)
_ACTION = re.compile(r"^[ \t]*Action:", re.MULTILINE)


def admit(message: Message, user: str) -> tuple[Message, str]:
    """The message as it may be stored, and why it is no memory (``""`` when it is one).

    System prompts and tool outputs are no memory of anybody's. From an assistant's words thinking
    goes, and of an agent's trace (``Thought: … Action: … Answer: …``) the answer stays. Recalled
    notes that come back inside a chat message go too: they would become their own evidence.

    Args:
        message: as handed in by the application.
        user: the scope's user: who speaks where a user message names nobody.

    Raises:
        InvalidInput: a field has the wrong type, ``said_at`` has no time zone, the metadata is no
            JSON, or a title or speaker stands where it has no meaning.
    """
    _check(message)
    text = clean_text(message.text)
    if message.role != "document":
        text = without_recalled(text)
    if message.role == "assistant":
        text = _answer(_without_thinking(text))
    admitted = replace(
        message,
        text=text.strip(),
        speaker=_speaker(message, user),
        title=_one_line(message.title) or None,
        metadata=_metadata(message.metadata),
    )
    return admitted, _refusal(admitted, message)


def build(message: Message, session: str | None) -> tuple[Passage, ...]:
    """The passages of an admitted message, in order; their ordinal is for the store to give.

    A part that holds only white space is left out; the others keep their number among
    ``message_spans``. Chat messages of a session share its thread; a document, or a message without
    a session, is a thread of its own.
    """
    named = session or ""
    message_id = content_id(
        "m", named, message.role, message.speaker or "", message.title or "", message.text
    )
    thread = message_id if session is None or message.role == "document" else named
    return tuple(
        Passage(
            id=content_id("p", message_id, str(part)),
            message_id=message_id,
            text=message.text[start:end],
            role=message.role,
            speaker=message.speaker or "",
            session=named,
            thread=thread,
            said_at=message.said_at,
            part=part,
            title=message.title or "",
            metadata=message.metadata,
        )
        for part, (start, end) in enumerate(message_spans(message))
        if message.text[start:end].strip()
    )


def message_spans(message: Message) -> list[tuple[int, int]]:
    """The spans of a message's text that are its parts: one, unless it is long for its role."""
    is_document = message.role == "document"
    return spans(message.text, MAX_DOCUMENT_CHARS if is_document else MAX_PASSAGE_CHARS)


def spans(text: str, limit: int = MAX_PASSAGE_CHARS) -> list[tuple[int, int]]:
    """Half-open spans, in order and without gaps, that cover the text.

    A text of at most ``limit`` characters is one span. A longer one is cut where a paragraph ends,
    or else a sentence (of any script), or else at white space, or else anywhere but before a
    combining mark; no span is longer than ``limit``.

    Raises:
        InvalidInput: ``limit`` is below 1.
    """
    if limit < 1:
        raise InvalidInput(f"limit must be at least 1 character, not {limit}")
    found = []
    start = 0
    # The rest may be a little longer than a part, rather than leave a few words alone.
    while len(text) - start > (min(limit, _PART_CHARS * 5 // 4) if start else limit):
        end = _cut(text, start, limit)
        found.append((start, end))
        start = end
    if start < len(text):
        found.append((start, len(text)))
    return found


def sentences(text: str, *, by_line: bool = True) -> list[tuple[int, int]]:
    """The spans of a text's sentences, in order and without gaps, with the white space behind them.

    Args:
        text: of any script.
        by_line: whether a sentence ends with its line, as in a list, or goes on, as where lines
            were broken to fit a width; an empty line ends one in any case.
    """
    found: list[tuple[int, int]] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        if match[0][0] == "\n" and not by_line and match[0].count("\n") < 2:
            continue
        if end == len(text):
            continue
        near = max(start, match.start() - _ABBREVIATION_CHARS)
        if match[0][0] == "." and _ABBREVIATED.search(text, near, end):
            continue
        found.append((start, end))
        start = end
    return [*found, (start, len(text))] if start < len(text) else found


def without_sentences(text: str, gone: Callable[[str], bool]) -> str:
    """The text without those of its sentences of which ``gone`` says so.

    They are asked as lines break and, where that makes other sentences, as if lines were broken to
    fit a width. What is left of a text without a word in it is ``""``.
    """
    cuts = [span for span in sentences(text) if gone(text[slice(*span)])]
    if "\n" in text:
        cuts += [span for span in sentences(text, by_line=False) if gone(text[slice(*span)])]
    if not cuts:
        return text
    left = without(text, _united(cuts)).strip()
    return left if any(map(str.isalnum, left)) else ""


def _united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same places, as spans that are in order and do not overlap."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if united and start < united[-1][1]:
            united[-1] = united[-1][0], max(end, united[-1][1])
        else:
            united.append((start, end))
    return united


def _cut(text: str, start: int, limit: int) -> int:
    """Where the part that begins at ``start`` ends; the text goes on for longer than a part."""
    size = min(limit, _PART_CHARS)
    # A cut in the first quarter would leave a heading alone.
    low, high = start + max(1, size // 4), start + size
    paragraphs = _ends(_PARAGRAPH_END, text, low, start + min(limit, _PARAGRAPH_CHARS))
    if paragraphs:
        return max((end for end in paragraphs if end <= high), default=paragraphs[0])
    for pattern in (_SENTENCE_END, _WHITE_SPACE):
        ends = _ends(pattern, text, low, high)
        if ends:
            return ends[-1]
    while high > low and unicodedata.combining(text[high]):
        high -= 1
    return high


def _ends(pattern: re.Pattern[str], text: str, low: int, high: int) -> list[int]:
    return [match.end() for match in pattern.finditer(text, low, high)]


def _check(message: Message) -> None:
    if not isinstance(message, Message):
        raise InvalidInput(f"a message is a graphmem Message, not {type(message).__name__}")
    if message.role not in _ROLES:
        raise InvalidInput(f"unknown role {message.role!r}: use one of {', '.join(_ROLES)}")
    _check_strings(message)
    if message.said_at is not None:
        _check_time(message.said_at)
    if message.role == "document" and message.speaker:
        raise InvalidInput("a document has a title, not a speaker: leave Message.speaker out")
    if message.role != "document" and message.title:
        raise InvalidInput("only a document has a title: pass role='document' with it")


def _check_strings(message: Message) -> None:
    if not isinstance(message.text, str):
        raise InvalidInput(f"Message.text must be a string, not {type(message.text).__name__}")
    for name, value in (("speaker", message.speaker), ("title", message.title)):
        if value is not None and not isinstance(value, str):
            raise InvalidInput(
                f"Message.{name} must be a string or None, not {type(value).__name__}"
            )


def _check_time(said_at: datetime) -> None:
    if not isinstance(said_at, datetime):
        raise InvalidInput(f"said_at must be a datetime or None, not {type(said_at).__name__}")
    if said_at.utcoffset() is None:
        raise InvalidInput(
            f"said_at has no time zone: {said_at.isoformat()}; "
            "pass e.g. datetime(…, tzinfo=timezone.utc), or None where the time is unknown"
        )


def _metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """A clean copy made of plain JSON values."""
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type(metadata).__name__}")
    if not metadata:
        return {}
    try:
        plain = json.loads(json.dumps(dict(metadata), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"metadata must hold JSON values only (strings, finite numbers, booleans, None, "
            f"lists, dicts): {error}"
        ) from error
    cleaned: Mapping[str, Any] = _clean_json(plain)
    return cleaned


def _clean_json(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _clean_json(item) for key, item in value.items()}
    return value


def _speaker(message: Message, user: str) -> str | None:
    if message.role == "document":
        return None
    return _one_line(message.speaker) or ("assistant" if message.role == "assistant" else user)


def _one_line(name: str | None) -> str:
    return " ".join(clean_text(name or "").split())


def _refusal(admitted: Message, given: Message) -> str:
    if admitted.role == "system":
        return "a system prompt is no memory"
    if admitted.role == "tool":
        return "a tool's output is no memory"
    if _is_visible(admitted.text):
        return ""
    if _is_visible(given.text):
        return "nothing of its own: only thinking, tool calls or recalled notes"
    return "empty text"


def _is_visible(text: str) -> bool:
    return any(unicodedata.category(char) not in _INVISIBLE_CATEGORIES for char in text)


def _without_thinking(text: str) -> str:
    """The text without what stands between thinking tags.

    Some chat templates put the opening tag into the prompt, so that the reply only closes it; and a
    reply that was cut off only opens it. Such a tag counts where it is no part of a sentence.
    """
    text = text[_unopened(text) :]
    thinking = enclosed(_THINKING_TAG, text)
    start = thinking[-1][1] if thinking else 0
    unclosed = next(filter(is_opening, _THINKING_TAG.finditer(text, start)), None)
    if unclosed and not text[start : unclosed.start()].strip():
        thinking.append((start, len(text)))
    return without(text, thinking)


def _unopened(text: str) -> int:
    """Where thinking ends that no tag opens; 0 where there is none."""
    for tag in _THINKING_TAG.finditer(text):
        if is_opening(tag):
            break
        if _ends_line(text, tag.start(), tag.end()):
            return tag.end()
    return 0


def _ends_line(text: str, start: int, end: int) -> bool:
    """Whether nothing else stands before, or nothing behind, the span on its line."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    stop = text.find("\n", end)
    return not before.strip() or not text[end : stop if stop >= 0 else None].strip()


def _answer(text: str) -> str:
    """What an agent's trace tells the user; a text that is no trace comes back as it is.

    The answer follows the last thought: what stands before may quote a tool's own "Answer:".
    """
    if not _THOUGHT.match(text.lstrip()):
        return text
    last_thought = [match.start() for match in _THOUGHT.finditer(text)][-1]
    answer = _ANSWER.search(text, last_thought)
    if answer:
        return text[answer.end() :]
    return "" if _ACTION.search(text) else text

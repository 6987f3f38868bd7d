"""How a message was meant: in earnest, or as a joke that its speaker takes back.

A closed list of English markers, and a cautious one: who laughs ("lol", "haha") may well state a
fact. What is taken for a joke is not believed; it is stored, searched and recalled all the same.
"""

from __future__ import annotations

import re

from graphmem.identity import normal_form
from graphmem.types import Passage

__all__ = ["mood", "takes_back"]

_MARKER = (
    r"(?:(?:(?:i'?m|i am|i was|was) )?(?:just|only|totally) (?:kidding|joking|messing with you)"
    r"|(?:i'?m|i am|i was) (?:kidding|joking|pulling your leg)"
    r"|(?:just|only) pulling your leg|(?:i'?m|i am|i was) (?:just |only )?being sarcastic"
    r"|april fools?!|(?:that|it) was (?:just )?(?:a joke|sarcasm)"
    r"|j/k|jk|not really,? (?:lol|haha+))\b"
)
# "I'm not just kidding" and "no, I'm kidding" differ by what stands right before.
_WITHIN = re.compile(rf"(?<=.)(?<!not )(?<!never )(?<!isn't )\b{_MARKER}", re.DOTALL)
# "/s", "(joking!)", "… kidding." at the end; "no kidding" is in earnest.
_SIGN = re.compile(
    r"(?<=\S\s)/[sj]\W{0,9}\Z|(?<=[\w\s])[^\w\s]\W{0,9}(?:kidding|joking|sarcasm)"
    r"(?:,? (?:obviously|of course))?\W{0,9}\Z"
)
_LABEL = re.compile(r"\A\W*(?:joke|sarcasm)\s?:")
_FILLER = r"(?:(?:lol|haha\w*|hehe\w*|no|nah|nope|ok|okay|sorry|well|oh|ha)\b[\s,.!:)]*)*"
# Nearly every text has none of these, and need not be looked at closer.
_HINTS = tuple("kidding|joking|messing|pulling|joke|sarcas|fool|jk|j/k|not really|/s|/j".split("|"))
_FIRST = re.compile(rf"\A\W*{_FILLER}{_MARKER}")


def mood(passage: Passage, following: Passage | None = None) -> str:
    """``"joke"`` for what its speaker marks as a joke, ``""`` for what is meant in earnest.

    Args:
        passage: what was said. A marker in it ("just kidding", "/s" at its end) counts where words
            stand before it: at the beginning it is about the message before.
        following: the next message of the same speaker in the conversation, where there is one: a
            marker at its beginning takes this one back.
    """
    is_taken_back = following is not None and takes_back(following)
    return "joke" if is_taken_back or _is_marked(passage.text) else ""


def _is_marked(text: str) -> bool:
    if not _may_be_marked(text):
        return False
    text = _plain(text)
    # What stands at the beginning is about the message before.
    start = first.end() if (first := _FIRST.match(text)) else 0
    return bool(_SIGN.search(text) or _LABEL.match(text) or _WITHIN.search(text, start))


def _may_be_marked(text: str) -> bool:
    folded = text.casefold()
    return any(hint in folded for hint in _HINTS)


def takes_back(passage: Passage) -> bool:
    """Whether a message begins by saying that the speaker's last one was a joke."""
    if passage.role != "user" or not _may_be_marked(passage.text):
        return False
    return _FIRST.match(_plain(passage.text)) is not None


def _plain(text: str) -> str:
    """The text in normal form, with the marks at its end."""
    return normal_form(f"{text} .").removesuffix(" .").strip()

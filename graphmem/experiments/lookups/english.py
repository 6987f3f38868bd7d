"""The little English that look-ups need: predicates taken apart, verbs conjugated, dates told."""

from __future__ import annotations

import re
from typing import NamedTuple

from graphmem.identity import normal_form
from graphmem.times import MONTHS

__all__ = ["Predicate", "conjugated", "has_day", "is_participle", "kind_of", "parsed"]

_PRESENT = frozenset("is are does be being".split())
_PAST = frozenset("was were did been".split())
_HAVING = frozenset("has have had".split())  # an auxiliary before a participle, else a verb
_FUTURE = re.compile(r"(?:will|shall|(?:is|are) going to|(?:is|are) to|to) (?:be )?")
_NEGATIONS = frozenset("not no never neither nor cannot without longer hardly barely".split())
_FILLERS = frozenset(
    """
    a an the also already currently originally first firstly formerly previously later now mainly
    officially mostly primarily largely usually often once still then initially eventually finally
    recently soon reportedly partly entirely generally commonly widely jointly briefly
    """.split()
)
# Of verbs whose past does not end in -ed: past and participle.
_PARTICIPLES = frozenset(
    """
    became become began begun bit bitten bore born bought brought built came caught chose chosen
    cost did done drew drawn drank drunk drove driven ate eaten fell fallen fed felt fought found
    flew flown forbade forbidden got gave given went gone grew grown had heard held kept knew known
    led left lent lost made meant met paid rode ridden rang ran said saw seen sold sent sang sung
    sat slept spoke spoken spent stood stole stolen struck swam swum took taken taught told thought
    threw thrown wore worn wove woven won wrote written
    """.split()
)
# Those that look the same in the present: "has hit" may speak of a song.
_TIMELESS = frozenset("cost cut hit hurt let put quit read run set shut split spread".split())
_IRREGULAR = {
    "become": ("becomes", "became", "becoming"),
    "bring": ("brings", "brought", "bringing"),
    "buy": ("buys", "bought", "buying"),
    "choose": ("chooses", "chose", "choosing"),
    "come": ("comes", "came", "coming"),
    "cut": ("cuts", "cut", "cutting"),
    "do": ("does", "did", "doing"),
    "find": ("finds", "found", "finding"),
    "get": ("gets", "got", "getting"),
    "give": ("gives", "gave", "giving"),
    "go": ("goes", "went", "going"),
    "have": ("has", "had", "having"),
    "hit": ("hits", "hit", "hitting"),
    "hold": ("holds", "held", "holding"),
    "keep": ("keeps", "kept", "keeping"),
    "leave": ("leaves", "left", "leaving"),
    "lend": ("lends", "lent", "lending"),
    "let": ("lets", "let", "letting"),
    "lie": ("lies", "lay", "lying"),
    "make": ("makes", "made", "making"),
    "mislay": ("mislays", "mislaid", "mislaying"),
    "pay": ("pays", "paid", "paying"),
    "permit": ("permits", "permitted", "permitting"),
    "put": ("puts", "put", "putting"),
    "ring": ("rings", "rang", "ringing"),
    "say": ("says", "said", "saying"),
    "see": ("sees", "saw", "seeing"),
    "sell": ("sells", "sold", "selling"),
    "set": ("sets", "set", "setting"),
    "ship": ("ships", "shipped", "shipping"),
    "shoot": ("shoots", "shot", "shooting"),
    "sink": ("sinks", "sank", "sinking"),
    "sit": ("sits", "sat", "sitting"),
    "speak": ("speaks", "spoke", "speaking"),
    "spend": ("spends", "spent", "spending"),
    "split": ("splits", "split", "splitting"),
    "stand": ("stands", "stood", "standing"),
    "stop": ("stops", "stopped", "stopping"),
    "strike": ("strikes", "struck", "striking"),
    "take": ("takes", "took", "taking"),
    "think": ("thinks", "thought", "thinking"),
    "throw": ("throws", "threw", "throwing"),
}

_MONTHS = frozenset([*MONTHS, *(month[:3] for month in MONTHS)])
_CALENDAR = _MONTHS | frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
    fridays saturdays sundays spring summer autumn fall winter century bc ad bce ce am pm morning
    evening noon
    """.split()
)
_CALENDAR_FILLERS = frozenset("the of in on at early mid late about around circa c ca".split())
_YEAR = re.compile(r"(?:1\d{3}|20\d\d)s?|\d{4}-\d\d(?:-\d\d)?|\d{1,2}:\d\d", re.ASCII)
_DAY = re.compile(r"\d{1,2}(?:st|nd|rd|th)?", re.ASCII)
# A year before a word is part of a name: 1960 Summer Olympics.
_NUMBER = re.compile(
    r"(?!(?:1[5-9]|20)\d\d [a-z])[^\w\s]{0,2}\d.*"
    r"|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty"
    r"|sixty|seventy|eighty|ninety|nearly|about|around|over|almost)\b.*",
    re.ASCII,
)


class Predicate(NamedTuple):
    """A predicate taken apart.

    ``core`` is it without auxiliaries, articles and adverbs; ``tense`` is past, present or future;
    ``auxiliary`` is "be", "have" or empty.
    """

    core: str
    tense: str
    auxiliary: str


def parsed(predicate: str) -> Predicate | None:
    """A predicate taken apart; ``None`` where it denies something or cannot be told."""
    form = normal_form(predicate).replace("_", " ")
    if _NEGATIONS & set(form.split()) or "n't" in form:
        return None
    parts = _FUTURE.sub("", form, count=1).split() if _FUTURE.match(form) else form.split()
    tense, auxiliary = "future" if _FUTURE.match(form) else "", ""
    while parts:
        first, following = parts[0], parts[1] if len(parts) > 1 else ""
        if first in _HAVING and following in _TIMELESS:
            return None
        if first in _HAVING and is_participle(following):
            tense, auxiliary = tense or "past", "have"
        elif first in _PRESENT | _PAST:
            tense, auxiliary = tense or ("past" if first in _PAST else "present"), "be"
        elif first not in _FILLERS:
            break
        parts = parts[1:]
    return Predicate(" ".join(parts), tense or _bare_tense(parts), auxiliary)


def _bare_tense(parts: list[str]) -> str:
    """The tense of a predicate without an auxiliary: "lived in", but "owned by" may still hold."""
    return "past" if parts and parts[-1] != "by" and is_participle(parts[0]) else "present"


def is_participle(word: str) -> bool:
    """Whether a word is the past of a verb, or its participle."""
    return word == "been" or word.endswith("ed") or word in _PARTICIPLES


def conjugated(phrase: str, form: int) -> str:
    """A phrase that begins with a base form, with that verb as he/she (0), past (1) or -ing (2).

    A "not" before the verb takes the auxiliary: "does not allow".
    """
    first, _, rest = phrase.partition(" ")
    if first == "not":
        return f"{('does not', 'did not', 'not')[form]} {rest}"
    ends_in_y = first.endswith("y") and first[-2] not in "aeiou"
    hissing = "es" if first.endswith(("s", "x", "z", "ch", "sh")) else "s"
    stem = first.removesuffix("e")
    regular = (
        f"{first[:-1]}ies" if ends_in_y else first + hissing,
        f"{first[:-1]}ied" if ends_in_y else f"{stem}ed",
        f"{stem}ing",
    )
    found = _IRREGULAR.get(first, regular)[form]
    return f"{found} {rest}" if rest else found


def kind_of(name: str) -> str:
    """Whether a name is a "time" (a date, a time of day, or a part of it), a "number", or "any"."""
    form = normal_form(name)
    parts = _time_parts(form)
    is_dated = any(part in _CALENDAR or _YEAR.fullmatch(part) for part in parts)
    if is_dated and all(
        part in _CALENDAR | _CALENDAR_FILLERS or _YEAR.fullmatch(part) or _DAY.fullmatch(part)
        for part in parts
    ):
        return "time"
    return "number" if _NUMBER.fullmatch(form) else "any"


def has_day(name: str) -> bool:
    """Whether a time names a day of a month."""
    parts = _time_parts(normal_form(name))
    return any(part in _MONTHS for part in parts) and any(_DAY.fullmatch(part) for part in parts)


def _time_parts(form: str) -> list[str]:
    """The words of a date; spans ("1914-1918") are cut, ISO dates are not."""
    words = form.replace(",", " ").replace(".", " ").split()
    cut = ([word] if _YEAR.fullmatch(word) else re.split("[–/-]", word) for word in words)
    return [part for parts in cut for part in parts if part]

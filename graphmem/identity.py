"""Normal forms and content ids: the only place that hashes.

Two spellings are the same name when their normal forms are equal. The normal form folds what a
reader would not notice (case, width, invisible characters, spacing, the quotes around a name) and
keeps what carries meaning: accents, signs, decimals, every script. ``3.10`` and ``3.1`` stay apart,
so do ``Anna`` and ``Hanna``, ``-5`` and ``5``, ``C`` and ``C++``, ``A*`` and ``A``.

What must not come back is compared by its ``skeleton``, which also sees through letters of another
alphabet that look alike.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache

__all__ = [
    "INVISIBLE",
    "clean_text",
    "content_id",
    "key64",
    "key64_bytes",
    "keyed",
    "normal_form",
    "skeleton",
]

# What no reader sees: format characters (zero-width space, joiners, direction marks, BOM, soft
# hyphen), blank fillers, variation selectors, tags. The joiners carry meaning in some
# scripts' spelling, not in a name's identity.
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Characters that take no room, as ranges for a regular expression's class."""

_INVISIBLE = re.compile(rf"[\x01-\x08\x0e-\x1b\x7f-\x84\x86-\x9f{INVISIBLE}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"\s+")
# Most names: nothing to drop, to fold or to strip but their case.
_PLAIN = re.compile(r"[A-Za-z0-9]+(?:[ '-][A-Za-z0-9]+)*")
_LOOKALIKE = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u02bb\u02bc\u2032", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212", "-")
)
# What may stand around a name and is none of it.
_LOOSE = " ,;:!?\u3002\u3001\uff0c"
_QUOTE = "\"'"
_EMPHASIS = "*_`"
_OPENING = "([{<\u00ab\u300c\u300e\u300a"
_CLOSING = ")]}>\u00bb\u300d\u300f\u300b"
_PARTNER = dict(zip(_OPENING + _CLOSING, _CLOSING + _OPENING, strict=True))
_SIGNS = "<>"  # no brackets without their partner: <3
_BRACKET = re.compile(f"[{re.escape(_OPENING + _CLOSING)}]")

# Letters of other alphabets that cannot be told from Latin ones, each by its own case: a capital nu
# is an N, a small one a v. No digit is among them.
# fmt: off
_TWINS = str.maketrans(
    dict(zip("АВЕЗКМНОРСТУХЅІЈӀԌԚԜԀҮҺѴЀЁЇ", "ABE\u0417KMHOPCTYXSIJLGQWDYHV\u0415\u00cb\u00cf",
             strict=True))
    | dict(zip("авекмнорстухѕіјӏԍԛԝԁүһѵёї", "abekmhopctyxsijlgqwdyhv\u00eb\u00ef", strict=True))
    | dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ", "ABEZHIKMNOPTYXCj", strict=True))
    | dict(zip("αβεικνορτυχγηωϲ", "abeikvoptuxynwc", strict=True))
    | dict(zip("օսհոզցյ", "ouhnqgj", strict=True))
    | dict(zip("ɑɡɩ", "agi", strict=True))
)
# fmt: on
_LETTERS = re.compile(r"(?:[^\W\d_][\u0300-\u036f]*)+")


def clean_text(text: str) -> str:
    """The text as it can be stored anywhere: valid Unicode without NUL.

    Surrogate pairs are joined into the character they stand for; a lone surrogate or a NUL becomes
    U+FFFD, so that the damage stays visible and the length of the text does not change its meaning.
    """
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if not text.isascii() and _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def normal_form(name: str) -> str:
    """The form under which names, predicates and values are compared; may be empty.

    NFKC, case folded, invisible characters dropped, typographic quotes and dashes made plain, white
    space collapsed, surrounding punctuation stripped. Idempotent.
    """
    return _kept_form(name) if len(name) <= _KEPT_CHARS else _form(name)


def _form(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name.lower()
    text = clean_text(name)
    text = _INVISIBLE.sub("", text).casefold() if text.isascii() else _folded(text)
    text = _SPACE.sub(" ", text)
    while True:
        core = _core(text)
        if core == text:
            return text
        text = core


# A fact's names are compared a dozen times on their way into the store.
_KEPT_CHARS = 100
_kept_form = lru_cache(maxsize=1 << 14)(_form)


def _folded(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    text = _INVISIBLE.sub("", text).translate(_LOOKALIKE).casefold()
    return unicodedata.normalize("NFKC", text).translate(_LOOKALIKE)


def _core(text: str) -> str:
    """The text without what may stand around a name.

    Brackets and emphasis go where they enclose it (or lack their partner), a closing quote unless
    it is a measure (5'), closing full stops unless it holds others (U.S., 3.1.).
    """
    start, end = 0, len(text)
    brackets = set(_BRACKET.findall(text))
    alone = {mark for mark in brackets if mark not in _SIGNS and _PARTNER[mark] not in brackets}
    while start < end:
        first, last = text[start], text[end - 1]
        if first in _LOOSE or first in _QUOTE or first in alone:
            start += 1
        elif last in _LOOSE or last in alone or (last in _QUOTE and not text[end - 2].isdigit()):
            end -= 1
        elif end - start > 1 and _encloses(text, first, last):
            start, end = start + 1, end - 1
        elif last == "." and "." not in text[start:end].rstrip("."):
            end = start + len(text[start:end].rstrip("."))
        else:
            break
    return text[start:end]


def _encloses(text: str, first: str, last: str) -> bool:
    if first == last:
        return first in _EMPHASIS
    return (
        first in _OPENING and _PARTNER[first] == last and text.count(first) == text.count(last) == 1
    )


def skeleton(text: str) -> str:
    """The form in which what must not come back is compared: the normal form, look-alikes undone.

    Cyrillic, Greek and Armenian letters that look like Latin ones count as those where a word mixes
    alphabets, or consists of such letters only. All other words of those alphabets stay what they
    are, and so does a single Greek letter, which is a symbol. Idempotent.
    """
    if text.isascii():
        return normal_form(text)
    while True:
        # By the case in which it was written, as long as it is.
        seen = unicodedata.normalize("NFKC", _INVISIBLE.sub("", clean_text(text)))
        form = normal_form(_LETTERS.sub(_as_latin, seen))
        if form == text or form.isascii():
            return form
        text = form


def _as_latin(letters: re.Match[str]) -> str:
    word = letters[0]
    if word.isascii():
        return word
    twin = word.translate(_TWINS)
    if twin == word:
        return word
    scripts = {_script(char) for char in word} - {""}
    if len(scripts) > 1:
        return twin
    is_whole = all(ord(char) in _TWINS or not _script(char) for char in word)
    return twin if is_whole and (len(word) > 1 or scripts == {"CYRILLIC"}) else word


def _script(char: str) -> str:
    """The alphabet of a letter; ``""`` for a mark. Letters made for phonetics are none of Latin."""
    if char.isascii():
        return "LATIN"
    if unicodedata.combining(char):
        return ""
    return "PHONETIC" if "\u0250" <= char <= "\u02af" else unicodedata.name(char, "?").split()[0]


def keyed(secret: bytes, kind: str, *parts: str) -> bytes:
    """A digest of 16 bytes that tells nothing to who does not have the secret (up to 64 bytes).

    Parts are length-prefixed, as in ``content_id``; a kind has at most 16 ASCII letters.
    """
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    data = b"".join([len(one).to_bytes(8, "big") + one for one in encoded])
    return hashlib.blake2b(data, digest_size=16, key=secret, person=kind.encode()).digest()


def content_id(kind: str, *parts: str) -> str:
    """A stable id: ``kind-`` and 32 hexadecimal digits of SHA-256 over the parts.

    Parts are length-prefixed, so ``("ab", "c")`` and ``("a", "bc")`` differ.
    """
    encoded = [part.encode("utf-8", "surrogatepass") for part in (kind, *parts)]
    data = b"".join([len(one).to_bytes(8, "big") + one for one in encoded])
    return f"{kind}-{hashlib.sha256(data).hexdigest()[:32]}"


def key64(text: str) -> int:
    """A key of 64 bits for tables in memory: of a million texts two collide once in 40 million."""
    return int.from_bytes(key64_bytes(text), "little")


def key64_bytes(text: str) -> bytes:
    """The bytes of ``key64``, least first."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8).digest()

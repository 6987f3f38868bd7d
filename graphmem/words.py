"""Words: how a text of any script is cut, and how words are folded into what is searched.

``words`` cuts a text into words, in order: what names are made of. ``terms`` folds words into what
is searched: English stems without stop words, numbers and codes whole, scripts that put no spaces
between words as single characters and pairs.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence

import Stemmer

from graphmem.identity import normal_form
from graphmem.memo import Memo

__all__ = ["STEMS", "STOP_WORDS", "is_question", "terms", "words"]

# Vowel signs and other marks belong to the word, but \w leaves them out.
_MARKS = "".join(
    char for char in map(chr, range(0x300, 0x10000)) if unicodedata.category(char) in ("Mn", "Mc")
)
# Scripts written without spaces (Thai, Lao, Burmese, Khmer, kana, Han), and Hangul, whose endings
# cling to the word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = rf"[\w{_MARKS}]"
_SPACED = rf"(?:(?![{_UNSPACED}]){_LETTER})"
# A number with its separators, a word with its apostrophes (and C++, C#), or an unspaced run.
_TOKEN = re.compile(
    rf"\d+(?:[.,:]\d+)+|{_SPACED}+(?:'{_SPACED}+)*(?:\+\+|#)?|[{_UNSPACED}{_MARKS}]+"
)
# The same where there are no other letters: in half the time.
_ASCII_TOKEN = re.compile(r"\d+(?:[.,:]\d+)+|\w+(?:'\w+)*(?:\+\+|#)?", re.ASCII)
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_QUESTION_END = re.compile(r"[?\uff1f\u061f][\s\"'\u201d\u2019)]*\Z")
_IS_PLAIN = re.compile(r"[a-z']+")

STOP_WORDS = frozenset(
    """
    a about above after again against ago all also am an and any anyone anything are aren't as at be
    because been before being below between both but by can can't cannot could couldn't did didn't
    do does doesn't doing don't down during each either else etc ever every few for from further had
    hadn't has hasn't have haven't having he he'd he'll he's her here hers herself him himself his
    how i i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself just let let's may me
    might more most much must my myself no nor not now of off on once one only or other our ours
    ourselves out over own per rather really same shall she she'd she'll she's should shouldn't
    since so some someone something such than that that'd that'll that's the their theirs them
    themselves then there there's these they they'd they'll they're they've this those through till
    to too under until up upon us very via was wasn't we we'd we'll we're we've were weren't what
    what's whatever when when's where where's whether which while who who's whom whose why will with
    within without won't would wouldn't yes yet you you'd you'll you're you've your yours yourself
    yourselves
    """.split()
)
"""English words that say nothing about what a passage is about."""


def words(text: str) -> tuple[str, ...]:
    """The text's words in order, in normal form; unspaced scripts give one word a character.

    A possessive ending is dropped: ``"Priya's house"`` → ``("priya", "house")``.
    """
    form = normal_form(text)
    if form.isascii():
        tokens = _ASCII_TOKEN.findall(form)
        return tuple([token.removesuffix("'s") for token in tokens] if "'s" in form else tokens)
    found: list[str] = []
    for token in _TOKEN.findall(form):
        if _IS_UNSPACED.match(token):
            found.extend(token)
        else:
            found.append(token.removesuffix("'s"))
    return tuple(found)


def is_question(text: str) -> bool:
    """Whether a text ends in a question mark, behind which only quotes and brackets may close."""
    return _QUESTION_END.search(text) is not None


def terms(text_words: Sequence[str]) -> Counter[str]:
    """How often each term occurs in a text's words, stop words left out."""
    if all(map(str.isascii, text_words)):
        return Counter([_folded[word] for word in text_words if word not in STOP_WORDS])
    counts: Counter[str] = Counter()
    previous = ""
    for word in text_words:
        if word in STOP_WORDS:
            previous = ""
        elif _IS_UNSPACED.match(word):
            counts[word] += 1
            if previous:
                counts[previous + word] += 1
            previous = word
        else:
            counts[_folded[word]] += 1
            previous = ""
    return counts


STEMS = f"english {Stemmer.version()}"
"""Which stems terms are: other versions give some words others."""
# Without its own cache: see _folded.
_stemmer = Stemmer.Stemmer("english", 0)
_stemmer_lock = threading.Lock()  # the stemmer keeps the word it works on in itself


def _fold(word: str) -> str:
    """A word without Latin accents, stemmed where it is plain letters; codes stay whole."""
    if not word.isascii():
        word = _without_accents(word)
    if not _IS_PLAIN.fullmatch(word):
        return word
    with _stemmer_lock:
        stem: str = _stemmer.stemWord(word)
        return stem


_folded: Memo[str] = Memo(_fold, 1 << 17)


def _without_accents(word: str) -> str:
    """``é`` → ``e``; marks on other scripts are letters' own and stay."""
    kept: list[str] = []
    for char in unicodedata.normalize("NFD", word):
        if unicodedata.combining(char) and kept and kept[-1] < "\u0250":
            continue
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))

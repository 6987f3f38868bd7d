"""Words: how a text is cut into terms, and how much of a question a passage covers.

Three layers. ``words`` cuts a text of any script into words, in order: what names are made of.
``terms`` folds words into what is searched: English stems without stop words, numbers and codes
whole, scripts that put no spaces between words as single characters and pairs. ``Postings`` holds
the terms of all passages and scores them against a question, each passage together with its
neighbours in its thread.
"""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from graphmem.identity import normal_form
from graphmem.lists import Ints, Lists

__all__ = ["STOP_WORDS", "Coverage", "Postings", "is_nameable", "terms", "words"]

Floats = NDArray[np.float64]

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
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
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
    found: list[str] = []
    for token in _TOKEN.findall(normal_form(text)):
        if _IS_UNSPACED.match(token):
            found.extend(token)
        else:
            found.append(token.removesuffix("'s"))
    return tuple(map(sys.intern, found))


def is_nameable(name: Sequence[str], longest: int = 8) -> bool:
    """Whether a name's words are telling enough to be looked for in running text.

    One to ``longest`` words, not all of them stop words; a single word needs three characters.
    """
    if not 0 < len(name) <= longest or all(word in STOP_WORDS for word in name):
        return False
    return len(name) > 1 or len(name[0]) >= 3


def terms(text_words: Sequence[str]) -> Counter[str]:
    """How often each term occurs in a text's words, stop words left out."""
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
            counts[_fold(word)] += 1
            previous = ""
    return counts


_stemmer = snowballstemmer.stemmer("english")
_stemmer_lock = threading.Lock()  # the stemmer keeps the word it works on in itself


@lru_cache(maxsize=1 << 17)
def _fold(word: str) -> str:
    """A word without Latin accents, stemmed where it is plain letters; codes stay whole."""
    if not word.isascii():
        word = _without_accents(word)
    if not _IS_PLAIN.fullmatch(word):
        return sys.intern(word)
    with _stemmer_lock:
        return sys.intern(_stemmer.stemWord(word))


def _without_accents(word: str) -> str:
    """``é`` → ``e``; marks on other scripts are letters' own and stay."""
    kept: list[str] = []
    for char in unicodedata.normalize("NFD", word):
        if unicodedata.combining(char) and kept and kept[-1] < "\u0250":
            continue
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """A question's terms against every passage.

    Attributes:
        share: shape (passages,): how much of the question each passage covers, 0 to 1: BM25 over
            its greatest possible value. Terms that no passage has count as uncovered, so that the
            share of a question asked in other words is small and its vectors weigh more.
        idf: shape (terms,): weight of each term.
        present: shape (terms, passages): whether the passage or a neighbour has the term.
    """

    share: Floats
    idf: Floats
    present: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The terms of all passages by position, where neighbours of a thread lie side by side.

    Attributes:
        vocabulary: term → its row in ``holders``.
        holders: for each term, the passages that have it.
        counts: how often, aligned with ``holders.items``.
        threads: shape (passages,): number of each passage's thread.
        window: offset within the thread → how much the neighbour's words count; 0 → 1.
        lengths: shape (passages,): number of terms, the window's neighbours included.
    """

    vocabulary: Mapping[str, int]
    holders: Lists
    counts: Floats
    threads: Ints
    window: Mapping[int, float]
    lengths: Floats

    @classmethod
    def of(
        cls, documents: Iterable[Mapping[str, int]], threads: Ints, window: Mapping[int, float]
    ) -> Postings:
        """Postings of passages given as term counts, in order of position."""
        vocabulary: dict[str, int] = {}
        rows: list[int] = []
        columns: list[int] = []
        counts: list[int] = []
        for column, document in enumerate(documents):
            rows.extend(vocabulary.setdefault(term, len(vocabulary)) for term in document)
            columns.extend([column] * len(document))
            counts.extend(document.values())
        row, col = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
        order = np.lexsort((col, row))
        holders = Lists.of(row, col, len(vocabulary))
        weights = np.array(counts, dtype=np.float64)
        lengths = np.bincount(col, weights=weights, minlength=len(threads)).astype(np.float64)
        return cls(
            vocabulary, holders, weights[order], threads, window, spread(lengths, threads, window)
        )

    def cover(self, question: Iterable[str], *, k1: float, b: float) -> Coverage:
        """Score all passages against the question's distinct terms, by BM25 with ``k1``, ``b``."""
        asked = sorted(set(question))
        size = len(self.threads)
        idf = np.array([self._idf(term) for term in asked])
        frequency = np.zeros((len(asked), size))
        for place, term in enumerate(asked):
            row = self.vocabulary.get(term)
            if row is None:
                continue
            start, stop = self.holders.starts[row], self.holders.starts[row + 1]
            frequency[place, self.holders.items[start:stop]] = self.counts[start:stop]
        frequency = spread(frequency, self.threads, self.window)
        mean = float(self.lengths.mean()) if size else 0.0
        norm = k1 * (1 - b + b * self.lengths / mean) if mean else np.ones(size)
        total = float(idf.sum())
        # Not a matrix product: BLAS would start threads for it, which cost more than they give.
        covered = np.einsum("t,tp->p", idf, frequency / (frequency + norm))
        return Coverage(covered / total if total else np.zeros(size), idf, frequency > 0)

    def _idf(self, term: str) -> float:
        row = self.vocabulary.get(term)
        holders = 0 if row is None else len(self.holders[row])
        return float(np.log1p((len(self.threads) - holders + 0.5) / (holders + 0.5)))


def spread(values: NDArray[np.float64], threads: Ints, window: Mapping[int, float]) -> Floats:
    """Each passage's value plus its neighbours' by the window's weights, along the last axis."""
    total = values * window.get(0, 1.0)
    size = len(threads)
    for offset, weight in window.items():
        if offset == 0 or abs(offset) >= size:
            continue
        here = slice(max(0, -offset), size - max(0, offset))
        there = slice(max(0, offset), size + min(0, offset))
        together = threads[here] == threads[there]
        if together.any():
            total[..., here] += weight * values[..., there] * together
    return total

"""Text as it is parsed: chat spelling made plain, names capitalised, long texts in pieces.

Also the question whether it is English at all: the rules read no other language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from graphmem.identity import clean_text

__all__ = ["capitalise", "is_english", "names_in", "pieces", "plain", "unbracket"]

PIECE_CHARS = 4000
# Shares of words, found on the development sets: their lowest English share is far above.
_MIN_ENGLISH_SHARE = 0.12
_MIN_LATIN_SHARE = 0.6
_FEW_WORDS = 6
_SHORTEST_NAME = 4

_CHAT = {
    "i": "I", "im": "I'm", "i'm": "I'm", "ive": "I've", "i've": "I've", "i'd": "I'd",
    "i'll": "I'll", "u": "you", "ur": "your", "youre": "you're", "dont": "don't",
    "doesnt": "doesn't", "didnt": "didn't", "cant": "can't", "wont": "won't", "isnt": "isn't",
    "wasnt": "wasn't", "arent": "aren't", "werent": "weren't", "havent": "haven't",
    "hasnt": "hasn't", "hadnt": "hadn't", "couldnt": "couldn't", "wouldnt": "wouldn't",
    "shouldnt": "shouldn't", "thats": "that's", "whats": "what's", "theyre": "they're",
    "theyve": "they've", "weve": "we've", "shes": "she's", "hes": "he's", "theres": "there's",
    "gonna": "going to", "wanna": "want to", "gotta": "have to", "cos": "because",
    "cuz": "because", "coz": "because", "bc": "because", "tmrw": "tomorrow", "tmr": "tomorrow",
    "yday": "yesterday", "rn": "right now", "pls": "please", "plz": "please", "ppl": "people",
}  # fmt: skip
_CHAT_WORD = re.compile(
    r"(?<![\w'/.@-])("
    + "|".join(sorted(map(re.escape, _CHAT), key=len, reverse=True))
    + r")(?![\w'/@-])",
    re.IGNORECASE,
)
# A contracted "is" or "has" after a noun, told from the possessive by the word that follows: the
# parser takes "Ann's moved" and "the hall's in" for possessives.
_WORD_S = r"(?<=[^\W\d_])'s(?=\s+"
_ADVERBS = r"(?:not|now|still|already|just|also|really|finally|never|always|only|basically|even)\s+"
_HAS = re.compile(
    _WORD_S
    + rf"(?:{_ADVERBS})*(?:been|got|gone|had|become|taken|given|made|moved|started|left|come|"
    r"bought|sold|lost|found|met|told|written|chosen|decided|turned|asked|put|sent)\b"
    r"(?!\s+(?:by|of|for)\b))",
    re.IGNORECASE,
)
_IS = re.compile(
    _WORD_S + rf"(?:{_ADVERBS})*(?:(?:an?|the|my|his|her|our|their|your|in|on|at|off|from|to|with|"
    r"back|here|there|out|about|over|down|up|so|too|very|quite|not|no|now|still|all|called|"
    r"[a-z]{2,}ing)\b(?!-|\s*'|\s+(?:is|was|are|were|has)\b)|(?:fine|good|great|bad|ill|well|ready|done|"
    r"finished|pregnant|happy|sad|gone|closed|open|broken|better|worse|tired|late|early)\b"
    r"(?=\s*(?:[.,!?;:]|$|and\b|but\b|with\b))))",
    re.IGNORECASE,
)
_IS_NAME = re.compile(
    r"\b((?:[Mm]y|[Oo]ur)\s[a-z]+)'s(?=(?:\s+[A-Z][a-z]+){1,2}\s*(?:[.,!?;]|$|(?:and|but)\b))"
)
_NOISE = re.compile(r"(.)\1\1|^(?:h[aei]+h?|h[aei](?:h[aei])+h?|o+h+|a+h+|hm+|ha|yay|btw|lol|omg)$")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_REPEATED = re.compile(r"([!?,])[!?,]+")
_DOTS = re.compile(r"\.{2,}|\u2026")
# The tokeniser takes the full stop after a code or a word in capitals for a part of it.
_STOP_AFTER_CODE = re.compile(r"(?<![\w.])(I|[A-Z0-9'-]{4,})\.(?=\s|$)")
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")

_OPENING = 200
_BRACKETS = re.compile(r"\s*\(([^()]{0,200})\)")
# What stands in brackets and is no part of a sentence: dates, other scripts, sounds, translations.
_ASIDE = re.compile(
    r"^[\"'\u201c].*[\"'\u201d]$|\d{3,4}|[;:]|[^\x00-\u024f\u2010-\u2030]|\bborn\b|^\s*$|\u02c8"
)
_BORN = re.compile(r"\bborn\s+(?:[A-Z]\w+\s+)?(?:on\s+)?([^;]+)")
_DATE = r"((?:(?:c\.\s*)?[\w., ]{0,20}?)\b\d{3,4})"
_LIFE = re.compile(rf"(?:^|;)\s*{_DATE}\s*[\u2013\u2014-]\s*{_DATE}\s*(?:$|;)")

_PERSONAL = re.compile(r"\b(?:he|she|his|her)\b", re.IGNORECASE)

_ENGLISH = frozenset(
    """the of and to a in is was i that it for you on with he she they we my me his her as at be
    have had has by this are not but from or an were so what all there if can will would up out
    about who which when where how just like no yes do did does don't it's i'm that's been their
    our your its one than then them some into now get got go going very also because after before
    only over more most too here am""".split()
)
# Frequent words of other languages in Latin script that English does not have.
_FOREIGN = frozenset(
    """der das und ist nicht ein eine ich mit für auf dem den sich auch wir sie haben bin
    le les des une est dans qui pour pas sur vous nous avec je il elle sont c'est j'ai
    el los las una que por para con del está es yo muy pero soy mi como
    il che di non una sono per della con gli mio anche
    não uma com os as eu você meu minha também
    het een niet van ik zijn voor maar ook jag och att det som är inte för
    bir ve bu için ile da nie jest się na że to po""".split()
) - frozenset("as to mi da on in no me come per con van est den es".split())
_COMMON = _ENGLISH | frozenset(
    """i'll monday tuesday mum mom dad mother father may march will mark bill grace hope joy rose
    sister brother auntie uncle aunt gran grandma grandpa god ok okay hi hello hey thanks please
    new old day week home work house shop good""".split()
)


def plain(text: str) -> str:
    """The text on one line in standard spelling, without pictures and repeated marks."""
    text = clean_text(text).replace("\u2019", "'").replace("\ufffd", " ")
    text = "".join(
        " " if unicodedata.category(char) in ("So", "Cf", "Cc", "Sk") else char for char in text
    )
    text = _DOTS.sub(". ", text)
    text = _REPEATED.sub(lambda match: "?" if "?" in match[0] else match[1], text)
    text = _STOP_AFTER_CODE.sub(r"\1 .", text)
    text = _CHAT_WORD.sub(lambda match: _CHAT[match[1].lower()], text)
    text = _IS_NAME.sub(r"\1 is", text)
    text = _IS.sub(" is", _HAS.sub(" has", text))
    return _SPACE.sub(" ", text).strip()


def unbracket(text: str, title: str) -> str:
    """A document's text without the brackets that break its sentences; life dates as sentences.

    "Ann Lee (born 1 May 1950) is" becomes "Ann Lee is", and "Ann Lee was born 1 May 1950." follows.
    """
    found: list[str] = []
    is_person = _PERSONAL.search(text) is not None

    def read(match: re.Match[str]) -> str:
        inside = match[1]
        if match.start() < _OPENING and title and not found:
            found.extend(_life(inside, title, is_person))
        return " " if _ASIDE.search(inside) else match[0]

    text = _BRACKETS.sub(read, text)
    return " ".join([text.rstrip(), *found])


def _life(inside: str, title: str, is_person: bool) -> Iterator[str]:
    born, span = _BORN.search(inside), _LIFE.search(inside)
    if born:
        yield f"{title} was born {born[1].strip()}."
    elif span and is_person:
        for verb, when in (("was born", span[1]), ("died", span[2])):
            date = when.strip()
            yield f"{title} {verb} {'in' if date.isdigit() else 'on'} {date}."


def pieces(text: str, limit: int = PIECE_CHARS) -> Iterator[str]:
    """The text cut at sentences into pieces of at most about ``limit`` characters."""
    piece = ""
    for part in _parts(text, limit):
        if piece and len(piece) + len(part) > limit:
            yield piece
            piece = ""
        piece = f"{piece}\n{part}" if piece else part
    if piece:
        yield piece


def _parts(text: str, limit: int) -> Iterator[str]:
    for part in _SENTENCE_END.split(text) if len(text) > limit else [text]:
        for start in range(0, len(part), limit):
            if part[start : start + limit].strip():
                yield part[start : start + limit]


def is_english(text: str) -> bool:
    """Whether the words look English, by script and by the share of frequent words.

    A few words without any sign of another language pass: names and numbers are short answers.
    """
    letters = [char for char in text if char.isalpha()]
    latin = sum(char < "\u0250" or "\u1e00" <= char <= "\u1eff" for char in letters)
    if not letters or latin < _MIN_LATIN_SHARE * len(letters):
        return False
    words = [word.lower() for word in _WORD.findall(text)]
    english = sum(word in _ENGLISH for word in words)
    foreign = sum(word in _FOREIGN for word in words)
    if len(words) < _FEW_WORDS:
        return english >= foreign
    return english > foreign and english >= _MIN_ENGLISH_SHARE * len(words)


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """Words that stand capitalised inside a sentence: how the speakers write their names."""
    found: set[str] = set()
    for text in texts:
        for match in _WORD.finditer(text):
            word = re.sub(r"['\u2019]s$", "", match[0])
            before = text[: match.start()].rstrip()[-1:]
            is_inside = before.isalpha() or before == ","
            if is_inside and len(word) > 2 and word.istitle() and word.lower() not in _COMMON:
                found.add(word)
    return frozenset(found)


def capitalise(text: str, names: frozenset[str], is_word: Callable[[str], bool]) -> str:
    """The text with names written with their capital: "rita" as "Rita".

    A name is what stands among the names, or what no dictionary knows.
    """
    known = {name.lower() for name in names}

    def spell(match: re.Match[str]) -> str:
        word = match[0]
        stem = word.removesuffix("'s")
        is_odd = len(stem) < _SHORTEST_NAME or "'" in stem or _NOISE.search(stem.lower())
        is_name = stem in known or not (is_odd or is_word(stem))
        return word[0].upper() + word[1:] if is_name else word

    return _WORD.sub(spell, text)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.words import terms, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Priya's house, at 10:30!", ("priya", "house", "at", "10:30")),
        ("Python 3.10 is not 3.1", ("python", "3.10", "is", "not", "3.1")),
        ("order HT-40871, room ASR1603", ("order", "ht", "40871", "room", "asr1603")),
        ("C++ and C# and C", ("c++", "and", "c#", "and", "c")),
        ("私は京都に", ("私", "は", "京", "都", "に")),
        ("हिन्दी में", ("हिन्दी", "में")),
        ("O’Brien don't", ("o'brien", "don't")),
        ("ganbatte頑張", ("ganbatte", "頑", "張")),
        ("... --- !!!", ()),
        ("", ()),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the dogs were running", {"dog": 1, "run": 1}),
        ("Abílio and Abilio", {"abilio": 2}),
        ("京都", {"京": 1, "都": 1, "京都": 1}),
        ("3.10 3.10", {"3.10": 2}),
        ("what is it", {}),
    ],
)
def test_terms(text, expected):
    assert terms(words(text)) == expected


def test_accents_of_other_scripts_stay():
    assert terms(words("が")) != terms(words("か"))
    assert terms(words("é")) == terms(words("e"))


@given(st.text(max_size=80))
def test_any_text_can_be_read(text):
    found = words(text)
    assert all(found)
    assert all(words(word) for word in found)
    assert all(count > 0 for count in terms(found).values())


@given(st.text(alphabet="aB9'.,:+#_- s", max_size=20))
def test_plain_letters_are_cut_as_among_other_letters(text):
    beside = words(f"{text} \u00e9")
    assert beside == (*words(f"{text} e")[:-1], "\u00e9")

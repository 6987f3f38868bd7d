"""Names: what is one, what stays apart, and ids that follow from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.identity import clean_text, content_id, normal_form

# Every kind of code point that a client may hand over, lone surrogates and controls among them.
ANY_TEXT = st.text(st.characters(), max_size=40)


@given(ANY_TEXT)
def test_normal_form_is_idempotent(text):
    once = normal_form(text)
    assert normal_form(once) == once


@given(st.from_regex(r"[A-Za-z0-9]+([ '-][A-Za-z0-9]+)*", fullmatch=True))
def test_a_plain_name_loses_nothing_but_its_case(name):
    assert normal_form(name) == name.lower()
    # What is not plain takes the long way to the same.
    assert normal_form(f"{name}\u200b, ") == name.lower()


@given(st.text(alphabet="ab.'\"()[]<>*_`-5 \u00ab\u00bb\u300c\u300d\u2019\u0301", max_size=12))
def test_normal_form_is_idempotent_on_marks(text):
    once = normal_form(text)
    assert normal_form(once) == once


@given(ANY_TEXT)
def test_normal_form_does_not_see_case_padding_or_zero_width(text):
    plain = normal_form(text)
    assert normal_form(f" \u200b{text}\t\u2060") == plain
    assert normal_form("\u200d".join(text)) == normal_form(text.replace("\u200d", ""))


@pytest.mark.parametrize(
    "spellings",
    [
        ("Bob Smith", "bob smith", "Bob Smith ", "BOB SMITH", "Bob\u00a0Smith", "Bob\n Smith"),
        (
            "Bob Smith",
            "B\u200bob Smith",
            "Bob Smith\ufeff",
            "\u202eBob Smith\u202c",
            "Bo\u00adb Smith",
        ),
        ("Bob Smith", "B\U000e0062ob Smith", "Bob\x07 Smith", "Bob\u3164 Smith", "Bob Smith\ufe0f"),
        ("THALIE", "Thalie", "\uff34halie", '"Thalie"', "\u201cThalie\u201d", "\u00abThalie\u00bb"),
        (
            "Thalie",
            "(Thalie)",
            "[Thalie]",
            "**Thalie**",
            "`Thalie`",
            "Thalie,",
            "Thalie.",
            "Thalie...",
        ),
        (
            "Thalie",
            "(Thalie",
            "Thalie)",
            "'Thalie",
            "Thalie'",
            "\u300cThalie\u300d",
            "\u201eThalie\u201c",
        ),
        ("O'Brien", "O\u2019Brien", "O\u02bcBrien", "o\u2018brien"),
        ("Jean-Luc", "Jean\u2010Luc", "Jean\u2013Luc", "Jean\u2212Luc"),
        ("Caf\u00e9", "Cafe\u0301", "CAF\u00c9"),
        ("Stra\u00dfe", "STRASSE", "strasse"),
        ("\u30ab\u30bf\u30ab\u30ca", "\uff76\uff80\uff76\uff85"),
        ("\u4eac\u90fd", "\u300c\u4eac\u90fd\u300d", "\u4eac\u90fd\u3002"),
        ("\ud55c\uae00", "\u1112\u1161\u11ab\u1100\u1173\u11af"),
    ],
)
def test_one_name(spellings):
    assert len({normal_form(spelling) for spelling in spellings}) == 1
    assert normal_form(spellings[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3.10", "3.1"),
        ("-5", "5"),
        ("+5", "5"),
        ("5%", "5"),
        ("$5", "5"),
        ("5'", "5"),
        ("<3", "3"),
        ("C", "C++"),
        ("C", "C#"),
        ("A*", "A"),
        ("Anna", "Hanna"),
        ("ASR1603", "ASR1605"),
        ("K\u00f6ln", "Koln"),
        ("resume", "r\u00e9sum\u00e9"),
        ("Paris (Texas)", "Paris Texas"),
        ("U.S.", "us"),
        ("U.S.", "U.S"),
        ("re-sign", "resign"),
        ("\u4eac\u90fd", "\u6771\u4eac"),
        ("\u0430\u043d\u043d\u0430", "anna"),
        ("\u304b\u304d", "\u304b\u304e"),
        ("\u0e01\u0e32", "\u0e01\u0e48\u0e32"),
        ("Bob", "Bob Smith"),
    ],
)
def test_names_that_stay_apart(one, other):
    assert normal_form(one) != normal_form(other)


def test_balanced_brackets_inside_a_name_stay():
    assert normal_form("f(x)") == "f(x)"
    assert normal_form("Iron Maiden (album)") == "iron maiden (album)"
    assert normal_form("(a) or (b)") == "(a) or (b)"


@pytest.mark.parametrize(
    "empty", ["", " ", "\u200b", '""', "...", "()", "?!", "\u3164", "\u3002", "**"]
)
def test_nothing_is_left_of_marks_alone(empty):
    assert normal_form(empty) == ""


def test_a_symbol_is_a_name():
    assert normal_form("\U0001f600") == "\U0001f600"
    assert normal_form("\u2764\ufe0f") == "\u2764"


def test_long_runs_of_marks_take_no_time():
    for text in ("(" * 200_000, "\"'" * 100_000, "()" * 100_000, "." * 200_000, "*" * 200_001):
        normal_form(text)
    assert normal_form("(" * 100_000 + "x" + ")" * 100_000).strip("()") == "x"


@given(ANY_TEXT)
def test_clean_text_can_be_encoded_and_is_stable(text):
    clean = clean_text(text)
    clean.encode("utf-8")
    assert "\x00" not in clean
    assert clean_text(clean) == clean


@given(st.text())
def test_clean_text_keeps_what_is_clean(text):
    assert clean_text(text) == text.replace("\x00", "\ufffd")


@pytest.mark.parametrize(
    ("damaged", "clean"),
    [
        ("bad \udc9a", "bad \ufffd"),
        ("\ud83d", "\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("a\ud83db", "a\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("nul\x00", "nul\ufffd"),
    ],
)
def test_clean_text_mends_surrogates_and_shows_damage(damaged, clean):
    assert clean_text(damaged) == clean


@given(st.lists(ANY_TEXT, max_size=4), st.lists(ANY_TEXT, max_size=4))
def test_content_ids_are_equal_for_equal_parts_only(one, other):
    assert (content_id("m", *one) == content_id("m", *other)) == (one == other)


def test_content_id_does_not_depend_on_the_process():
    assert content_id("e", "ana") == "e-b9b2f299eea116ea598f58f148783446"
    assert content_id("a", "bc") != content_id("ab", "c")
    assert content_id("m", "ab", "c") != content_id("m", "a", "bc")

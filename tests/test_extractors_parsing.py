from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphmem.extractors import jsonish
from graphmem.extractors.parsing import MAX_NAME_CHARS, Item, Reply, iso_date, read
from graphmem.types import Triple

ANN = Triple("Ann", "lives in", "Oslo")
BOB = Triple("Bob", "likes", "tea")
ANN_ITEM = '{"source": "m1", "subject": "Ann", "predicate": "lives in", "object": "Oslo"}'
BOB_ITEM = '{"source": "m2", "subject": "Bob", "predicate": "likes", "object": "tea"}'
BOTH = f'{{"triples": [{ANN_ITEM}, {BOB_ITEM}]}}'


def triples(text: str) -> list[Triple]:
    return [item.triple for item in read(text).items]


def test_a_reply_in_the_format_is_read_whole() -> None:
    text = json.dumps(
        {
            "triples": [
                {
                    "source": "m2",
                    "subject": "Ann",
                    "predicate": "lives in",
                    "object": "Oslo",
                    "polarity": False,
                    "valid_from": "2024-05",
                    "valid_to": "2025-01-31",
                    "speaker": "Bob",
                }
            ]
        }
    )
    expected = Triple("Ann", "lives in", "Oslo", False, "2024-05", "2025-01-31", "Bob")
    assert read(text) == Reply((Item(expected, "m2"),))


BOTH_READ = {
    "fenced": f"```json\n{BOTH}\n```",
    "fenced without a language": f"```\n{BOTH}\n```",
    "prose around": f"Sure! Here are the facts:\n{BOTH}\nLet me know if I can help.",
    "prose with braces": f"I looked at {{all}} of [the] messages.\n{BOTH}\n{{done}} [ok]",
    "prose with quotes": f'As you said, "all facts": {BOTH} "done".',
    "a list": f"[{ANN_ITEM}, {BOB_ITEM}]",
    "an object a line": f"{ANN_ITEM}\n{BOB_ITEM}",
    "two lists": f"[{ANN_ITEM}]\n\n[{BOB_ITEM}]",
    "single quotes": BOTH.replace('"', "'"),
    "typographic quotes": BOTH.replace('"source"', "“source”").replace('"Ann"', "“Ann”"),
    "trailing commas": BOTH.replace("}]", "},],").replace('"Oslo"', '"Oslo",'),
    "no commas between items": BOTH.replace("}, {", "}\n{"),
    "no commas between fields": BOTH.replace(", ", "\n"),
    "line comments": BOTH.replace("}, {", "}, // and now Bob\n{"),
    "hash comments": BOTH.replace("}, {", "}, # and now Bob\n{"),
    "block comments": BOTH.replace("[", "[ /* the facts: [1] */ ", 1),
    "bare keys": BOTH.replace('"subject"', "subject").replace('"object"', "object"),
    "bare words": BOTH.replace('"Ann"', "Ann").replace('"lives in"', "lives in"),
    "equals signs": BOTH.replace('"subject":', "'subject' =>"),
    "NaN and None": BOTH.replace('"source": "m1"', '"source": "m1", "valid_from": NaN, "x": None'),
    "a set and an ellipsis": BOTH.replace("[", "[..., ", 1),
    "head, relation, tail": BOTH.replace("subject", "head")
    .replace("predicate", "relation")
    .replace("object", "tail"),
    "s, p, o": BOTH.replace("subject", "s").replace("predicate", "p").replace("object", "o"),
    "capital keys": BOTH.replace("subject", "Subject").replace("object", "OBJECT"),
    "facts": BOTH.replace("triples", "facts"),
    "an unknown key": BOTH.replace("triples", "knowledge"),
    "nested": f'{{"result": {{"output": {BOTH}}}}}',
    "entities beside": BOTH.replace("{", '{"entities": ["Ann", "Oslo", "Bob"], ', 1),
    "entities as lists": BOTH.replace("{", '{"entities": [["Ann", "is", "person"]], ', 1),
    "by label": f'{{"m1": [{ANN_ITEM}], "m2": [{BOB_ITEM}]}}',
    "three-item lists": '[["Ann", "lives in", "Oslo"], ["Bob", "likes", "tea"]]',
    "lists under the key": '{"triples": [["Ann", "lives in", "Oslo"], ["Bob", "likes", "tea"]]}',
    "lists with labels": '[["Ann", "lives in", "Oslo", "m1"], ["Bob", "likes", "tea", "m2"]]',
    "lists with polarity": '[["Ann", "lives in", "Oslo", true], ["Bob", "likes", "tea", true]]',
    "tuples": "[('Ann', 'lives in', 'Oslo'), ('Bob', 'likes', 'tea')]",
    "a list a line": '["Ann", "lives in", "Oslo"]\n["Bob", "likes", "tea"]',
    "a list in an object": '{"triples": [{"triple": ["Ann", "lives in", "Oslo"], "source": "m1"},'
    ' {"triple": ["Bob", "likes", "tea"]}]}',
    "split predicates": '[["Ann", "lives", "in", "Oslo"], ["Bob", "likes", "tea"]]',
    "names as objects": '[{"subject": {"name": "Ann", "type": "person"}, "relation":'
    ' {"type": "lives in"}, "object": {"name": "Oslo"}}, ["Bob", "likes", "tea"]]',
    "source as subject": '{"edges": [{"source": "Ann", "relation": "lives in", "target": "Oslo"},'
    ' {"source": "Bob", "relation": "likes", "target": "tea"}]}',
    "numbered lines": "Facts:\n1. (Ann, lives in, Oslo)\n2. (Bob, likes, tea)\n",
    "numbered lines with quotes": "1) (\"Ann\", 'lives in', \"Oslo\").\n2) ('Bob', 'likes', 'tea')",
    "bullets": "- (Ann, lives in, Oslo)\n* (Bob; likes; tea) [m2]",
    "bars": "(Ann | lives in | Oslo)\n(Bob | likes | tea)",
    "lines in strings": '{"triples": ["(Ann, lives in, Oslo)", "(Bob, likes, tea)"]}',
    "thoughts before": f'<think>Maybe {{"triples": []}} or [1]?</think>\n{BOTH}',
    "thoughts without a start": f'Maybe {{"triples": []}}?</think>{BOTH}',
    "said twice": f"{BOTH}\nAgain:\n{BOTH}",
    "with a null item": BOTH.replace("[", "[null, ", 1),
    "with junk items": BOTH.replace("[", '[7, "x", {}, [], {"subject": "Eve"}, ', 1),
    "with an item of two": BOTH.replace("[", '[["Ohio", "is unpolluted"], ', 1),
    "with an item of six": BOTH.replace("[", '[["a", "b", "c", "d", "e", "f"], ', 1),
    "with a broken item": BOTH.replace("[", '[{"subject": "Eve" "x" : : 1}, ', 1),
    "with an unclosed item": BOTH.replace('Oslo"}', 'Oslo"'),
    "closed by the wrong bracket": BOTH[:-2] + "}]",
    "a byte order mark": f"\ufeff{BOTH}",
}


@pytest.mark.parametrize("text", BOTH_READ.values(), ids=BOTH_READ)
def test_what_models_do_to_the_format_is_forgiven(text: str) -> None:
    reply = read(text)
    assert [item.triple for item in reply.items] == [ANN, BOB]
    assert reply.problem == ""


@pytest.mark.parametrize(
    "text",
    ["[]", '{"triples": []}', '```json\n{"triples": []}\n```', '{"facts": [], "entities": ["Ann"]}',
     "Nothing is stated, so: []", '{"m1": [], "m2": []}', '{"result": {"triples": []}}'],
)  # fmt: skip
def test_nothing_to_learn_is_an_explicit_empty_list(text: str) -> None:
    assert read(text) == Reply()


@pytest.mark.parametrize(
    "text",
    ["", "  \n", "null", "{}", "[{}]", "[[]]", "[null]", '{"triples": null}', '{"triples": {}}',
     '{"triples": "none"}', '{"entities": []}', "There are no facts here.", "<html>502</html>",
     '{"triples": [{"subject": "Ann"}]}', '{"triples": [{"subject": null, "predicate": "is"}]}',
     '{"error": "overloaded"}', "{'triples'}", '"triples": ', '[["Ann", "sleeps"]]', "[1, 2, 3]",
     '{"triples": [{"subject": "A", "predicate": "is", "object": ["B", {"x": {}}][0:1]}',
     "<think>Ann lives in Oslo", '{"triples": [{"subject": "Ann", "predicate": "lives'],
)  # fmt: skip
def test_what_cannot_be_read_never_looks_like_nothing_to_learn(text: str) -> None:
    reply = read(text)
    assert reply.problem
    assert not reply.items


def test_a_cut_reply_yields_its_complete_items_at_every_length() -> None:
    whole = read(BOTH).items
    first_ends = BOTH.index("}") + 1
    second_ends = BOTH.rindex("}", 0, -1) + 1
    for length in range(len(BOTH)):
        reply = read(BOTH[:length])
        expected = 0 if length < first_ends else 1 if length < second_ends else 2
        assert reply.items == whole[:expected], BOTH[:length]
        assert reply.is_cut or length == 0
        assert bool(reply.problem) == (expected == 0)
    assert not read(BOTH).is_cut


def test_a_cut_item_is_dropped_even_when_its_three_fields_are_there() -> None:
    text = '[{"subject": "Ann", "predicate": "eats", "object": "meat", "polarity": fal'
    assert triples(text) == []
    assert triples(text + "se}]") == [Triple("Ann", "eats", "meat", polarity=False)]


def test_a_cut_list_item_is_dropped() -> None:
    assert triples('[["Ann", "lives in", "Oslo"], ["Bob", "likes", "te') == [ANN]
    assert triples('[["Ann", "lives in", "Oslo"], ["Bob", "likes", "green tea", "m') == [ANN]


def test_a_bracket_in_prose_after_the_answer_is_no_cut() -> None:
    assert read(f"{BOTH}\n(see [m1 and m2").is_cut is False
    assert read(f'{BOTH}\n{{"subject": "An').is_cut is True


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (r"caf\u00e9", "café"),
        (r"\ud83d\ude00", "😀"),
        (r"bad \udc9a", "bad \ufffd"),
        (r"bad \ud83d.", "bad \ufffd."),
        (r"\u12G4 x", r"\u12G4 x"),
        (r"C:\dir", r"C:\dir"),
        (r"a\\b", r"a\b"),
        (r"Ann\'s", "Ann's"),
        (r"two\nlines", "two lines"),
        (r"nul \u0000", "nul \ufffd"),
        ('the "best" café', 'the "best" café'),
        ("raw\nline", "raw line"),
        ("京都", "京都"),
    ],
)
def test_strings_survive_broken_escapes(written: str, expected: str) -> None:
    text = f'{{"triples": [["Ann", "likes", "{written}"]]}}'
    assert triples(text) == [Triple("Ann", "likes", expected)]


def test_apostrophes_in_single_quotes_stay() -> None:
    text = "[{'subject': 'Ann's dog', 'predicate': 'isn't', 'object': 'Bob's'}]"
    assert triples(text) == [Triple("Ann's dog", "isn't", "Bob's")]


@pytest.mark.parametrize("number", ["3.10", "3.1", "1e5", "-0", "007", "12345678901234567890"])
def test_numbers_keep_their_digits(number: str) -> None:
    assert triples(f'[["Python", "has version", {number}]]') == [
        Triple("Python", "has version", number)
    ]


def test_several_objects_are_several_triples() -> None:
    text = '[{"subject": "Ann", "predicate": "likes", "object": ["tea", "jam"]}]'
    assert [triple.object for triple in triples(text)] == ["tea", "jam"]


@pytest.mark.parametrize(
    ("value", "polarity"),
    [("false", False), ('"negative"', False), ('"no"', False), ("0", False), ("true", True),
     ('"positive"', True), ("null", True), ("1", True), ('""', True)],
)  # fmt: skip
def test_polarity_is_read_in_many_words(value: str, polarity: bool) -> None:
    text = ANN_ITEM.replace("}", f', "polarity": {value}}}')
    assert [triple.polarity for triple in triples(text)] == [polarity]


def test_what_is_neither_stated_nor_denied_is_dropped_with_its_reason() -> None:
    reply = read(f'[{BOB_ITEM}, {ANN_ITEM[:-1]}, "polarity": "maybe"}}]')
    assert [item.triple for item in reply.items] == [BOB]
    assert "neither stated nor denied" in reply.dropped[0].reason
    assert reply.dropped[0].source == "m1"


def test_negated_is_understood() -> None:
    assert triples(ANN_ITEM.replace("}", ', "negated": true}'))[0].polarity is False


@pytest.mark.parametrize(
    ("value", "expected"),
    [("2025", "2025"), ("2025-09", "2025-09"), ("2025-9-4", "2025-09-04"),
     ("2025/09/14", "2025-09-14"), ("2025-09-14T10:00:00Z", "2025-09-14T10:00:00+00:00"),
     ("2025-09-14T10:00", "2025-09-14T10:00:00"), (" 2025 ", "2025"),
     ("2025-09-14Tmorning", "2025-09-14"), ("2025-13", None), ("2025-02-30", None), ("0000", None),
     ("yesterday", None), ("null", None), ("", None), (None, None), (2025, None), ("25", None)],
)  # fmt: skip
def test_dates_are_iso_or_unknown(value: object, expected: str | None) -> None:
    assert iso_date(value) == expected


@pytest.mark.parametrize("blank", ['""', '"  "', '"null"', '"N/A"', '"..."', '"“”"'])
def test_a_blank_end_names_nothing_and_is_dropped(blank: str) -> None:
    reply = read(f'{{"triples": [["Ann", "sings", {blank}]]}}')
    assert reply.items == ()
    assert reply.problem == ""
    assert "blank" in reply.dropped[0].reason


def test_sentences_are_no_names() -> None:
    long, short = "x" * (MAX_NAME_CHARS + 1), "x" * MAX_NAME_CHARS
    reply = read(json.dumps([["Ann", "said", long], ["Ann", "said", short]]))
    assert [item.triple.object for item in reply.items] == [short]
    assert "longer" in reply.dropped[0].reason


def test_labels_come_from_item_group_or_key() -> None:
    text = (
        '{"triples": [{"source": "m3", "triples": [["Ann", "lives in", "Oslo"]]}],'
        ' "m4": [["Bob", "likes", "tea"]], "facts": [["Bob", "has", "cat", "m5"]]}'
    )
    assert [item.source for item in read(text).items] == ["m3", "m4", "m5"]
    assert [
        i.source for i in read("m1: (Ann, lives in, Oslo)\n2. (Bob, likes, tea) [m2]").items
    ] == [
        "m1",
        "m2",
    ]
    several = ANN_ITEM.replace('"m1"', '["m1", "m4"]')
    assert [item.source for item in read(several).items] == ["m4"]


def test_a_model_that_repeats_itself_says_it_once() -> None:
    text = "[" + ", ".join([ANN_ITEM] * 500)
    assert [item.triple for item in read(text).items] == [ANN]


def test_nothing_is_evaluated() -> None:
    text = '[["Ann", "ran", __import__("os").getcwd()], ["Bob", "likes", "tea"]]'
    assert BOB in triples(text)
    assert all("/" not in triple.object for triple in triples(text))


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, '{"a":' * 20_000, "{ " * 50_000, '["' * 30_000, "(" * 50_000, "'" * 50_000,
     '{"a": "' + '\\"' * 50_000, "[/*" * 30_000, "<think>" * 20_000, "1. (a" * 20_000,
     '["a", "b", "c"' * 10_000, " " * 100_000 + "[", "(a, " * 30_000 + ")" * 10],
    ids=range(13),
)  # fmt: skip
def test_hostile_replies_take_no_longer_than_long_ones(text: str) -> None:
    started = time.perf_counter()
    read(text)
    assert time.perf_counter() - started < 20  # quadratic would take minutes


words = st.text(max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | words
json_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["triples", "subject", "predicate", "object", "source", "m1", "head"])
            | words,
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
fragments = st.sampled_from(
    ["{", "}", "[", "]", "(", ")", '"', "'", ",", ":", "\\", "\\u12", "\\ud83d", "\udc9a", "null",
     "NaN", "//", "/*", "#", "\n", "m1", "triples", "subject", "predicate", "object", "Ann", "\x00",
     "```", "<think>", "</think>", "1. (", "|", "“", "…", "京都", " "]
)  # fmt: skip


def is_sound(reply: Reply) -> bool:
    for item in reply.items:
        triple = item.triple
        for name in (triple.subject, triple.predicate, triple.object):
            assert name == name.strip()
            assert 0 < len(name) <= MAX_NAME_CHARS
            name.encode()  # no lone surrogate
        assert isinstance(triple.polarity, bool)
        for moment in (triple.valid_from, triple.valid_to):
            assert moment is None or iso_date(moment) is not None
    assert not (reply.problem and reply.items)
    assert len(set(reply.items)) == len(reply.items)
    return True


@given(st.lists(fragments, max_size=40).map("".join))
@example("[" + "'")
def test_any_text_is_read_without_raising(text: str) -> None:
    assert is_sound(read(text))


@given(json_values)
def test_any_json_is_read_without_raising(value: object) -> None:
    assert is_sound(read(json.dumps(value)))
    assert is_sound(read(repr(value)))


@given(json_values, st.integers(0, 200))
def test_any_cut_json_is_read_without_raising(value: object, length: int) -> None:
    assert is_sound(read(json.dumps({"triples": [value, value]})[:length]))


names = st.text("abcdefgh 京é\"'\\{}[],:#/\n", min_size=1, max_size=12).map(
    lambda text: " ".join(f"x{text}x".split())
)


@given(st.lists(st.tuples(names, names, names), min_size=1, max_size=6, unique=True))
def test_what_is_written_as_json_is_read_back(items: list[tuple[str, str, str]]) -> None:
    fields = ("subject", "predicate", "object")
    text = json.dumps({"triples": [dict(zip(fields, item, strict=True)) for item in items]})
    expected = [Triple(*item) for item in items]
    assert triples(text) == expected
    assert triples(f"Here {{you}} are:\n```json\n{text}\n```\nDone.") == expected


plain_json = st.recursive(
    st.none() | st.booleans() | st.text("ab\"\\'\n,:]}京", max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=15,
)


@given(st.lists(plain_json, max_size=3))
def test_the_forgiving_reader_agrees_with_json_on_json(value: list[object]) -> None:
    value = json.loads(json.dumps(value))
    expected = jsonish.find(json.dumps(value)).values
    spoiled = json.dumps([*value, "end"])[:-1] + ",]"  # a trailing comma: for our own reader
    assert jsonish.find(spoiled).values == ([*expected[0], "end"],)

import unicodedata
from dataclasses import fields
from datetime import datetime, timezone
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import open_memory
from graphmem.display import markup
from graphmem.display.markup import MAX_CHARS, MAX_LINES
from graphmem.display.plain import plain
from graphmem.errors import InvalidInput
from graphmem.explanation import Explanation, Part, Path, Place, Quote, Step
from graphmem.tables import table
from graphmem.types import (
    Ban,
    Candidate,
    Diff,
    Entity,
    Fact,
    FactHit,
    LogCheck,
    LogEntry,
    Passage,
    RankedPassage,
    Recall,
    Receipt,
    Scope,
    Seed,
    Source,
    Stats,
)

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SHOWN = (Explanation, Recall, RankedPassage, Fact, Source, Receipt, Diff, LogCheck, Stats)
TRICKS = (
    "<script>alert(1)</script>",
    "</td></tr></table></bdi></div><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" style="position: fixed',
    "' onclick='alert(1)",
    "&lt;b&gt; &#60;b&#62; &amp;",
    "<!-- ]]> <![CDATA[ <?php",
    "javascript:alert(1) expression(alert(1)) url(//host/x)",
    "\u202egnp.exe\u202c \u2066isolated\u2069 \u200b\ufeff",
    "\x1b[31mred\x1b]0;title\x07 \x00 \x9b2J",
    "שלום <b> عالم",
    "{{7*7}} ${x} $\\alpha$",
    "lone \ud800 surrogate",
)
hostile = st.one_of(
    st.sampled_from(TRICKS), st.text(), st.lists(st.sampled_from(TRICKS)).map("".join)
)


def a_fact(text, **others):
    return Fact(
        text,
        text,
        text,
        subject=text,
        predicate=text,
        object=text,
        valid_from=text,
        valid_to=text,
        recorded_at=AT,
        retired_at=AT,
        status=text,
        passages=(text,),
        **others,
    )


def values(text):
    """One of each kind that shows itself, every stored word of it this text."""
    fact = a_fact(text)
    over = a_fact(text, replaced_by=text)
    passage = Passage(text, text, text, speaker=text, session=text, said_at=AT, title=text)
    page = Passage(text, text, text, role="document", title=text)
    ranked = RankedPassage(passage, 0.5, (fact, over), (over,))
    candidate = Candidate("fact", text, text, text, 1.0)
    entity = Entity(text, text)
    whose = Scope("ana")
    quotes = (Quote(text, text, text, AT, text), Quote(text, text, "", None, text))
    places = (Place("question", "", text), Place("fact", text, text), Place("passage", text, text))
    steps = [
        Step("fits", places[0], places[1], 0.5, text, (fact,), quotes),
        Step("mention", places[1], places[2], 0.25, text, (over,)),
    ]
    path = Path(tuple(steps), 0.75, "walk")
    return [
        Recall(
            text,
            whose,
            (ranked, RankedPassage(page, 0.25)),
            "graph",
            text,
            (FactHit(Fact(text, text, text, text, text, text), 0.5),),
            (Seed(entity, 0.5, "name"),),
            {text: 2},
            {"total": 4.2},
            AT,
            AT,
        ),
        Recall(text, whose, route="dense", reason=text),
        Explanation(
            text,
            whose,
            text,
            "outranked",
            text,
            passage,
            7,
            0.5,
            5,
            "graph",
            (Part("walk", 0.3), Part("itself", 0.2)),
            (path, path),
            (ranked,),
            (Part("walk", 0.5),),
            (fact, over),
            (text,),
            AT,
            AT,
        ),
        Explanation(text, whose, text, "forgotten", text),
        ranked,
        fact,
        over,
        Source(text, text, text, "user", text, text, (AT,), AT, text, False, text, AT),
        Receipt(
            whose,
            *((text,), (text,), ((text, text),), (text,), (text,), (text,), (text,), (text,)),
            refused=((text, text),),
            candidates=(candidate,),
            outside=(text,),
            unclear=text,
        ),
        Receipt(whose),
        Diff((fact,), (over,), ((fact, over),), 2),
        Diff(),
        LogCheck(3, 1, None, text),
        LogCheck(3, 1, 2, text),
        Stats(1, 1, 1, 1, 1, 1, 1, 1, 1, last_error=text),
    ]


def tables(text):
    entry = LogEntry(1, AT, text, text, text, text, text, None, None, text)
    ban = Ban(text, "text", "forget", AT, text, "person", text)
    source = Source(text, text, text, "user", text, text, (AT,), AT, text, True, text, AT)
    passage = Passage(text, text, text, speaker=text)
    rows = [a_fact(text), source, passage, RankedPassage(passage, 1.0), entry, ban]
    rows += [Candidate("fact", text, text, text, 1.0), Entity(text, text)]
    return [table([one, one]) for one in rows]


def pages(text):
    """All markup that this text can reach."""
    shown = [one._repr_html_() for one in (*values(text), *tables(text))]
    shown.append(markup.memory_html(text, Scope("ana"), None, text))
    return shown


class Reader(HTMLParser):
    """What a browser makes of markup: elements with their attributes, and words."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.words, self._open = set(), [], []
        self.feed(page)
        self.close()
        assert self._open == [], "not closed"

    def handle_starttag(self, tag, attributes):
        self.elements.add((tag, *attributes))
        if tag != "br":
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        # All words that came from data stand in an element that runs its own way.
        if self._open[-1:] == ["bdi"]:
            self.words.append(data)
        else:
            assert not data.strip() or data in (" ", " · ")

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def shortened(text):
    shown = plain(text)
    return shown if len(shown) <= MAX_CHARS else f"{shown[: MAX_CHARS - 1]}…"


# What there is without any data's doing.
OURS = set().union(*(Reader(page).elements for page in pages("word")))


def test_our_own_markup_is_plain():
    assert {tag for tag, *_ in OURS} == {
        *("div", "span", "b", "br", "bdi", "code", "blockquote"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    assert {name for _, *attributes in OURS for name, _ in attributes} == {"style"}
    styles = [value for _, *attributes in OURS for _, value in attributes]
    assert not [one for one in styles if "url" in one or "position" in one]
    # Words have the page's own colour, on light ground and on dark.
    assert not [one for one in styles if one.startswith("color") or "; color" in one]


@given(hostile)
def test_what_is_stored_is_words_and_never_markup(text):
    for page in pages(text):
        read = Reader(page)
        assert read.elements <= OURS
        shown = "".join(read.words)
        assert not [char for char in page if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")]
        assert plain(shown) == " ".join(shown.split()) == shown.strip()
        # Quotes are our attributes' alone.
        assert "'" not in page
        assert page.count('"') == 2 * page.count('style="')


@given(hostile)
def test_the_words_are_there(text):
    """In full, or as far as a text is shown."""
    wanted = shortened(text)
    for value in values(text):
        is_empty = value in (Receipt(Scope("ana")), Diff())
        assert is_empty or any(wanted in one for one in Reader(value._repr_html_()).words)
    for one in tables(text):
        assert wanted in Reader(one._repr_html_()).words or not wanted


def test_every_stored_word_has_a_place():
    """Each field of a fact and a source that is text is seen where it differs from the others."""
    for kind, hidden in ((Fact, {"subject_id", "object_id", "passages"}), (Source, set())):
        texts = [one.name for one in fields(kind) if "str" in str(one.type)]
        options = {name: f"the-{name}" for name in texts if name not in hidden}
        options |= dict.fromkeys(hidden, "x")
        if kind is Source:
            options |= {"role": "user", "said_at": (AT,), "recorded_at": AT, "grounded": True}
        page = kind(**options)._repr_html_()
        assert not [name for name in texts if name not in hidden and f"the-{name}" not in page]


def test_a_huge_text_is_shortened():
    text = "word <b> " * 5_000
    for page in pages(text):
        assert len(page) < 60_000
    long = next(one for one in values(text) if isinstance(one, RankedPassage))._repr_html_()
    assert "word &lt;b&gt; word" in long
    assert "…</bdi>" in long


def test_long_lists_are_counted():
    ids = tuple(f"p-{number}" for number in range(10_000))
    passages = tuple(RankedPassage(Passage(one, one, f"text {one}"), 0.5) for one in ids)
    facts = tuple(Fact(one, one, one, f"subject {one}", "is", "so") for one in ids)
    for value in (Receipt(Scope("ana"), ids), Recall("q", Scope("ana"), passages), Diff(facts)):
        page = value._repr_html_()
        assert len(page) < 120_000
        assert "p-0" in page
        assert "more" in page
    assert f"and {10_000 - MAX_LINES:,} more" in Diff(facts)._repr_html_()
    assert "more" not in Diff(facts[:MAX_LINES])._repr_html_()


def test_a_recall_tells_what_is_over():
    over = Fact("f-1", "e-1", "e-2", "Vera", "lives in", "Truro", replaced_by="f-2")
    wrong = Fact("f-3", "e-1", "e-3", "Vera", "lives in", "Rome", status="rejected")
    passage = Passage("p-1", "m-1", "Vera lives in Truro.", speaker="Nell", said_at=AT)
    page = Recall("q", Scope("Nell"), (RankedPassage(passage, 1.0, (), (over, wrong)),))
    words = Reader(page._repr_html_()).words
    assert "no longer so: Vera → lives in → Truro" in words
    assert "found wrong: Vera → lives in → Rome" in words
    assert {"Nell", "2026-03-01", "Vera lives in Truro."} <= set(words)


@pytest.mark.parametrize(
    ("fact", "status"),
    [
        (Fact("f", "a", "b", "x", "is", "y", status="verified"), "verified"),
        (Fact("f", "a", "b", "x", "is", "y", status="candidate"), "candidate"),
        (Fact("f", "a", "b", "x", "is", "y", replaced_by="g"), "replaced"),
    ],
)
def test_a_fact_tells_how_far_it_is_believed(fact, status):
    assert status in Reader(fact._repr_html_()).words
    assert status in Reader(table([fact])._repr_html_()).words


def test_a_receipt_of_nothing_says_so():
    assert "nothing changed" in Reader(Receipt(Scope("ana"))._repr_html_()).words
    stored = Receipt(Scope("ana"), ("p-1",))
    assert "nothing changed" not in Reader(stored._repr_html_()).words


def test_a_memory_shows_whose_it_is_and_what_it_holds(tmp_path):
    with open_memory(tmp_path / "a<b>.db", scope="a<b>") as memory:
        memory.remember("Maja moved to Oslo.")
        memory.drain()
        words = Reader(memory._repr_html_()).words
        assert "a<b>" in words
        assert any("a<b>.db" in one for one in words)
        assert {"passages", "facts", "2"} <= set(words)
    # Closed, it says so and raises nothing.
    assert any("closed" in one for one in Reader(memory._repr_html_()).words)


def test_an_explanation_shows_each_step_and_whose_words_it_rests_on():
    told = next(one for one in values("word") if isinstance(one, Explanation))
    words = Reader(told._repr_html_()).words
    assert {"outranked", "walk, 75%", "the question", "fits", "mention", "0.250"} <= set(words)
    assert "0.500 = walk 0.300 + itself 0.200" in words
    assert "word · 2026-03-01" in words


def test_a_table_is_of_one_kind():
    fact = Fact("f-1", "e-1", "e-2", "Vera", "lives in", "Truro")
    assert repr(table([fact])).splitlines() == [
        "fact | status | since | until | id",
        "Vera → lives in → Truro | asserted |  |  | f-1",
    ]
    assert len(table([fact, fact])) == 2
    assert repr(table([])) == "none"
    assert Reader(table([])._repr_html_()).words == ["none"]
    with pytest.raises(InvalidInput, match="Entity, Fact"):
        table([fact, Entity("e-1", "Vera")])
    with pytest.raises(InvalidInput, match="str"):
        table(["Vera"])


@pytest.mark.parametrize("kind", SHOWN)
def test_what_shows_itself_is_tried_here(kind):
    assert kind in {type(one) for one in values("word")}

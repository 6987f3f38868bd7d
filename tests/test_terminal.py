import io
import unicodedata
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from graphmem.display.plain import plain
from graphmem.display.terminal import (
    open_console,
    show_facts,
    show_log,
    show_recall,
    show_sources,
    show_stats,
)
from graphmem.types import (
    Fact,
    FactHit,
    LogEntry,
    Passage,
    RankedPassage,
    Recall,
    Scope,
    Source,
    Stats,
)

WIDTHS = (80, 120)


def passage(text, number=1, speaker="Nell"):
    said_at = datetime(2025, 1, number, tzinfo=timezone.utc)
    return Passage(f"p-{number}", f"m-{number}", text, speaker=speaker, said_at=said_at)


def recalled(*texts, facts=(), speaker="Nell"):
    ranked = tuple(
        RankedPassage(passage(text, number, speaker), 1 / number)
        for number, text in enumerate(texts, 1)
    )
    hits = tuple(FactHit(fact, 0.5) for fact in facts)
    timings = {"embed": 1.0, "total": 4.25}
    return Recall("q?", Scope("Nell"), ranked, "graph", "1 fact", hits, timings=timings)


def printed(show, *arguments, width=80, **options):
    out = io.StringIO()
    show(Console(file=out, width=width, highlight=False, markup=False), *arguments, **options)
    return out.getvalue()


@given(st.text())
def test_plain_text_is_one_line_without_controls_and_stays_itself(text):
    shown = plain(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in shown)
    assert plain(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\ufffd[31mred\ufffd[0m"),
        ("\x9b31m", "\ufffd31m"),
        ("bell\x07 back\x08", "bell\ufffd back\ufffd"),
        ("a\r\nb\tc\u2028d", "a b c d"),
        ("\u202egnp.exe", "\ufffdgnp.exe"),
        ("lone \ud800", "lone \ufffd"),
        ("👩‍🚀 مرحبا 京都", "👩‍🚀 مرحبا 京都"),
    ],
)
def test_what_steers_a_terminal_is_made_visible(text, shown):
    assert plain(text) == shown


@pytest.mark.parametrize("width", WIDTHS)
def test_a_recall_fits_the_width_and_shows_what_was_asked_for(width):
    facts = [Fact("f-1", "e-1", "e-2", "Ada", "lives above", "a bakery" + " and a half" * 20)]
    found = recalled("Ada lives above a bakery. " * 12, "京都は古い都です。" * 12, facts=facts)
    text = printed(show_recall, found, width=width, gold={"p-2"})
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width
    assert "graph route · 4.2 ms (1.0 to embed the question)\n" in text
    marked = [line for line in text.splitlines() if line.startswith("✓")]
    assert [line.split()[1:4] for line in marked] == [["0.500", "2025-01-02", "Nell"]]
    assert "Ada → lives above → a bakery" in text


def test_a_denial_says_so():
    facts = [Fact("f-1", "e-1", "e-2", "Ada", "lives in", "Truro", polarity=False)]
    assert "Ada → not: lives in → Truro" in printed(show_recall, recalled("x", facts=facts))


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_no_longer_so_stands_below_its_passage(width):
    truro = Fact("f-1", "e-1", "e-2", "Ada", "lives in", "Truro", valid_to="2025-03-01")
    tea = Fact("f-2", "e-1", "e-3", "Ada", "likes", "tea\x1b[31m" * 9, status="rejected")
    found = recalled("Ada lives in Truro and likes tea.", "Ada sings.")
    first, second = found.passages
    marked = replace(found, passages=(replace(first, outdated=(tea, truro)), second))
    lines = printed(show_recall, marked, width=width).splitlines()
    body = " " * lines[1].index("Ada")
    assert lines[2] == f"{body}no longer so: Ada → lives in → Truro · until 2025-03-01"
    assert lines[3].startswith(f"{body}found wrong: Ada → likes →")
    assert "Ada sings." in lines[-1]
    assert max(map(cell_len, lines)) <= width
    assert "\x1b" not in "".join(lines)
    assert "no longer so" not in printed(show_recall, found, width=width)


def test_an_empty_recall_says_why():
    found = Recall("", Scope("Nell"), reason="nothing stored")
    assert (
        printed(show_recall, found)
        == "empty route · 0.0 ms (0.0 to embed the question) · nothing stored\n"
    )


def source(**values):
    at = datetime(2025, 3, 1, 12, tzinfo=timezone.utc)
    given = {
        "passage_id": "p-1",
        "message_id": "m-1",
        "session": "may",
        "role": "user",
        "speaker": "Nell",
        "claimed_by": None,
        "said_at": (at, at.replace(month=4)),
        "recorded_at": at.replace(month=5),
        "extractor": "rules/1",
        "grounded": True,
        "quote": "Ada lives above a bakery.",
    }
    return Source(**given | values)


@pytest.mark.parametrize("width", [46, *WIDTHS])
def test_facts_fit_the_width_with_whole_ids(width):
    id_ = f"f-{'0123456789abcdef' * 2}"
    old = Fact(id_, "e-1", "e-2", "Ada", "lives above", "a bakery" + " and a half" * 20)
    other = replace(old, object="an inn", valid_from="2025-03", valid_to="2025-09", replaced_by="f")
    text = printed(show_facts, [old, other, replace(other, replaced_by=None)], width=width)
    lines = text.splitlines()
    assert max(map(cell_len, lines)) <= width
    assert [line.split()[0] for line in lines if line[0] != " "] == [
        "asserted",
        "replaced",
        "asserted",
    ]
    assert [line.strip() for line in lines].count(id_) == 3
    assert " ".join(text.split()).count("Ada → lives above → an inn · since 2025-03 · until") == 2


@pytest.mark.parametrize("width", [46, *WIDTHS])
def test_a_source_says_who_when_and_in_which_words(width):
    text = printed(show_sources, [source(quote="Ada lives above a bakery. " * 12)], width=width)
    assert max(map(cell_len, text.splitlines())) <= width
    words = " ".join(text.split())
    assert words.startswith("Nell (user) · session may · 2025-03-01 12:00:00+00:00, 2025-04-01")
    assert words.count("Ada lives above a bakery.") == 12
    assert "read by rules/1 on 2025-05-01 12:00:00+00:00 passage p-1 message m-1" in words


def test_what_is_doubtful_about_a_source_is_said_and_only_then():
    sure = printed(show_sources, [source()])
    assert not [word for word in ("unknown", "claimed", "do not name") if word in sure]
    odd = source(speaker="", role="document", session="", said_at=(), grounded=False)
    text = printed(show_sources, [replace(odd, claimed_by="Bob")])
    assert text.startswith("  document · time unknown\n")
    assert "these words do not name both ends" in text
    assert "claimed by Bob" in text


def test_nothing_in_a_fact_or_a_source_steers_the_terminal():
    evil = "\x1b[31m[red]\x9b\u202e\n"
    fact = Fact(evil, "e", "e", evil, evil, evil, valid_from=evil, valid_to=evil)
    names = ("passage_id", "message_id", "session", "speaker", "claimed_by", "extractor", "quote")
    shown = printed(show_facts, [fact], width=400)
    shown += printed(show_sources, [source(**dict.fromkeys(names, evil))], width=400)
    assert shown.count("\ufffd[31m[red]\ufffd\ufffd") == 6 + len(names)
    assert not set("\x1b\x9b\u202e") & set(shown)


def test_vectors_that_follow_each_other_are_counted_in_one_line():
    at = datetime(2025, 3, 1, tzinfo=timezone.utc)

    def embedded(number, kind, actor="model-a"):
        return LogEntry(number, at, "embed", kind, f"x-{number}", actor, actor_kind="embedder")

    added = [LogEntry(number, at, "add", "passage", f"p-{number}") for number in (1, 2)]
    run = [embedded(3, "entity"), embedded(4, "fact"), embedded(5, "entity")]
    out = printed(show_log, [*added, *run, embedded(6, "passage", "model-b")], width=120)
    lines = out.splitlines()
    assert [line.split()[0] for line in lines if "by" not in line] == ["1", "2", "3", "6"]
    assert lines[2].endswith("embed      2 entities, 1 fact, up to number 5")
    assert lines[3].strip() == "by model-a (embedder)"
    assert lines[4].endswith("embed      passage x-6")


def test_markup_and_escapes_in_stored_words_are_only_words():
    evil = "[bold red]boo[/bold red] [link=http://x]y[/link] \x1b]0;title\x07"
    out = io.StringIO()
    console = Console(file=out, width=200, force_terminal=True, color_system="truecolor")
    show_recall(console, recalled(evil, speaker="[red]Eve[/]\x1b"))
    assert "[bold red]boo[/bold red] [link=http://x]y[/link] \ufffd]0;title\ufffd" in out.getvalue()
    assert "[red]Eve[/]\ufffd" in out.getvalue()
    assert "\x1b[1m" in out.getvalue() or "\x1b[2m" in out.getvalue()  # its own style is there


def test_stats_name_every_count_and_bad_news_only_when_there_is_some():
    good = printed(show_stats, Stats(messages=1234, passages=1234, facts=5, entities=6))
    assert "1,234" in good
    assert "will be retried" not in good
    bad = printed(show_stats, Stats(pending=3, failed=2, last_error="Timeout:\x1b slow"))
    assert "will be retried" in bad
    assert "Timeout:\ufffd slow" in bad


def test_a_narrow_encoding_gets_near_spellings(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    console = open_console()
    show_recall(console, recalled("café ✓ 京"), gold={"p-1"})
    console.file.flush()
    assert raw.getvalue().decode("ascii").splitlines()[0].startswith("graph route - 4.2 ms")
    assert b"* 1.000" in raw.getvalue()
    assert b"caf? * ?" in raw.getvalue()

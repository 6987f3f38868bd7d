"""What a run returns: figures for programs, tables and pictures for people."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest
from matplotlib.figure import Figure

from bench_parts import OWN, bench, write_chat, write_documents
from experiment_parts import CHAT, DOCUMENTS, Backwards
from graphmem.errors import InvalidInput
from graphmem.experiments import Parts, Results, Table, bench_extraction, variants_of
from graphmem.experiments.bootstrap import Difference
from graphmem.experiments.provenance import code_of
from graphmem.experiments.report.wording import left_out, points, shift
from graphmem.testing import HashEmbedder

CELL = re.compile(r"<td[^>]*>(.*?)</td>")


@pytest.fixture
def sets(tmp_path):
    return [write_chat(tmp_path), write_documents(tmp_path)]


def html_rows(html):
    return [CELL.findall(row) for row in html.splitlines() if "<td" in row]


# -- tables ---------------------------------------------------------------------------------------


def test_a_table_is_markdown_where_it_is_printed():
    table = Table(["what", "share"], [["a|b", "12.0 [3.0, 20.0]"], ["c", ""]], "not here")
    assert str(table).splitlines() == [
        "| what | share |",
        "| --- | ---: |",
        "| a\\|b | 12.0 [3.0, 20.0] |",
        "| c |  |",
    ]


def test_a_table_is_html_in_a_notebook_and_nothing_in_a_cell_is_markup():
    html = Table(["<b>", "n"], [["<script>", "+1.0 [-2.0, 4.0] 80 %"]], "a & b")._repr_html_()
    assert "<caption>a &amp; b</caption>" in html
    assert '<th style="text-align: left">&lt;b&gt;</th>' in html
    ((word, figure),) = html_rows(html)
    assert word == "&lt;script&gt;"
    assert re.sub("<[^>]*>", "|", figure) == "+1.0||[-2.0, 4.0]| 80 %"


@pytest.mark.parametrize(
    ("cells", "side"),
    [
        (["1", "", "12.5"], "right"),
        (["+0.0 [-1.0, +1.0] 5 %", "="], "right"),
        (["10.0 – 20.0", "1,000 / 7"], "right"),
        (["1 hop", "2"], "left"),
        (["graph 6"], "left"),
        (["", ""], "left"),
        (["-"], "left"),
    ],
)
def test_columns_of_figures_stand_to_the_right(cells, side):
    html = Table(["column"], [[cell] for cell in cells])._repr_html_()
    assert f'<th style="text-align: {side}">' in html


@pytest.mark.parametrize(
    ("difference", "says"),
    [
        (Difference(-0.0004, -0.02, 0.0, 0.25, 9), "+0.0 [-2.0, +0.0] 25 %"),
        (Difference(0.0, 0.0, 0.0, 0.0, 9), "="),
        (Difference(0.1, 0.0, 0.2, 0.9, 9), "+10.0 [+0.0, +20.0] 90 %"),
    ],
)
def test_differences_are_told_with_their_sign(difference, says):
    assert shift(difference) == says
    assert points(difference) == re.sub(r" \d+ %$", "", says)


@pytest.mark.parametrize(
    ("number", "what", "says"),
    [
        (1, "questions without evidence", "1 question without evidence"),
        (2, "questions without evidence", "2 questions without evidence"),
        (1, "evidence turns that do not exist", "1 evidence turn that does not exist"),
        (1, "OpenIE passages that are not in the corpus",
         "1 OpenIE passage that is not in the corpus"),
        (1200, "malformed triples", "1,200 malformed triples"),
        (1, "questions.json: empty turns", "1 empty turn of questions"),
    ],
)  # fmt: skip
def test_what_was_left_out_is_told_in_words(number, what, says):
    assert left_out(number, what) == says


# -- results --------------------------------------------------------------------------------------


def test_results_show_figures_and_pooled_differences(sets):
    results = bench(sets, ["graphmem", OWN])
    rows = html_rows(results._repr_html_())
    assert [row[:2] for row in rows[:4]] == [
        ["chat (3 questions)", "graphmem"],
        ["", OWN],
        ["documents (6 questions)", "graphmem"],
        ["", OWN],
    ]
    assert [row[:3] for row in rows[4:]] == [["all", OWN, "graphmem"]]
    assert [row[0] for row in results.differences.rows] == ["chat", "documents", "all"]
    assert rows[0][-1]  # the chat has an update question
    assert rows[2][-1] == ""
    assert len(repr(results)) < 80


def test_a_single_system_has_no_differences(sets):
    results = bench(sets, ["bm25"])
    assert results._repr_html_().count("<table>") == 1
    assert results.differences.rows == []


def test_kinds_are_told_apart(sets):
    kinds = bench(sets, ["bm25", OWN]).kinds
    found = {(row[1], row[3]) for row in kinds.rows}
    assert found == {(kind, s) for kind in ("single", "update", "2 hops") for s in ("bm25", OWN)}


def test_what_is_shown_does_not_depend_on_time(sets):
    first, again = (bench(sets, ["graphmem", "bm25"]) for _ in range(2))
    assert first._repr_html_() == again._repr_html_()
    assert str(first.kinds) == str(again.kinds)
    assert [row[1] for row in first.cost.rows] == ["graphmem", "bm25"] * 2
    assert [one["stages"] for one in first] != [one["stages"] for one in again]


def test_pictures_are_figures(sets):
    results = bench(sets, ["graphmem", "bm25"], variants=variants_of(ablated=["bridge", "walk"]))
    by_k, by_time, parts = results.plot_by_k(), results.plot_by_time(), results.plot_parts()
    for picture, panels in ((by_k, 2), (by_time, 2), (parts, 3)):  # and all sets together
        assert isinstance(picture, Figure)
        assert len(picture.axes) == panels
    legend = [text.get_text() for text in by_k.legends[0].get_texts()]
    assert legend == ["graphmem", "bm25"]
    assert {text.get_text() for text in parts.axes[0].get_yticklabels()} == {"bridge", "walk"}


def test_a_picture_of_parts_needs_an_ablation(sets):
    with pytest.raises(InvalidInput, match="no part was switched off"):
        bench(sets, ["graphmem"]).plot_parts()
    options = {"triples": ["recorded", "none"], "variants": variants_of(ablated=["walk"])}
    results = bench(sets, ["graphmem"], **options)
    assert "none" in results.plot_parts("graphmem · none").get_suptitle()
    assert "none" not in results.plot_parts().get_suptitle()
    with pytest.raises(InvalidInput, match="choose among graphmem, graphmem · none"):
        results.plot_parts("bm25")


def test_nothing_is_drawn_of_nothing():
    results = Results([])
    assert results._repr_html_() == ""
    with pytest.raises(InvalidInput, match="nothing to draw"):
        results.plot_by_k()


def test_readings_of_extractors_are_a_table():
    readings = bench_extraction([DOCUMENTS], ["recorded", "cooccurrence"])
    rows = html_rows(readings._repr_html_())
    assert [row[:3] for row in rows] == [
        ["three small documents", "recorded", "100.0"],
        ["three small documents", "cooccurrence", readings.table.rows[1][2]],
    ]
    assert readings[0]["found_share"] == 1


# -- data sets and systems that are no files ------------------------------------------------------


def test_data_sets_and_classes_are_taken_as_they_are():
    results = bench([CHAT, DOCUMENTS, CHAT], ["bm25", Backwards])
    assert [(one["data"], one["system"]) for one in results] == [
        ("two small chats", "bm25"),
        ("two small chats", OWN),
        ("three small documents", "bm25"),
        ("three small documents", OWN),
    ]
    with pytest.raises(InvalidInput, match="not a Backwards"):
        bench([CHAT], [Backwards(Parts(HashEmbedder()))])


def test_a_system_that_stands_in_no_file_is_never_taken_for_the_same(monkeypatch):
    typed = ModuleType("typed")
    monkeypatch.setitem(sys.modules, "typed", typed)
    first, again = (type("Own", (Backwards,), {"__module__": "typed"}) for _ in range(2))
    assert code_of("typed:Own", first) != code_of("typed:Own", again)
    assert code_of(OWN, Backwards) == code_of(OWN, Backwards)

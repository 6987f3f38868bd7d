"""Pictures: everything that is written can be read, whatever was stored."""

from __future__ import annotations

import builtins
import io
import random
from datetime import datetime, timezone
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import FancyBboxPatch

from explore_parts import fact, passage, played, talk
from graphmem import demo, explore
from graphmem.errors import InvalidInput, MissingDependency, NotFound
from graphmem.explore import pictures
from graphmem.explore.canvas import Arrow, Box, Canvas, wrapped
from graphmem.explore.layout import Room, overlapping, settle, spread
from graphmem.types import Diff

HOSTILE = [
    "$x^2$ and \\frac{1}",
    "\x00\x1b[31m\ud800",
    "京都 🦊 ‮abc",
    "<b>&amp;</b>",
    "a" * 400,
    " ",
]


def written(figure):
    """Every text of a figure with the rectangle that it takes, as (left, bottom, right, top)."""
    figure.savefig(io.BytesIO(), format="png")  # warnings are errors
    renderer = figure.canvas.get_renderer()
    (axes,) = figure.axes
    texts = [*axes.texts, *(text for one in figure.legends for text in one.get_texts())]
    return [(text, text.get_window_extent(renderer).extents) for text in texts]


def unreadable(figure):
    """Pairs of texts that overlap, and texts that leave the figure."""
    found = written(figure)
    width, height = figure.get_size_inches() * figure.dpi
    assert (width, height) <= (1200, 800)
    outside = [
        text.get_text()
        for text, (left, bottom, right, top) in found
        if left < 0 or bottom < 0 or right > width or top > height
    ]
    return outside + [
        (one.get_text(), other.get_text())
        for (one, a), (other, b) in combinations(found, 2)
        if min(a[2], b[2]) - max(a[0], b[0]) > 0.5 and min(a[3], b[3]) - max(a[1], b[1]) > 0.5
    ]


def astray(figure):
    """Arrows that pass under a box that is none of their ends, by its text."""
    (axes,) = figure.axes
    boxes = [one for one in axes.patches if isinstance(one, FancyBboxPatch) and one.zorder == 3]
    lines = [one._path_original.vertices for one in axes.patches if hasattr(one, "get_arrowstyle")]
    assert boxes
    found = []
    for box in boxes:
        low = np.array([box.get_x(), box.get_y()]) + 1
        high = low + np.array([box.get_width() - 2, box.get_height() - 2])
        under = [((low < line) & (line < high)).all(axis=1).any() for line in lines]
        found += [(low + high) / 2] * sum(under)
    return found


def looks(figure):
    return {text.get_gid() for text in figure.axes[0].texts}


def note(figure):
    return [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "title"][-1]


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    with played(tmp_path_factory.mktemp("pictures")) as memory:
        yield memory


def test_the_whole_graph_is_readable_and_says_what_it_leaves_out(memory):
    graph = memory.graph()
    figure = explore.draw(graph, title="Everything")
    assert unreadable(figure) == []
    assert astray(figure) == []
    assert {"speaker", "entity", "fact"} <= looks(figure)
    drawn = sum(text.get_gid() in ("speaker", "entity") for text in figure.axes[0].texts)
    left = len(explore.vertices_of(graph, "entity")) - drawn
    assert drawn == explore.pictures.MOST
    assert f"left out: {left} entities" in note(figure)


def test_the_surroundings_of_the_best_connected_are_readable(memory):
    graph = memory.graph()
    led_astray = 0
    for id_ in list(explore.centrality(graph, "degree"))[:10]:
        figure = explore.draw(explore.around(graph, id_), title="Around", highlight=[id_])
        assert unreadable(figure) == [], graph.nodes[id_]["name"]
        led_astray += len(astray(figure))
    assert led_astray <= 3, "30 before arrows were led around boxes"


def test_what_a_recall_touched_is_readable(memory):
    led_astray = 0
    for answer in demo.ask(demo.load(), memory):
        graph = memory.graph(recall=answer.recall)
        figure = explore.draw(graph, title=answer.question.text)
        assert unreadable(figure) == [], answer.question.text
        shown = sum(text.get_gid() == "passage" for text in figure.axes[0].texts)
        assert shown == len(answer.recall)
        assert "left out" not in note(figure)
        led_astray += len(astray(figure))
    assert led_astray <= 5, "31 before arrows were led around boxes"


def test_an_explanation_is_readable(memory):
    seen = set()
    for question in demo.load().questions[:4]:
        recall = memory.recall(question.text)
        for rank in (0, 4):
            figure = explore.draw_explanation(memory.explain(recall, rank))
            assert unreadable(figure) == [], question.text
            assert astray(figure) == [], question.text
            seen |= looks(figure)
    assert {"question", "passage", "statement", "entity"} <= seen
    recall = memory.recall("What did Biscuit swallow?")
    absent = next(
        one.id for one in memory.passages() if one.id not in {r.passage.id for r in recall}
    )
    for id_ in ("p-unknown", absent):
        never = memory.explain(recall, id_)
        figure = explore.draw_explanation(never)
        assert unreadable(figure) == []
        told = " ".join(note(figure).split())
        assert told.startswith(f"{never.outcome}: {never.reason[:40]}")


def test_an_arrow_that_passes_under_a_box_is_seen():
    boxes = [Box(name, "entity") for name in ("Bob", "Eve", "Zoe")]
    places = np.array([[100.0, 300.0], [500.0, 300.0], [300.0, 300.0]])
    for arrow in (Arrow(0, 1, "fact"), Arrow(0, 2, "fact")):
        assert astray(Canvas(6, 6).paint(boxes, places, [arrow])) == []
    canvas = Canvas(6, 6)
    figure = canvas.paint(boxes[:2], places[:2], [Arrow(0, 1, "fact")])
    assert astray(figure) == []
    box = FancyBboxPatch((280, 290), 40, 20, boxstyle="square,pad=0", zorder=3)
    figure.axes[0].add_patch(box)
    assert len(astray(figure)) == 1


def test_what_held_at_another_time_is_drawn_as_a_fact(memory, tmp_path):
    then = datetime(2025, 4, 1, tzinfo=timezone.utc)
    graph = memory.graph(entity="Aunt Vera", as_of=then, passages=False)
    held = [data for _, data in explore.edges_of(graph, "fact") if data["retired_at"]]
    assert held
    for suffix in ("json", "graphml"):
        again = explore.read(explore.write(graph, tmp_path / f"graph.{suffix}"))
        assert again.graph == graph.graph == {"as_of": then.isoformat()}
        figure = explore.draw(again)
        assert "ended" not in looks(figure)
        assert note(figure).startswith("as of 2025-04-01  ·  ")
    now = explore.draw(memory.graph(entity="Aunt Vera", every=True, passages=False))
    assert "ended" in looks(now)
    assert "as of" not in note(now)


def test_texts_on_each_other_and_outside_are_seen():
    figure = explore.draw(talk(), title="Talk")
    assert unreadable(figure) == []
    one, other = (t for t in figure.axes[0].texts if t.get_text() in ("Zoe", "tea"))
    one.set_position(other.get_position())
    assert sorted(unreadable(figure)[0]) == ["Zoe", "tea"]
    one.set_position((-50, 50))
    assert "Zoe" in unreadable(figure)


def test_arrows_lead_from_subject_to_object():
    graph = explore.graph_of([fact("Bob", "knows", "Eve")])
    figure = explore.draw(graph)
    (axes,) = figure.axes
    at = {text.get_text(): np.array(text.get_position()) for text in axes.texts}
    (arrow,) = (patch for patch in axes.patches if hasattr(patch, "get_arrowstyle"))
    start, end = arrow._path_original.vertices[[0, -1]]
    assert np.linalg.norm(start - at["Bob"]) < np.linalg.norm(start - at["Eve"])
    assert np.linalg.norm(end - at["Eve"]) < np.linalg.norm(end - at["Bob"])
    assert np.linalg.norm(at["knows"] - (at["Bob"] + at["Eve"]) / 2) < 5


def test_whatever_was_stored_is_drawn_as_it_stands():
    facts = [fact(name, "$is$ \x07", f"{name}!", passages=("p-1",)) for name in HOSTILE]
    said = [passage(1, " ".join(HOSTILE), speaker=HOSTILE[1])]
    figure = explore.draw(explore.graph_of(facts, said), title=HOSTILE[0] + HOSTILE[4])
    assert unreadable(figure) == []
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "$x^2$ and \\frac{1}" in texts
    assert any(text.startswith("aaaa") and text.endswith("…") for text in texts)
    assert not any("\x1b" in text or "\u202e" in text for text in texts)


def test_facts_of_then_and_now_look_different():
    day = talk().nodes["p-1"]["said_at"]
    graph = explore.graph_of(
        [
            fact("Vera", "lives in", "Tavistock"),
            fact("Vera", "lives in", "Truro", retired_at=day, replaced_by="f-1"),
            fact("Vera", "likes", "rain", False),
            fact("Vera", "owns", "boat", status="disputed"),
        ]
    )
    assert looks(explore.draw(graph)) >= {"fact", "ended", "denied", "withheld"}
    added, ended, changed = (fact("Vera", "lives in", name) for name in ("here", "there", "town"))
    figure = explore.draw_diff(Diff((added,), (ended,), ((changed, changed),)), title="Since May")
    assert looks(figure) >= {"added", "ended", "changed"}
    assert unreadable(figure) == []


def test_several_facts_between_two_share_an_arrow_and_a_loop_is_drawn():
    facts = [fact("Bob", f"verb{n}", "Eve") for n in range(5)] + [fact("Bob", "is", "bob")]
    figure = explore.draw(explore.graph_of(facts))
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"verb0\nverb1\n+ 3 more", "is"} <= texts
    assert unreadable(figure) == []


def test_nothing_and_one_are_drawn_too():
    assert note(explore.draw(explore.graph_of([]))) == "nothing to draw"
    figure = explore.draw(explore.around(talk(), "Zoe", hops=0))
    assert unreadable(figure) == []


def test_what_is_marked_is_drawn_and_must_be_there():
    graph = explore.graph_of([fact(f"n{n}", "knows", f"n{n + 1}") for n in range(60)])
    last = "n60"
    assert last in {
        t.get_text() for t in explore.draw(graph, most=5, highlight=[last]).axes[0].texts
    }
    with pytest.raises(NotFound, match="cannot mark 'n600'"):
        explore.draw(graph, highlight=["n600"])
    with pytest.raises(InvalidInput, match="most"):
        explore.draw(graph, most=0)


def test_more_than_fits_is_left_out_and_all_is_measured_once(monkeypatch):
    rng = random.Random(1)
    names = [f"a rather long name of number {n}" for n in range(60)]
    facts = []
    for _ in range(120):
        one, other = rng.sample(names, 2)
        facts.append(fact(one, "is connected with", other))
    figure = explore.draw(explore.graph_of(facts), most=60)
    assert unreadable(figure) == []
    assert "left out" in note(figure)
    tried, measured = [], []
    sketch, centrality = pictures._sketch, pictures.centrality
    monkeypatch.setattr(pictures, "_sketch", lambda *each: tried.append(0) or sketch(*each))
    monkeypatch.setattr(
        pictures, "centrality", lambda graph: measured.append(0) or centrality(graph)
    )
    explore.draw(explore.graph_of(facts), most=60)
    assert len(tried) > len(measured) == 1
    assert "left out" in note(figure)


def test_the_order_of_rows_does_not_matter():
    facts = [fact(f"n{n}", "knows", f"n{n * n % 7}") for n in range(12)]

    def drawn(rows):
        figure = explore.draw(explore.graph_of(rows))
        return [(text.get_text(), text.get_position()) for text in figure.axes[0].texts]

    assert drawn(facts) == drawn(facts[::-1])


def test_without_matplotlib_the_error_names_what_to_install(monkeypatch):
    graph = talk()
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingDependency, match=r"graphmem\[explore\]"):
        explore.draw(graph)


@given(st.text(max_size=80), st.integers(2, 20), st.integers(1, 4))
def test_a_text_in_a_picture_fits_its_lines(text, width, lines):
    found = wrapped(text, width, lines).split("\n")
    assert len(found) <= lines
    assert max(map(len, found)) <= width


SIZES = st.lists(st.tuples(st.integers(5, 90), st.integers(5, 30)), min_size=1, max_size=12)


@given(SIZES, st.randoms(use_true_random=False))
def test_boxes_are_apart_and_in_the_room(sizes, rng):
    boxes = np.array(sizes, dtype=float)
    room = Room(0, 0, 600, 400)
    links = [(rng.randrange(n), n) for n in range(1, len(boxes)) if rng.random() < 0.8]
    places = settle(spread(boxes, links, room), boxes, room, arrows=[(a, a, b) for a, b in links])
    assert overlapping(places, boxes) == []
    assert (places - boxes / 2 >= -1e-9).all()
    assert (places + boxes / 2 <= np.array([600, 400]) + 1e-9).all()
    crowded = np.zeros((2, 2))
    assert overlapping(crowded, np.ones((2, 2))) == [(0, 1)]

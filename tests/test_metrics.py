from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.experiments.dataset import Question
from graphmem.experiments.metrics import (
    CUTS,
    FIGURES,
    Outcome,
    all_found,
    figures,
    grouped,
    judge,
    mean_figures,
    ndcg,
    percentiles,
    recall_at,
    reciprocal_rank,
    stale_first,
    within_budget,
)
from graphmem.types import Scope

OWNER = Scope("ana")


def asked(gold, stale=(), **more):
    return Question("q", OWNER, "what?", tuple(gold), tuple(stale), **more)


def outcome(ranking, gold, stale=(), *, sizes=None, budget=100, **more):
    return judge(asked(gold, stale, **more), ranking, (sizes or {}).get, budget)


def judged(ranking, gold, stale=(), **more):
    return judge(asked(gold, stale, **more), ranking, lambda key: 1, 100)


def test_outcome_of_a_ranking():
    found = judged(["x", "a", "s", "b"], ["a", "b", "c"], ["s", "t"], kind="update", hops=3)
    assert found == Outcome("q", (2, 4, 0), 2, 3, "update", 3)
    assert [recall_at(found, cut) for cut in CUTS] == [1 / 3, 2 / 3, 2 / 3]
    assert [all_found(found, cut) for cut in CUTS] == [0, 0, 0]
    assert reciprocal_rank(found) == 1 / 2


def test_nothing_found_is_zero_everywhere():
    found = judged([], ["a"], ["s"])
    assert found.ranks == (0,)
    assert found.stale == 0
    assert not figures([found]).any()
    # the positive control
    assert figures([judged(["a"], ["a"])]).all()


def test_a_question_without_gold_has_no_figures():
    with pytest.raises(ValueError, match="gold"):
        judged(["a"], [])


def test_gold_named_twice_counts_once_and_a_record_ranked_twice_by_its_first_place():
    assert judged(["b", "a", "b"], ["b", "b", "a"]).ranks == (1, 2)


def test_ndcg_is_the_discounted_share_of_the_best_ranking():
    found = judged(["a", "x", "b"], ["a", "b"])
    assert ndcg(found, 2) == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert ndcg(found, 5) == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))
    many = judged(["a", "b", "x"], ["a", "b", "c", "d"])
    assert ndcg(many, 2) == 1  # nobody can rank more than two among two


def test_the_budget_takes_whole_records_and_leaves_out_what_does_not_fit():
    sizes = {"a": 40, "long": 61, "b": 60, "c": 1}
    found = outcome(["a", "long", "b", "c"], ["a", "b", "c", "long"], sizes=sizes, budget=100)
    assert found.within == 2  # a and b fill it; long is passed over, c comes too late
    assert within_budget(found) == 1 / 2
    assert outcome(["long", "a"], ["a"], sizes=sizes, budget=100).within == 0
    assert outcome(["long", "a"], ["a"], sizes=sizes, budget=101).within == 1


def test_a_stale_record_counts_only_for_questions_about_updates():
    above = judged(["s", "a"], ["a"], ["s"], kind="update")
    below = judged(["a", "s"], ["a"], ["s"], kind="knowledge-update")
    alone = judged(["s"], ["a"], ["s"])
    other = judged(["s", "a"], ["a"], ["s"], kind="single")
    without = judged(["s", "a"], ["a"], kind="update")
    assert stale_first([above, below, alone, other, without]) == [1, 0, 1]
    assert stale_first([judged(["x"], ["a"], ["s"])]) == [0]


def test_the_best_outdated_record_counts():
    found = judged(["x", "new", "old", "a"], ["a"], ["old", "new"])
    assert found.stale == 2


@pytest.mark.parametrize(
    ("text", "answer", "told"),
    [
        ("We met at the ART, yesterday", "art", 1),
        ("We met at the party", "art", 0),
        ("the new York road", "New York", 1),
        ("the new Yorkshire road", "New York", 0),
        ("York is new", "New York", 0),
        ("", "art", None),
        ("art", "", None),
    ],
)
def test_an_answer_is_told_in_whole_words(text, answer, told):
    found = judge(asked(["a"], answer=answer), [], lambda key: 1, 100, text=text)
    assert found.told == told


def test_figures_are_named_in_their_order():
    found = judged(["x", "a"], ["a", "b"])
    named = mean_figures([found])
    assert tuple(named) == FIGURES
    assert named["recall@2"] == recall_at(found, 2)
    assert named["all@10"] == all_found(found, 10)
    assert named["ndcg@5"] == ndcg(found, 5)
    assert named["mrr"] == reciprocal_rank(found)
    assert named["within_budget"] == within_budget(found)
    assert mean_figures([]) == {}


def test_means_are_means_over_questions():
    means = mean_figures([judged(["a"], ["a"]), judged(["x", "a"], ["a", "b"])])
    assert means["recall@2"] == 0.75
    assert means["all@5"] == 0.5
    assert means["mrr"] == 0.75


def test_groups_keep_the_order_of_appearance():
    several = [judged([], ["a"], kind=kind) for kind in ("b", "a", "b")]
    assert {kind: len(group) for kind, group in grouped(several, lambda o: o.kind).items()} == {
        "b": 2,
        "a": 1,
    }


def test_percentiles_are_those_of_numpy():
    times = [float(time) for time in range(1, 102)]
    assert percentiles(times) == (51.0, 96.0)


rankings = st.permutations([f"r{n}" for n in range(12)])
golds = st.sets(st.sampled_from([f"r{n}" for n in range(15)]), min_size=1, max_size=5)


@given(rankings, golds)
def test_every_figure_is_a_share_and_recall_grows_with_k(ranking, gold):
    found = judged(ranking, sorted(gold))
    table = figures([found])
    assert ((table >= 0) & (table <= 1 + 1e-12)).all()
    recalls = [recall_at(found, cut) for cut in range(1, 13)]
    assert recalls == sorted(recalls)
    assert all(all_found(found, cut) == (recall_at(found, cut) == 1) for cut in range(1, 13))


@given(rankings, golds)
def test_figures_follow_from_their_definitions(ranking, gold):
    """Against the plain way to write them down."""
    found = judged(ranking, sorted(gold))
    hits = [float(key in gold) for key in ranking]
    for cut in CUTS:
        assert recall_at(found, cut) == pytest.approx(sum(hits[:cut]) / len(gold))
        discount = 1 / np.log2(np.arange(2, cut + 2))
        best = discount[: min(cut, len(gold))].sum()
        assert ndcg(found, cut) == pytest.approx(float(hits[:cut] @ discount) / best)
    first = next((1 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0)
    assert reciprocal_rank(found) == first


@given(rankings, golds, st.integers(1, 60), st.integers(0, 60))
def test_a_larger_budget_of_equal_records_never_holds_less(ranking, gold, budget, more):
    def sized(key):
        return 5

    small = judge(asked(sorted(gold)), ranking, sized, budget)
    large = judge(asked(sorted(gold)), ranking, sized, budget + more)
    assert small.within <= large.within
    assert small.within == sum(0 < rank <= budget // 5 for rank in small.ranks)

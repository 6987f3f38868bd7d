"""Spans between tags, and texts without them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.tags import enclosed, without

TAG = re.compile(r"<(/?)x>")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a<x>b</x>c<x>d</x>e", "ace"),
        ("a<x>b<x>c</x>d</x>e", "ad</x>e"),
        ("a</x>b<x>c", "a</x>b<x>c"),
        ("<x></x>", ""),
        ("", ""),
    ],
)
def test_what_is_enclosed_goes_with_its_tags(text, left):
    assert without(text, enclosed(TAG, text)) == left


def test_an_opening_tag_that_does_not_count_opens_nothing():
    text = "<x>a</x><x>!b</x>"

    def is_marked(tag: re.Match[str]) -> bool:
        return text.startswith("!", tag.end())

    assert without(text, enclosed(TAG, text)) == ""
    assert without(text, enclosed(TAG, text, is_marked)) == "<x>a</x>"


@given(st.lists(st.sampled_from(["<x>", "</x>", "a", " "])).map("".join))
def test_spans_are_in_order_and_all_that_is_enclosed_is_in_them(text):
    spans = enclosed(TAG, text)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(text.startswith("<x>", start) and text.endswith("</x>", 0, end)
               for start, end in spans)  # fmt: skip
    rest = text[edges[-1] if edges else 0 :]
    assert not re.search("<x>.*</x>", rest)

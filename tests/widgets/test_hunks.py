"""Two texts, and the places where they differ."""

from __future__ import annotations

from itertools import combinations

import pytest

from widgets.hunks import hunks, merged

BEFORE = "one\ntwo\nthree\nfour\n"
PAIRS = [
    (BEFORE, "zero\none\ntwo\n3\nfour\n"),
    (BEFORE, ""),
    ("", BEFORE),
    (BEFORE, "one\ntwo\nthree\nfour"),
    ("a\r\nb\r\n", "a\r\nc\r\n"),
    ("no end", "no end\nmore\n"),
    ("a\x0cb\nc\u2028d\n", "a\x0cb\nc\u2028e\n"),
]


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_all_taken_or_none(before: str, after: str) -> None:
    """All changes taken make the other text, none leave the first one, character by character."""
    found = hunks(before, after)

    assert merged(before, found, range(len(found))) == after
    assert merged(before, found, ()) == before


def test_some_taken() -> None:
    """Each change can be taken without the others."""
    found = hunks(BEFORE, PAIRS[0][1])

    assert [hunk.place for hunk in found] == ["before line 1", "line 3"]
    assert merged(BEFORE, found, {0}) == "zero\none\ntwo\nthree\nfour\n"
    assert merged(BEFORE, found, {1}) == "one\ntwo\n3\nfour\n"


def test_order_does_not_matter() -> None:
    """Changes that are taken one after the other, or together, make the same text."""
    after = "1\none\nthree\n3\n4\nfour\nfive\n"
    found = hunks(BEFORE, after)
    for taken in (set(some) for size in range(len(found) + 1) for some in combinations(range(len(found)), size)):
        assert merged(BEFORE, found, taken) == merged(BEFORE, found, sorted(taken, reverse=True))
    assert len(found) == 4


def test_lines_are_counted_as_the_editor_counts_them() -> None:
    """A form feed or another character that only some programs take for a line break begins no line."""
    (hunk,) = hunks("a\x0cb\x85c\u2028d\ntwo\n", "a\x0cb\x85c\u2028d\n2\n")

    assert hunk.place == "line 2"

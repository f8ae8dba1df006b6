"""The diff in one column, shown where no side-by-side view can be had."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App

from widgets.screens.question import Answer, Difference, Question
from widgets.screens.unified import UnifiedDiff, diff_lines

BEFORE = "".join(f"line {number}\n" for number in range(1, 21))


def shown(before: str, after: str) -> list[str]:
    """The diff as sign, number and text."""
    return [f"{line.sign}{line.number} {line.text}" for line in diff_lines(before, after)]


def test_a_change_stands_between_three_lines_each() -> None:
    """A changed line shows as taken away and added, with the lines around it and their numbers; the rest is counted."""
    after = BEFORE.replace("line 10\n", "line ten\nand more\n")

    assert shown(BEFORE, after) == [
        "~6 6 lines the same",
        " 7 line 7",
        " 8 line 8",
        " 9 line 9",
        "-10 line 10",
        "+10 line ten",
        "+11 and more",
        " 12 line 11",
        " 13 line 12",
        " 14 line 13",
    ]


def test_changes_far_apart_are_separated() -> None:
    """Between two changes that are far apart, a mark says how many lines are left out."""
    after = "first\n" + BEFORE + "last\n"

    assert [line for line in shown(BEFORE, after) if line[0] in "+~"] == [
        "+1 first",
        "~18 14 lines the same",
        "+22 last",
    ]


@given(st.lists(st.sampled_from("abc\t"), max_size=12), st.lists(st.sampled_from("abc\t"), max_size=12))
def test_nothing_is_lost(before: list[str], after: list[str]) -> None:
    """Every line that differs is shown: the diff and the lines it leaves out make up both texts."""
    lines = list(diff_lines("\n".join(before), "\n".join(after)))

    added = [line.number for line in lines if line.sign == "+"]
    taken = [line.number for line in lines if line.sign == "-"]
    rest_before = [text for number, text in enumerate(before, 1) if number not in taken]
    rest_after = [text for number, text in enumerate(after, 1) if number not in added]
    assert rest_before == rest_after


@pytest.mark.parametrize(
    ("after", "words"),
    [("a [b] = 1\nnew\n", ["a [b] = 1", "+ new"]), ("a [b] = 1\r\n", ["differ only in the ends of their lines"])],
)
async def test_question_shows_the_diff(monkeypatch: pytest.MonkeyPatch, after: str, words: list[str]) -> None:
    """Without the side-by-side view a question shows this diff, brackets in the code included."""
    monkeypatch.setitem(sys.modules, "textual_diff_view", None)
    question = Question("Which?", "", [Answer("k", "keep", "keep")], Difference("a [b] = 1\n", after, "disk", "pane"))
    app: App[None] = App()
    async with app.run_test(size=(100, 30)):
        await app.push_screen(question)
        content = str(question.query_one(UnifiedDiff).render())

    assert all(word in content for word in words)

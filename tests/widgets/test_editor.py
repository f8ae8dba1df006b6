"""The editor: typing, finding, comments, marks, and taking new text in place."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.content import Content
from textual.pilot import Pilot

from themes import STYLES
from widgets.editor import HIGHLIGHT_LINES, KernelEditor, Mark, find_all, indentation, toggle_comments
from widgets.editor_find import FindBar
from widgets.editor_pane import EditorPane
from widgets.state import RunView, reduce
from workbench.bindings import WorkbenchEditor
from workbench.events import Diagnostic

CODE = "def solution(x):\n    if x:\n        return x\n    return -x\n"


class Host(App[None]):
    """An app around one editor pane."""

    CSS_PATH = STYLES

    def __init__(self, text: str) -> None:
        super().__init__()
        self.pane = EditorPane(Path("/somewhere/kernel.py"), text, blink=False, editor=WorkbenchEditor)

    def compose(self) -> ComposeResult:
        yield self.pane

    def on_mount(self) -> None:
        self.pane.editor.focus()


@asynccontextmanager
async def hosted(text: str = CODE) -> AsyncIterator[tuple[Pilot[None], EditorPane, KernelEditor]]:
    """The running pane on some text."""
    app = Host(text)
    async with app.run_test(size=(100, 30)) as pilot:
        yield pilot, app.pane, app.pane.editor


async def test_enter_keeps_the_indentation() -> None:
    """A new line begins where its line began, one step deeper after a colon; one undo takes it back."""
    async with hosted() as (pilot, _pane, editor):
        editor.go_to(2, 10)
        await pilot.press("enter", "p")
        assert editor.text.splitlines()[1:3] == ["    if x:", "        p"]

        await pilot.press("enter", "q")
        assert editor.text.splitlines()[3] == "        q"

        before = editor.text
        await pilot.press("enter")
        assert editor.text != before
        await pilot.press("ctrl+z")
        assert editor.text == before


async def test_enter_replaces_the_selection() -> None:
    """Enter with text selected replaces that text."""
    async with hosted("one\ntwo\n") as (pilot, _pane, editor):
        await pilot.press("shift+right", "shift+right", "enter")

        assert editor.text == "\ne\ntwo\n"


async def test_undo_and_redo() -> None:
    """ctrl+z takes an edit back, ctrl+y makes it again."""
    async with hosted() as (pilot, _pane, editor):
        editor.insert("# new\n")
        await pilot.press("ctrl+z")
        assert editor.text == CODE
        await pilot.press("ctrl+y")
        assert editor.text == "# new\n" + CODE


async def test_find_while_typing() -> None:
    """ctrl+f goes to matches while the text is typed, Enter to the next one, escape back into the text."""
    async with hosted() as (pilot, pane, editor):
        await pilot.press("ctrl+f", *"return")
        assert editor.selected_text == "return"
        assert editor.selection.start == (2, 8)
        assert "1 of 2" in str(pane.query_one("#find-count").render())

        await pilot.press("enter")
        assert editor.selection.start == (3, 4)
        await pilot.press("enter")
        assert editor.selection.start == (2, 8)

        await pilot.press("escape")
        assert editor.has_focus
        assert not pane.query_one(FindBar).display


async def test_find_again_from_the_text() -> None:
    """ctrl+n and ctrl+r go to the next and previous match without the bar."""
    async with hosted() as (pilot, _pane, editor):
        await pilot.press("ctrl+f", "x", "escape")
        first = editor.selection.start
        await pilot.press("ctrl+n")
        assert editor.selection.start > first
        await pilot.press("ctrl+r")
        assert editor.selection.start == first


async def test_find_nothing() -> None:
    """A text that does not occur is said so and the cursor stays."""
    async with hosted() as (pilot, pane, editor):
        editor.go_to(3, 1)
        await pilot.press("ctrl+f", *"zzz")

        assert "nothing found" in str(pane.query_one("#find-count").render())
        assert editor.cursor_location == (2, 0)


@pytest.mark.parametrize(("typed", "line"), [("3", 2), ("999", 4), ("0", 0)])
async def test_go_to_line(typed: str, line: int) -> None:
    """ctrl+g goes to a line by its number, to the last one where there are fewer."""
    async with hosted() as (pilot, _pane, editor):
        await pilot.press("ctrl+g", *typed, "enter")

        assert editor.cursor_location[0] == line
        assert editor.has_focus


async def test_comment_and_back() -> None:
    """ctrl+/ comments the selected lines out at their common indentation, and in again."""
    async with hosted() as (pilot, _pane, editor):
        editor.go_to(2)
        await pilot.press("shift+down", "ctrl+underscore")
        assert editor.text.splitlines()[1:3] == ["    # if x:", "    #     return x"]

        editor.go_to(2)
        await pilot.press("shift+down", "ctrl+underscore")
        assert editor.text == CODE


async def test_marked_line_shows_sign_and_message() -> None:
    """A marked line carries a sign in its gutter; with the cursor there the message stands at the frame."""
    async with hosted() as (pilot, pane, editor):
        editor.show_marks({2: Mark(2, "error", "no such name [x]")})
        await pilot.pause()
        assert "✗" in editor.render_line(2).text
        assert "✗" not in editor.render_line(1).text
        pane.show_state()
        assert "error in line 3" in foot(pane)

        editor.go_to(3)
        await pilot.pause()
        assert "no such name [x]" in foot(pane)

        editor.show_marks({})
        assert "✗" not in editor.render_line(2).text


async def test_title_tells_unsaved_text() -> None:
    """The title says when the pane holds text that the file does not, and stops when it is undone."""
    async with hosted() as (pilot, pane, editor):
        await pilot.press("#")
        assert "not saved" in str(pane.border_title)
        await pilot.press("ctrl+z")
        assert "not saved" not in str(pane.border_title)
        assert editor.text == CODE


async def test_long_file_is_not_coloured() -> None:
    """A file above the limit is shown without colours and says so; a shorter one is coloured."""
    async with hosted("x = 1\n" * (HIGHLIGHT_LINES + 10)) as (pilot, pane, editor):
        await pilot.pause()
        assert not editor.highlighted
        assert "colours off" in str(pane.border_subtitle)

    async with hosted() as (pilot, pane, editor):
        await pilot.pause()
        assert editor.highlighted


async def test_growing_file_loses_its_colours() -> None:
    """A file that grows past the limit is no longer coloured, and typing goes on."""
    async with hosted() as (pilot, _pane, editor):
        await pilot.pause()
        editor.insert("x = 1\n" * HIGHLIGHT_LINES)
        await pilot.press("y")

        assert not editor.highlighted
        assert "y" in editor.text


async def test_merge_keeps_cursor_and_undo() -> None:
    """New text from disk replaces only lines that differ: the cursor stays on its line, undo brings the old text."""
    async with hosted() as (pilot, _pane, editor):
        editor.go_to(4, 6)
        editor.merge_text("# one\n# two\n" + CODE)
        assert editor.cursor_location == (5, 5)
        assert editor.text == "# one\n# two\n" + CODE

        await pilot.press("ctrl+z")
        assert editor.text == CODE


def foot(pane: EditorPane) -> str:
    """What stands at the lower edge of the frame."""
    return Content.from_markup(str(pane.border_subtitle)).plain


@pytest.mark.parametrize(
    ("message", "shown"),
    [("ValueError: \x1b]0;owned\x07\x1b[2Jbad\nmore", "error: ValueError: bad · 2:1"), ("", "error:  · 2:1")],
    ids=["escape sequences", "empty"],
)
async def test_any_message_can_stand_at_its_line(message: str, shown: str) -> None:
    """An error's first line is shown where the cursor is, as plain text, whatever the candidate's message holds."""
    error = Diagnostic(attempt=1, severity="error", message=message, path="kernel.py", line=2)
    async with hosted() as (_pilot, pane, editor):
        pane.show_view(reduce(RunView(), error))
        editor.go_to(2)
        pane.show_state()

        assert foot(pane) == shown


async def test_worst_of_a_line_is_shown() -> None:
    """A line with a warning and an error is marked as an error, whichever came first."""
    error = Diagnostic(attempt=1, severity="error", message="no such name", path="kernel.py", line=2)
    warning = Diagnostic(attempt=1, severity="warning", message="is never used", path="kernel.py", line=2)
    async with hosted() as (_pilot, pane, editor):
        pane.show_view(reduce(reduce(RunView(), warning), error))
        editor.go_to(2)
        pane.show_state()

        assert foot(pane).startswith("error: no such name")


LINES = st.lists(st.sampled_from(["", "a", "b", "  a", "c = 1", "\tz", "ü", "漢字"]), max_size=8).map("\n".join)


async def test_merge_always_arrives() -> None:
    """Whatever the old and the new text, the pane holds the new text afterwards, and one undo the old one."""
    async with hosted() as (_pilot, _pane, editor):

        @given(old=LINES, new=LINES, end=st.booleans())
        def arrives(old: str, new: str, end: bool) -> None:
            new = new + "\n" if end else new
            editor.load_text(old)
            editor.merge_text(new)
            assert editor.text == new
            if new != old:
                editor.undo()
                assert editor.text == old

        arrives()


async def test_merge_into_windows_line_ends() -> None:
    """A file with Windows line ends keeps them."""
    async with hosted("a\r\nb\r\n") as (_pilot, _pane, editor):
        editor.merge_text("a\r\nnew\r\nb\r\n")

        assert editor.text == "a\r\nnew\r\nb\r\n"


@given(st.text("abcAB \n", max_size=60), st.text("abAB", min_size=1, max_size=3))
def test_find_all_finds_exactly_the_matches(text: str, needle: str) -> None:
    """Each place that is found holds the text; a capital letter makes the search exact."""
    places = find_all(text, needle)
    fold = needle == needle.lower()
    seen = text.lower() if fold else text

    assert all(seen[place : place + len(needle)] == needle for place in places)
    assert bool(places) == (needle in seen)


@given(st.lists(st.sampled_from(["", "  ", "a = 1", "    b()", "# c", "\tif x:"]), min_size=1, max_size=6))
def test_comments_come_back(lines: list[str]) -> None:
    """Commenting out and in again gives the lines back, unless all of them were comments."""
    commented = toggle_comments(lines)
    if all(line.lstrip().startswith("#") for line in lines if line.strip()):
        return
    back = toggle_comments(commented)

    assert all(line.lstrip().startswith("#") for line in commented if line.strip())
    assert [line.rstrip() for line in back] == [line.rstrip() for line in lines]


@pytest.mark.parametrize(
    ("before", "lead"),
    [("x", ""), ("    x", "    "), ("  if y:", "      "), ("\tz:", "\t    "), ("", ""), (":  ", "    ")],
)
def test_indentation(before: str, lead: str) -> None:
    """What a new line begins with."""
    assert indentation(before, 4) == lead


async def test_text_that_would_steer_the_terminal() -> None:
    """Escape sequences in a file are shown as signs, and the file keeps them."""
    text = "# \x1b]0;owned\x07\x9b2J \u202etxt\n"
    async with hosted(text) as (_pilot, _pane, editor):
        assert editor.get_line(0).plain == "# ␛]0;owned␇·2J ·txt"
        assert editor.text == text

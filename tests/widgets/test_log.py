"""The log pane and what it keeps."""

from __future__ import annotations

from tests.widgets import script
from tests.widgets.host import NARROW, WIDE, Host, flowing, visible
from widgets.log import LogPane
from widgets.output import KEEP_LINES, Output
from workbench.events import Log, RankStack


def said(rank: int, text: str, stream: str = "stdout", number: int = 1) -> Log:
    """A piece of output."""
    return Log(attempt=number, rank=rank, stream="stderr" if stream == "stderr" else "stdout", text=text)


async def test_each_line_names_its_rank() -> None:
    """Output, error output and stacks are told apart by rank and sign."""
    pane = LogPane()
    async with Host(pane).run_test(size=WIDE) as pilot:
        pane.show_view(script.show([*script.crash_run(1), *script.hang_run(2)]))
        await pilot.pause()

        assert "0| entering" in visible(pane)
        assert "1! ValueError: no such shape" in visible(pane)
        assert "0: rank 0 stands at barrier, 1_allreduce_pytorch.py:77" in visible(pane)


async def test_stack_without_own_frames() -> None:
    """A stack ends with the user's frames; a rank that has returned is said to have returned, and stands nowhere."""
    frames = (
        "Current thread 0x00007f14aaa80b80 (most recent call first):\n"
        '  File "/site-packages/torch/distributed/distributed_c10d.py", line 3252 in all_reduce\n'
        '  File "/home/me/kernel.py", line 8 in solution\n'
        '  File "/opt/pkwb/workbench/ranks/candidate.py", line 104 in _call\n'
        '  File "<string>", line 17 in <module>\n'
    )
    stuck = RankStack(attempt=1, rank=0, where="all_reduce, kernel.py:8", stack=frames, line=8)
    back = RankStack(attempt=1, rank=1, where="returned", stack=frames.splitlines()[0])
    pane = LogPane()
    async with Host(pane).run_test(size=WIDE) as pilot:
        pane.show_view(script.show([*script.loaded(), stuck, back]))
        await pilot.pause()

        assert [text.strip() for text in pane.lines.texts[1:]] == [
            "0: rank 0 stands at all_reduce, kernel.py:8",
            '0:   File "/site-packages/torch/distributed/distributed_c10d.py", line 3252 in all_reduce',
            '0:   File "/home/me/kernel.py", line 8 in solution',
            "1: rank 1 returned",
        ]


async def test_one_rank_alone() -> None:
    """A digit shows that rank alone, a shows all again."""
    pane = LogPane()
    async with Host(pane).run_test(size=NARROW) as pilot:
        pane.show_view(script.show([said(0, "zero\n"), said(1, "one\n")]))
        await pilot.press("1")
        assert "zero" not in visible(pane)
        assert "1| one" in visible(pane)
        assert "rank 1 alone" in visible(pane)
        await pilot.press("a")
        assert "0| zero" in visible(pane)


async def test_end_is_followed() -> None:
    """New lines stay in sight; after scrolling up the pane stays where it is; at the end it follows again."""
    pane = LogPane()
    async with Host(pane).run_test(size=NARROW) as pilot:
        view = script.show([said(0, "".join(f"line {number}\n" for number in range(100)))])
        pane.show_view(view)
        await pilot.pause()
        assert "line 99" in visible(pane)
        await pilot.press("g")
        view = script.show([said(0, "late\n")], view)
        pane.show_view(view)
        await pilot.pause()
        assert "line 5" in visible(pane)
        assert "late" not in visible(pane)
        await pilot.press("G")
        pane.show_view(script.show([said(0, "last\n")], view))
        await pilot.pause()
        assert "last" in visible(pane)


async def test_end_is_followed_after_a_resize() -> None:
    """A smaller terminal still shows the last line, and goes on following."""
    pane = LogPane()
    async with Host(pane).run_test(size=WIDE) as pilot:
        view = script.show([said(0, "".join(f"line {number}\n" for number in range(100)))])
        pane.show_view(view)
        await pilot.resize_terminal(*NARROW)
        await pilot.pause()
        assert "line 99" in visible(pane)
        pane.show_view(script.show([said(0, "last\n")], view))
        await pilot.pause()

        assert "last" in visible(pane)


async def test_memory_is_bounded() -> None:
    """Of endless output the newest lines are kept, and the pane says how many went."""
    pane = LogPane()
    async with Host(pane).run_test(size=NARROW) as pilot:
        view = script.show(said(0, "".join(f"line {block}-{row}\n" for row in range(1000))) for block in range(8))
        pane.show_view(view)
        await pilot.press("g")

        assert len(view.output.lines) == KEEP_LINES
        assert "3 001 earlier lines dropped" in visible(pane)


async def test_updates_after_drops_show_the_right_lines() -> None:
    """Lines that come piece by piece, while older ones are dropped, are shown in order and once."""
    pane = LogPane()
    async with Host(pane).run_test(size=NARROW) as pilot:
        view = script.show([said(0, "x\n" * (KEEP_LINES - 2))])
        for number in range(6):
            view = script.show([said(0, f"start {number} "), said(0, f"end {number}\n")], view)
            pane.show_view(view)
        await pilot.pause()

        assert [line for line in visible(pane).splitlines() if "start" in line] == [
            f"0| start {number} end {number}" for number in range(6)
        ]


def test_pieces_of_a_line_are_joined() -> None:
    """Output that comes in pieces is one line once its line break has come."""
    output = Output().write(0, "stdout", "half").write(0, "stdout", " a line\nnext").write(1, "stdout", "other\n")

    assert [(line.rank, line.text) for line in output.lines] == [(0, "half a line"), (0, "next"), (1, "other")]


async def test_search_in_the_log() -> None:
    """A search finds its places, counts them, and n goes on to the next."""
    pane = LogPane()
    async with Host(pane).run_test(size=WIDE) as pilot:
        pane.show_view(script.show([said(0, "".join(f"line {number}\n" for number in range(300)))]))
        await pilot.pause()
        await pilot.press("g", "slash", *"line 29", "enter")
        assert "line 29" in visible(pane)
        assert str(pane.query_one("#place").render()).strip() == "1 of 11"
        await pilot.press("n")
        assert str(pane.query_one("#place").render()).strip() == "2 of 11"
        assert "line 290" in visible(pane)
        await pilot.press("N", "N")
        assert str(pane.query_one("#place").render()).strip() == "11 of 11"
        assert "line 299" in visible(pane)


async def test_long_lines_can_be_wrapped() -> None:
    """A long line is cut until w wraps it, and copied as one line all the same."""
    pane = LogPane()
    app = Host(pane)
    async with app.run_test(size=NARROW) as pilot:
        pane.show_view(script.show([said(0, "a long line " * 6 + "with an end\n")]))
        await pilot.pause()
        assert "with an end" not in visible(pane)
        await pilot.press("w")
        assert "with an end" in flowing(pane)
        assert max(map(len, pane.lines.texts)) <= NARROW[0]
        await pilot.press("y")

        assert app.said == ["0| " + "a long line " * 6 + "with an end"]


async def test_copy_of_one_rank() -> None:
    """Copying while one rank alone is shown gives its output as it wrote it."""
    pane = LogPane()
    app = Host(pane)
    async with app.run_test(size=WIDE) as pilot:
        pane.show_view(script.show([said(0, "zero\n"), said(1, "one\ntwo\n")]))
        await pilot.press("1", "y")
        await pilot.press("a", "y")

        assert app.said == ["one\ntwo", "0| zero\n1| one\n1| two"]


async def test_nothing_written() -> None:
    """An attempt that wrote nothing leaves an empty log that says so."""
    pane = LogPane()
    async with Host(pane).run_test(size=NARROW) as pilot:
        pane.show_view(script.show([*script.good_run(1), *script.good_run(2)]))
        await pilot.pause()

        assert flowing(pane) == "the ranks have written nothing"

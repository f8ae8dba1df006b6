"""Measured links as people read them."""

from __future__ import annotations

from tests.rates import MIB, rate, report
from workbench.judge.links import LeftOut, LinkReport
from workbench.links_text import links_text, size_text


def gpus() -> LinkReport:
    """Two GPUs with copy engine and register loads at two sizes and three block counts."""
    rates = [
        rate("copy engine", 24, MIB // 16),
        rate("copy engine", 392),
        rate("copy engine", 700, two_way=True),
        rate("register load", 220, MIB // 16, blocks=528),
        rate("register load", 369, blocks=528),
        *(rate("register load", gbps, blocks=blocks) for blocks, gbps in ((1, 37), (16, 351))),
    ]
    made = report(*rates)
    left = LeftOut(mechanism="bulk load", why="needs GPUs of compute capability 9.0 or later")
    return LinkReport(
        device="cuda", world=2, torch=made.torch, measured=made.measured, rates=made.rates, left_out=(left,)
    )


def test_table_by_size_and_by_blocks() -> None:
    """Each size has its line; fewer blocks have a table of their own and stay out of the one by size."""
    lines = [line.split() for line in links_text(gpus())]
    assert ["64", "KiB", "24", "220"] in lines
    assert ["1", "GiB", "392", "369"] in lines
    assert ["1", "GiB", "700"] in lines
    assert [line for line in lines if line[1:] in (["37"], ["351"], ["369"])] == [
        ["1", "37"],
        ["16", "351"],
        ["528", "369"],
    ]


def test_ceilings_and_what_was_left_out() -> None:
    """The ceilings name message and blocks; a mechanism that was not measured is named with its reason."""
    lines = links_text(gpus())
    assert any(line.split() == ["register", "load", "one", "way", "369", "1", "GiB", "528"] for line in lines)
    assert lines[-1] == "left out: bulk load: needs GPUs of compute capability 9.0 or later"


def test_plot_puts_faster_mechanisms_higher() -> None:
    """In the plot the letter of the faster mechanism stands above the slower one's; the legend names both."""
    lines = links_text(gpus())
    assert {"a  copy engine", "b  register load"} <= set(lines)
    plot = [line.partition("|")[2] for line in lines if "|" in line]
    top_of_small = [next(row for row, line in enumerate(plot) if letter in line[:6]) for letter in "ba"]
    assert top_of_small[0] < top_of_small[1]
    assert "a" in plot[0][6:]


def test_wrong_data_is_said_in_words() -> None:
    """Data that arrived damaged are named in the table, without a rate, and are in no plot."""
    lines = links_text(report(rate("copy engine", 392, verified=False)))
    assert any(line.split() == ["1", "GiB", "wrong", "data"] for line in lines)
    assert not any("|" in line or "392" in line for line in lines)


def test_lines_fit_a_terminal() -> None:
    """With all mechanisms of GPUs, all alike, at all sizes, no line is wider than 80 columns."""
    kernels = [f"{kind} {way}" for kind in ("register", "bulk") for way in ("load", "store")]
    others = ["copy engine", "nccl send/recv", "nccl all_reduce"]
    sizes = [2048 << 2 * power for power in range(10)] + [1024 * MIB]
    rates = [rate(name, 100.5, size, blocks=528) for name in kernels for size in sizes]
    rates += [rate(name, 100.5, size) for name in others for size in sizes]
    lines = links_text(report(*rates))
    assert max(map(len, lines)) <= 80
    assert any("abcde+" in line for line in lines)


def test_sizes_in_words() -> None:
    """Sizes are powers of two, rounded where they are not."""
    assert [size_text(count) for count in (512, 2048, 64 * MIB, 1024 * MIB, 1536)] == [
        "512 B", "2 KiB", "64 MiB", "1 GiB", "1.5 KiB"
    ]  # fmt: skip

"""The speed pane: speedup, times, bandwidth, earlier attempts."""

from __future__ import annotations

import dataclasses

import pytest

from tests.widgets import script
from tests.widgets.host import NARROW, SIZES, Host, flowing
from widgets import format as fmt
from widgets.speed import SpeedPane
from widgets.state import RunView, Speed
from workbench.events import Bandwidth, Floor, LaunchTime, RankBandwidth, Ratio, TimingProgress, Verdict
from workbench.target import SharedGpus


async def read(view: RunView, size: tuple[int, int] = NARROW) -> str:
    """What the pane says of a view."""
    pane = SpeedPane(script.make_target())
    async with Host(pane).run_test(size=size) as pilot:
        pane.show_view(view)
        await pilot.pause()
        assert all(len(line) <= size[0] for line in pane.lines.texts)
        return flowing(pane)


@pytest.mark.parametrize("size", SIZES)
async def test_good_run(size: tuple[int, int]) -> None:
    """After a good run the speedup stands with its interval, times with percentiles, bandwidth with its peak."""
    text = await read(script.show(script.good_run()), size)

    assert "speedup 1.34x [1.31, 1.37]" in text
    assert "candidate 209 us [199, 219]" in text
    assert "bandwidth 2.12 of 4.50 GB/s, 47% of measured" in text
    assert "reference 1.58, busbw 2.12 GB/s" in text
    assert "needed 2.10 MB, reference 2.10 MB" in text
    assert "measured gloo all_reduce, 2 ranks (CPU)" in text
    assert "1.34x (#1) this one" in text


async def test_ranks_that_share_a_gpu() -> None:
    """Where calls cannot be timed the pane says why, before, while and after an attempt runs."""
    target = dataclasses.replace(script.make_target(), shared=SharedGpus(1, "1 × H200"))
    pane = SpeedPane(target)
    good = script.good_run()
    last = dataclasses.replace(good[-1], speedup=None, candidate_ms=None, reference_ms=None, bandwidth=None)  # type: ignore[call-arg]
    untimed = [event for event in good[:-1] if not isinstance(event, (TimingProgress, Bandwidth))]
    async with Host(pane).run_test(size=NARROW) as pilot:
        assert flowing(pane) == "not timed: 2 ranks share a GPU"
        pane.show_view(script.show(untimed))
        await pilot.pause()
        assert flowing(pane) == "not timed: 2 ranks share a GPU"
        pane.show_view(script.show([*untimed, last]))
        await pilot.pause()
        assert flowing(pane).startswith("speedup not timed: 2 ranks share a GPU")


async def test_distance_to_the_floor() -> None:
    """The floor stands with its terms, and how many times it candidate and reference take."""
    terms = {"link": 0.00466, "memory": 0.0009, "compute": 0.0, "latency": 0.016}
    floor = Floor(ms=0.0207, binding="latency", terms_ms=terms, topology="2 × H200", in_network_ms=0.01)
    text = await read(script.show(script.with_rate(dataclasses.replace(script.bandwidth(1), floor=floor))))

    assert "floor 20.7 us, latency binds (link 4.66 us, memory 0.900 us, compute 0, latency 16.0 us)" in text
    assert "10.0 us with in-network reduction, 2 × H200" in text
    assert "candidate 10.1x, reference 13.5x the floor" in text


async def test_a_floor_that_is_no_limit_says_so() -> None:
    """On CPU ranks the floor rests on a measured rate; on another system it is a what-if."""
    terms = {"link": 0.1, "memory": None, "compute": None, "latency": None}
    floor = Floor(ms=0.1, binding="link", terms_ms=terms, topology="2 CPU ranks", measured=True)
    text = await read(script.show(script.with_rate(dataclasses.replace(script.bandwidth(1), floor=floor))))
    assert "(link 100 us; the rest not known), 2 CPU ranks, from the measured rate of the link" in text

    other = dataclasses.replace(floor, ms=None, topology="MI300X", what_if=True, measured=False)
    text = await read(script.show(script.with_rate(dataclasses.replace(script.bandwidth(1), floor=other))))
    assert "floor not known" in text
    assert "what if: MI300X" in text
    assert "the floor" not in text


async def test_shares_of_both_rates() -> None:
    """On GPUs the share of the links on paper and the share of what was measured both stand, each named."""
    text = await read(script.show(script.with_rate(script.gpu_bandwidth())))

    assert "bandwidth 212 of 450 GB/s, 47% of nominal, 71% of measured" in text
    assert "nominal NVLink, 18 × 25 = 450 GB/s one way" in text
    assert "measured 299 GB/s by NCCL all_reduce, 2 ranks" in text
    assert fmt.bar(0.471, 24) in text


async def test_ranks_that_need_different_bytes() -> None:
    """Where ranks need different bytes each has its figure and its share."""
    ranks = tuple(
        RankBandwidth(rank=rank, needed_bytes=0, gbps=gbps, share=None, nominal_gbps=450.0, nominal_share=gbps / 450)
        for rank, gbps in enumerate((225.0, 45.0))
    )
    text = await read(script.show(script.with_rate(dataclasses.replace(script.bandwidth(1), ranks=ranks))))

    assert "by rank rank 0 225 GB/s (50% of nominal), rank 1 45.0 GB/s (10% of nominal)" in text


async def test_nothing_has_to_move() -> None:
    """Where a result needs no byte of another rank, no bandwidth is claimed, and what the reference moves is told."""
    rate = dataclasses.replace(script.bandwidth(1), needed_bytes=0, gbps=0.0, share=None)
    text = await read(script.show(script.with_rate(rate)))

    assert "bandwidth no byte needs to move; reference 2.10 MB" in text
    assert "GB/s" not in text


async def test_no_difference() -> None:
    """An interval that covers 1 is said to be no difference."""
    text = await read(script.show(script.good_run(speedup=1.01)))

    assert "1.01x [0.99, 1.03] no difference" in text


async def test_a_first_figure_stands_without_an_interval() -> None:
    """Before three pairs of blocks were timed the pane shows the figure alone, as neither a difference nor none."""
    *before, live = script.timing_run(2, 12)
    early = dataclasses.replace(live, speedup=Ratio(median=2.46))
    text = await read(script.show([*script.good_run(1), *before, early]))

    assert "2.46x timing 12/100 · no interval below 3 pairs" in text
    assert "2.46x [" not in text
    assert "1.34x (#1), no clear change" in text


async def test_live_samples() -> None:
    """While samples are taken their count and the flags are shown."""
    text = await read(script.show(script.timing_run(1, 12)))

    assert "timing 12/100" in text
    assert "! few-samples" in text


async def test_how_calls_were_timed() -> None:
    """Cache, launch time and clock stand below the times, while samples are taken and after."""
    figures = {"cache": "cold", "launch_ms": LaunchTime(candidate=0.031, reference=0.012), "clock_mhz": 1980.0}
    live = [*script.timing_run(1, 12)[:-1], dataclasses.replace(script.timing(1, 12), **figures)]
    done = [
        dataclasses.replace(event, **figures) if isinstance(event, Verdict) else event for event in script.good_run()
    ]

    for events in (live, done):
        text = await read(script.show(events))
        assert "timed cold cache, launch 31.0 us (reference 12.0 us), 1980 MHz" in text
    assert "warm cache" in await read(script.show(script.timing_run(1, 12)))


@pytest.mark.parametrize("width", [36, 46, 60, 79, 120])
async def test_flags_keep_their_sign(width: int) -> None:
    """At every width each flag begins with its sign, before bandwidth and floor."""
    pane = SpeedPane(script.make_target())
    async with Host(pane).run_test(size=(width, 40)) as pilot:
        pane.show_view(script.show(script.gpu_run()))
        await pilot.pause()
        text = flowing(pane)

        for flag in ("! noisy", "! launch-bound (candidate)", "! shared-gpu (rank 0: python 1234)"):
            assert flag in text
            assert text.index(flag) < text.index("bandwidth 212")
        assert not any(line.endswith("!") for line in pane.lines.texts)


async def test_last_good_speed_stays() -> None:
    """While the next attempt runs, or when it was wrong, the last good figures stay and say whose they are."""
    running = await read(script.show([*script.good_run(1), *script.loaded(2)]))
    wrong = await read(script.show([*script.good_run(1), *script.wrong_run(2)]))

    assert "1.34x [1.31, 1.37] dimmed: last good, #1" in running
    assert "dimmed: last good, #1" in wrong


async def test_best_and_before() -> None:
    """A slower attempt shows the best so far and the change against the good one before it."""
    text = await read(script.show([*script.good_run(1, speedup=1.5), *script.good_run(2, speedup=1.2)]))

    assert "best 1.50x (#1)" in text
    assert "before 1.50x (#1) -20.0%" in text
    assert "attempts █▁" in text


async def test_best_of_an_earlier_sitting() -> None:
    """A faster attempt of an earlier sitting is the best so far, with its id; a faster one now takes its place."""
    view = dataclasses.replace(
        script.show(script.good_run(1, speedup=1.2)), record=Speed(number=57, ratio=script.ratio(1.4))
    )
    later = script.show(script.good_run(2, speedup=1.5), view)

    assert "best 1.40x (id 57, earlier sitting)" in await read(view)
    assert "best 1.50x (#2) this one" in await read(later)


async def test_change_within_the_intervals() -> None:
    """A change smaller than the intervals is no clear change."""
    text = await read(script.show([*script.good_run(1, speedup=1.2), *script.good_run(2, speedup=1.21)]))

    assert "1.20x (#1), no clear change" in text


async def test_nothing_timed_yet() -> None:
    """Before anything has been timed the pane says so."""
    assert await read(RunView()) == "no speedup yet"
    assert await read(script.show(script.loaded())) == "not timed yet"

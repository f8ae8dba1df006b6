"""Events and verdicts as lines for people: nothing that a rank wrote reaches the terminal as a command."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from workbench.events import (
    Bandwidth,
    Diagnostic,
    Event,
    Floor,
    LaunchTime,
    Log,
    RankStack,
    RankSummary,
    Ratio,
    Spread,
    Verdict,
    to_dict,
)
from workbench.report import progress_lines, reason_text, verdict_lines

CLIPBOARD = "\x1b]52;c;ZXZpbA==\x07"
TITLE = "\x1b]0;owned\x1b\\"
HOSTILE = f"before{CLIPBOARD}\x1b[2J\x07{TITLE}after"


@pytest.mark.parametrize(
    "event",
    [
        Log(rank=0, stream="stdout", text=f"{HOSTILE}\n{HOSTILE}\n"),
        RankStack(rank=0, where=HOSTILE, stack=f"{HOSTILE}\n", line=3),
        Diagnostic(severity="error", message=f"ValueError: {HOSTILE}", path="kernel.py", line=3),
    ],
    ids=["output", "stack", "error"],
)
def test_progress_holds_no_escape_sequences(event: Event) -> None:
    """What a candidate prints or raises is told as plain text: no clipboard, title or screen is touched."""
    lines = progress_lines(event)

    assert "before" in "".join(lines)
    assert all(line.isprintable() for line in lines)


def test_a_verdict_holds_no_escape_sequences_and_keeps_its_rows() -> None:
    """A reason of several lines with escape sequences in it is one line of plain text."""
    rank = RankSummary(rank=0, status="crash", detail=f"ValueError: {HOSTILE}\nsecond line")
    verdict = Verdict(status="crash", problem="1_allreduce", reason=f"rank 0: {rank.detail}", ranks=(rank,))
    lines = verdict_lines(to_dict(verdict))

    assert all(line.isprintable() for line in lines)
    assert lines[0] == "1_allreduce  crash: rank 0: ValueError: before·after second line"


def test_a_failure_of_pkwb_itself_begins_with_the_error() -> None:
    """Of a traceback the error stands first, then line by line where it was; in tables it is one line."""
    reason = f'Traceback (most recent call last):\n  File "engine.py", line 135, in run\nTypeError: {HOSTILE}\n'
    lines = verdict_lines(to_dict(Verdict(status="infra", problem="1_allreduce", reason=reason, ranks=())))

    assert lines[0] == "1_allreduce  infra: TypeError: before·after"
    assert lines[1].strip() == "Traceback (most recent call last):"
    assert lines[2].strip() == 'File "engine.py", line 135, in run'
    assert reason_text(reason).startswith("TypeError: before·after Traceback")


def test_a_verdict_tells_the_share_of_both_rates() -> None:
    """The share of the links on paper and of the measured rate stand side by side; older records have the latter."""
    rate = Bandwidth(
        needed_bytes=1e6, reference_bytes=1e6, gbps=212, reference_gbps=133, busbw=None, peak_gbps=299, share=0.709,
        label="NCCL all_reduce, 2 ranks", nominal_gbps=450, nominal_share=0.471,
    )  # fmt: skip
    verdict = to_dict(Verdict(status="ok", problem="1_allreduce", reason="", ranks=(), bandwidth=rate))
    measured = "70.9% of 299 measured (NCCL all_reduce, 2 ranks)"

    (line,) = [line for line in verdict_lines(verdict) if line.startswith("bandwidth")]
    assert line.split(maxsplit=1)[1] == f"212 of 450 GB/s, 47.1% of nominal, {measured}; reference 133 GB/s"
    for name in ("nominal_gbps", "nominal_share", "nominal_label", "ranks"):
        del verdict["bandwidth"][name]
    (line,) = [line for line in verdict_lines(verdict) if line.startswith("bandwidth")]
    assert "212 of 299 GB/s, 70.9% of measured (NCCL all_reduce, 2 ranks)" in line


def test_a_verdict_tells_how_calls_were_timed() -> None:
    """Cache, launch time and clock are a line of their own; verdicts without timing, or from before it, have none."""
    launch = LaunchTime(candidate=0.031, reference=0.012)
    made = Verdict(status="ok", problem="1", reason="", ranks=(), cache="cold", launch_ms=launch, clock_mhz=1980.4)
    verdict = to_dict(made)

    (line,) = [line for line in verdict_lines(verdict) if line.startswith("timed")]
    assert line.split(maxsplit=1)[1] == "cold cache, launch 31.0 us (reference 12.0 us), 1980 MHz"
    for name in ("cache", "launch_ms", "clock_mhz", "graph"):
        del verdict[name]
    assert not any(line.startswith("timed") for line in verdict_lines(verdict))


@pytest.mark.parametrize(
    ("how", "label"),
    [({"protocol": "pkb"}, ", protocol pkb"), ({"graph": True}, ", graph"), ({}, "")],
    ids=["protocol", "graph", "usual"],
)
def test_a_speedup_names_an_unusual_way_of_timing(how: dict[str, Any], label: str) -> None:
    """A speedup by another protocol or from graphs says so in its own line."""
    ratio, cuda = Ratio(median=1.34, low=1.31, high=1.36), {"device": "cuda"}
    made = Verdict(status="ok", problem="1", reason="", ranks=(), speedup=ratio, cache="cold", environment=cuda)
    lines = verdict_lines(to_dict(dataclasses.replace(made, **how)))

    (line,) = [line for line in lines if line.startswith("speedup")]
    assert line.split(maxsplit=1)[1] == f"1.34x [1.31, 1.36]{label}"
    assert any(line == "timed      protocol pkb" for line in lines) == ("protocol" in how)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Ratio(median=1.01, low=0.99, high=1.03), "1.01x [0.99, 1.03] (no difference)"),
        (Ratio(median=2.46), "2.46x (no interval below 3 pairs)"),
    ],
    ids=["interval covers 1", "too few samples"],
)
def test_a_speedup_that_is_none_or_not_sure_says_so(ratio: Ratio, text: str) -> None:
    """The line of the speedup says where the interval covers 1, and where too little was timed for an interval."""
    lines = verdict_lines(to_dict(Verdict(status="ok", problem="1", reason="", ranks=(), speedup=ratio)))

    assert f"speedup    {text}" in lines


def test_a_verdict_tells_the_distance_to_the_floor() -> None:
    """The floor stands with its terms and how many times it both sides take; verdicts from before it have none."""
    floor = Floor(ms=0.02, binding="link", terms_ms={"link": 0.02}, topology="2 × H200")
    rate = Bandwidth(
        needed_bytes=1e6, reference_bytes=1e6, gbps=10, reference_gbps=5, busbw=None, peak_gbps=None, share=None,
        label="", floor=floor,
    )  # fmt: skip
    times = {side: Spread(median=ms, p10=ms, p90=ms) for side, ms in (("candidate_ms", 0.1), ("reference_ms", 0.2))}
    verdict = to_dict(Verdict(status="ok", problem="1_allreduce", reason="", ranks=(), bandwidth=rate, **times))

    (line,) = [line for line in verdict_lines(verdict) if line.startswith("floor")]
    assert line.split(maxsplit=1)[1] == (
        "20.0 us, link binds (link 20.0 us), 2 × H200; candidate 5.00x, reference 10.0x the floor"
    )
    del verdict["bandwidth"]["floor"]
    assert not any(line.startswith("floor") for line in verdict_lines(verdict))

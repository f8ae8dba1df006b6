"""A hand-made problem and ready-made event sequences, as an engine would send them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from problems.model import Binding, Collective, Draw, Figures, Input, Output, Problem, Tolerance
from widgets.state import RunView, reduce
from workbench.events import (
    Bandwidth,
    BuildFinished,
    BuildStarted,
    Diagnostic,
    Event,
    FirstVerdict,
    Floor,
    LaunchTime,
    Log,
    Phase,
    PhaseChanged,
    RanksReady,
    RankStack,
    RankSummary,
    RankVerdict,
    Ratio,
    SourceSeen,
    Spread,
    Status,
    Telemetry,
    TimingProgress,
    Verdict,
)
from workbench.target import Target

NOON = 1_767_000_000.0
"""Seconds since the epoch at which the scripts' first save happens; attempt n is saved a minute later each."""
PATH = "/work/solutions_pytorch/1_allreduce_pytorch.py"
REFERENCE = '''"""Sum of one tensor over all ranks."""

import torch
import torch.distributed as dist


def solution(tensor: torch.Tensor) -> torch.Tensor:
    """Every rank returns the same sum."""
    result = tensor.clone()
    dist.all_reduce(result, op=dist.ReduceOp.SUM)
    return result
'''


def make_problem(folder: Path = Path("/nowhere")) -> Problem:
    """An all-reduce of one matrix; with a folder that exists, its reference is written there."""
    if folder.is_dir():
        (folder / "reference.py").write_text(REFERENCE, encoding="utf-8")
    return Problem(
        number=1,
        stem="1_allreduce",
        title="All-reduce",
        group="collectives",
        parallelism=("DP",),
        origin="nccl-tests",
        statement="Every rank holds a matrix. Every rank must return the sum of all of them.",
        algorithm="1. Copy the argument.\n2. Sum it over all ranks.",
        notes="The argument must not change.",
        folder=folder,
        inputs=(Input(name="tensor", kind="tensor", shape=("M", "N"), draw=Draw(kind="normal")),),
        outputs=(Output(name="out", shape=("M", "N")),),
        symbols={},
        sizes={"smoke": {"M": 128, "N": 128}, "default": {"M": 1024, "N": 1024}, "large": {"M": 4096, "N": 4096}},
        dtypes=("bfloat16", "float32"),
        compare="close",
        tolerance=Tolerance(rms={"bfloat16": 2e-2, "float32": 1e-6}, rel={"bfloat16": 2e-2, "float32": 1e-6}),
        figures=Figures(
            needed_bytes="2*(P-1)/P*M*N*itemsize",
            reference_bytes="2*(P-1)/P*M*N*itemsize",
            flops="(P-1)*M*N",
            hbm_bytes="2*M*N*itemsize",
        ),
        collective=Collective(op="all_reduce", bytes="M*N*itemsize"),
        scales=(1e-3, 1.0, 1e3),
        collectives=("all_reduce",),
    )


def make_target(folder: Path = Path("/nowhere"), world: int = 2) -> Target:
    """The hand-made problem at its default size on CPU ranks."""
    symbols = {"M": 1024, "N": 1024, "P": world, "itemsize": 2}
    problem = make_problem(folder)
    binding = Binding(problem=problem, size="default", world=world, dtype="bfloat16", symbols=symbols)
    return Target(problem=problem, binding=binding, backend="pytorch", device="cpu", path=Path(PATH))


def show(events: Iterable[Event], view: RunView | None = None) -> RunView:
    """The view after all of these events."""
    shown = view or RunView()
    for event in events:
        shown = reduce(shown, event)
    return shown


def saved(number: int = 1) -> float:
    """When attempt ``number`` is saved."""
    return NOON + 60.0 * (number - 1)


def ready(world: int = 2) -> RanksReady:
    """A warm set of ranks."""
    return RanksReady(world=world, device="cpu", backend="gloo", startup_ms=52.0, torch="2.13.0", time=NOON - 5)


def seen(number: int = 1, changed: bool = True, later: float = 0.0) -> SourceSeen:
    """A save from the disk."""
    time = saved(number) + later
    return SourceSeen(attempt=number, time=time, path=PATH, digest=f"{number:064x}", changed=changed, origin="disk")


def phase(number: int, name: Phase, ms: float, failed: bool = False) -> list[Event]:
    """A stage that starts and ends."""
    started = PhaseChanged(attempt=number, time=saved(number), phase=name, state="started")
    return [
        started,
        PhaseChanged(
            attempt=number,
            time=saved(number) + ms / 1e3,
            phase=name,
            state="failed" if failed else "finished",
            elapsed_ms=ms,
        ),
    ]


def loaded(number: int = 1) -> list[Event]:
    """From the save to the imported file."""
    return [
        seen(number),
        BuildStarted(attempt=number, time=saved(number), name="kernels"),
        BuildFinished(
            attempt=number, time=saved(number), name="kernels", ok=True, path="slim", made_by="slim", seconds=2e-3
        ),
        *phase(number, "build", 2.0),
        *phase(number, "start", 0.4),
        *phase(number, "load", 3.1),
        PhaseChanged(attempt=number, time=saved(number), phase="check", state="started"),
    ]


def judged(number: int, rank: int, trial: int, status: Status = "ok", trials: int = 5) -> RankVerdict:
    """One rank's result of one trial; a wrong one is wrong at out[3, 17]."""
    bad = status != "ok"
    return RankVerdict(
        attempt=number,
        time=saved(number),
        rank=rank,
        trial=trial,
        trials=trials,
        status=status,
        max_abs_err=0.5 if bad else 1.2e-3,
        max_rel_err=1.0 if bad else 2.5e-3,
        error_ratio=25.0 if bad else 0.06,
        first_bad="out[3, 17]" if bad else "",
        expected="0.5" if bad else "",
        got="0" if bad else "",
        call_ms=0.21 + rank / 100,
    )


def around(median: float) -> Spread:
    """A spread of five percent to each side."""
    return Spread(median=median, p10=median * 0.95, p90=median * 1.05)


def ratio(median: float) -> Ratio:
    """A speedup that is known to two percent."""
    return Ratio(median=median, low=median * 0.98, high=median * 1.02)


def timing(number: int, samples: int, speedup: float = 1.34) -> TimingProgress:
    """Live timing after some of 100 samples; the reference takes 0.28 ms."""
    return TimingProgress(
        attempt=number,
        time=saved(number),
        samples=samples,
        total=100,
        candidate_ms=around(0.28 / speedup),
        reference_ms=around(0.28),
        speedup=ratio(speedup),
        rank_ms=(0.21, 0.22),
        skew=0.02,
        flags=("few-samples",) if samples < 30 else (),
    )


def bandwidth(number: int) -> Bandwidth:
    """47 percent of the link."""
    return Bandwidth(
        attempt=number,
        time=saved(number),
        needed_bytes=2_097_152,
        reference_bytes=2_097_152,
        gbps=2.12,
        reference_gbps=1.58,
        busbw=2.12,
        peak_gbps=4.5,
        share=0.47,
        label="gloo all_reduce, 2 ranks (CPU)",
    )


def verdict(
    number: int, status: Status, reason: str = "", ranks: tuple[RankSummary, ...] = (), speedup: float | None = None
) -> Verdict:
    """The last word."""
    good = status == "ok"
    return Verdict(
        attempt=number,
        time=saved(number) + 1,
        status=status,
        problem="1_allreduce",
        reason=reason,
        ranks=ranks,
        trials_passed=5 if good else 0,
        trials=5,
        speedup=ratio(speedup) if speedup else None,
        candidate_ms=around(0.28 / speedup) if speedup else None,
        reference_ms=around(0.28) if speedup else None,
        bandwidth=bandwidth(number) if speedup else None,
        skew=0.02 if speedup else None,
        first_call_ms=0.9 if good else None,
        peak_rss_bytes=220 << 20 if good else None,
    )


def good_run(number: int = 1, world: int = 2, speedup: float = 1.34) -> list[Event]:
    """Right on every rank, then timed."""
    trials = [judged(number, rank, trial) for trial in range(5) for rank in range(world)]
    ranks = tuple(RankSummary(rank=rank, status="ok", max_abs_err=1.2e-3, time_ms=0.21) for rank in range(world))
    return [
        *loaded(number),
        *trials[:world],
        FirstVerdict(attempt=number, time=saved(number), status="ok", since_save_ms=20.0),
        *trials[world:],
        *phase(number, "check", 20.0)[1:],
        PhaseChanged(attempt=number, time=saved(number), phase="time", state="started"),
        timing(number, 12, speedup),
        timing(number, 63, speedup),
        timing(number, 100, speedup),
        *phase(number, "time", 810.0)[1:],
        bandwidth(number),
        verdict(number, "ok", "", ranks, speedup),
    ]


def with_rate(rate: Bandwidth, number: int = 1) -> list[Event]:
    """A good run with other bandwidth figures."""
    *events, last = good_run(number)
    assert isinstance(last, Verdict)
    shown = [rate if isinstance(one, Bandwidth) else one for one in events]
    return [*shown, dataclasses.replace(last, bandwidth=rate)]


def gpu_bandwidth(number: int = 1) -> Bandwidth:
    """Rates of two GPUs, with what their links give on paper and when measured."""
    return dataclasses.replace(
        bandwidth(number),
        gbps=212.0,
        peak_gbps=299.0,
        share=0.709,
        label="NCCL all_reduce, 2 ranks",
        nominal_gbps=450.0,
        nominal_share=0.471,
        nominal_label="NVLink, 18 × 25 = 450 GB/s one way",
    )


def gpu_run(number: int = 1) -> list[Event]:
    """A good run of which everything is known that is known on GPUs, with flags."""
    terms = {"link": 0.00466, "memory": 0.0009, "compute": 0.0, "latency": 0.006}
    floor = Floor(ms=0.0107, binding="link", terms_ms=terms, topology="2 × H200", in_network_ms=0.01)
    *events, last = with_rate(dataclasses.replace(gpu_bandwidth(number), floor=floor), number)
    assert isinstance(last, Verdict)
    launch = LaunchTime(candidate=0.031, reference=0.012)
    flags = ("noisy", "launch-bound (candidate)", "shared-gpu (rank 0: python 1234)")
    return [*events, dataclasses.replace(last, cache="cold", launch_ms=launch, clock_mhz=1980.0, flags=flags)]


def timing_run(number: int = 1, samples: int = 63, speedup: float = 1.34) -> list[Event]:
    """A good run until 12, 63 or 100 samples have been taken."""
    whole = good_run(number, speedup=speedup)
    taken = [at for at, event in enumerate(whole) if isinstance(event, TimingProgress) and event.samples == samples]
    return whole[: taken[0] + 1]


def wrong_run(number: int = 1) -> list[Event]:
    """Right on rank 0, wrong on rank 1."""
    ranks = (
        RankSummary(rank=0, status="ok", max_abs_err=1.2e-3, time_ms=0.21),
        RankSummary(rank=1, status="wrong", max_abs_err=0.5, max_rel_err=1.0, first_bad="out[3, 17]", time_ms=0.22),
    )
    return [
        *loaded(number),
        judged(number, 0, 0),
        judged(number, 1, 0, "wrong"),
        FirstVerdict(attempt=number, time=saved(number), status="wrong", since_save_ms=20.0),
        *phase(number, "check", 4.0, failed=True)[1:],
        verdict(number, "wrong", "rank 1: out[3, 17] is 0, expected 0.5", ranks),
    ]


def crash_run(number: int = 1) -> list[Event]:
    """Rank 1 raises in line 12 of the user's file."""
    ranks = (
        RankSummary(rank=0, status="unknown", detail="stopped after rank 1 failed"),
        RankSummary(rank=1, status="crash", detail="ValueError: no such shape, line 12"),
    )
    return [
        *loaded(number),
        Log(attempt=number, time=saved(number), rank=0, stream="stdout", text="entering\n"),
        Log(attempt=number, time=saved(number), rank=1, stream="stderr", text="ValueError: no such shape\n"),
        Diagnostic(
            attempt=number,
            time=saved(number),
            severity="error",
            message="ValueError: no such shape",
            path=PATH,
            line=12,
            column=5,
            rank=1,
        ),
        *phase(number, "check", 4.0, failed=True)[1:],
        verdict(number, "crash", "rank 1: ValueError: no such shape, line 12", ranks),
    ]


def hang_run(number: int = 1) -> list[Event]:
    """Rank 0 waits in a barrier that rank 1 never reaches."""
    stack = '  File "{}", line {}, in solution\n    {}\n'
    ranks = tuple(RankSummary(rank=rank, status="hang") for rank in range(2))
    return [
        *loaded(number),
        RankStack(
            attempt=number,
            time=saved(number) + 5,
            rank=0,
            where="barrier, 1_allreduce_pytorch.py:77",
            stack=stack.format(PATH, 77, "dist.barrier()"),
            line=77,
        ),
        RankStack(
            attempt=number,
            time=saved(number) + 5,
            rank=1,
            where="sleep, 1_allreduce_pytorch.py:75",
            stack=stack.format(PATH, 75, "time.sleep(1e9)"),
            line=75,
        ),
        *phase(number, "check", 120_000.0, failed=True)[1:],
        verdict(number, "hang", "no answer within 120 s", ranks),
    ]


def build_error_run(number: int = 1) -> list[Event]:
    """A syntax error."""
    return [
        seen(number),
        *phase(number, "build", 1.0, failed=True),
        Diagnostic(
            attempt=number,
            time=saved(number),
            severity="error",
            message="invalid syntax",
            path=PATH,
            line=7,
            column=13,
        ),
        verdict(number, "build-error", "line 7: invalid syntax"),
    ]


def superseded_run(number: int = 1) -> list[Event]:
    """A second save while the first is checked; the first one's last word comes late."""
    return [
        *loaded(number),
        judged(number, 0, 0),
        seen(number + 1),
        judged(number, 1, 0, "wrong"),
        verdict(number, "superseded", "a newer save came"),
        *good_run(number + 1)[1:],
    ]


def telemetry(cpu: float = 12.0) -> Telemetry:
    """The machine at rest."""
    return Telemetry(time=NOON, cpu_percent=cpu, memory_used_bytes=3 << 30, memory_total_bytes=8 << 30, load=0.4)

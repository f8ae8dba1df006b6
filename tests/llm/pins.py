"""Texts that a model is sent, rendered from fixed facts. ``python -m tests.llm.pins`` writes them anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from problems.binding import bind
from problems.loader import find_problem
from problems.starter import BACKENDS
from workbench.config import LlmSettings, Settings, TopologySettings
from workbench.events import (
    Bandwidth,
    BuildSummary,
    Diagnostic,
    Event,
    Floor,
    LaunchTime,
    Log,
    Profile,
    Ran,
    RankProfile,
    RankStack,
    RankSummary,
    RankVerdict,
    Ratio,
    Spread,
    Verdict,
)
from workbench.llm.feedback import LEVELS, Collected, Context, feedback_text, no_code_text
from workbench.llm.prompt import prompt_facts
from workbench.llm.templates import Templates
from workbench.resolve import what_if_topology
from workbench.target import Target

FOLDER = Path(__file__).with_name("pinned")
SETTINGS = Settings(topology=TopologySettings(name="hgx-h200"), llm=LlmSettings(require="custom"))
FILE = "13_gemm_allreduce_cuda.py"


def target(backend: str = "cuda") -> Target:
    """Problem 13 on eight GPUs of a system of the catalogue."""
    problem = find_problem("13")
    binding = bind(problem, "default", 8, "bfloat16")
    path = Path("/work") / FILE
    topology = what_if_topology(SETTINGS, 8)
    return Target(problem=problem, binding=binding, backend=backend, device="cuda", path=path, what_if=topology)


def texts() -> Iterator[tuple[str, str]]:
    """Names and texts of all pins; the starter, which has tests of its own, is left out of the prompts."""
    templates = Templates()
    for backend in BACKENDS:
        facts = {**prompt_facts(target(backend), SETTINGS), "example": "# the starter"}
        yield f"prompt_{backend}.md", "\n".join(templates.render(name, facts) for name in ("system.md", "task.md"))
    for level in LEVELS:
        for name, verdict, events in (("right", _right(), _right_events()), ("hang", _hang(), _hang_events())):
            context = Context(level, 1.5, best="1.10x [1.08, 1.12], your proposal 2", breach="", repeated=False)
            yield f"feedback_{level}_{name}.md", feedback_text(verdict, _collected(events), context, templates)
    yield "feedback_cut_off.md", no_code_text("cut-off", "The reply ends inside its code: it was cut off.", templates)


def _collected(events: list[Event]) -> Collected:
    found = Collected()
    for event in events:
        found.take(event)
    return found


def _right() -> Verdict:
    floor = Floor(
        ms=0.0118,
        binding="link",
        terms_ms={"link": 0.0078, "memory": 0.0009, "compute": 0.0011, "latency": 0.004},
        topology="2 × H200",
    )
    return Verdict(
        attempt=3, time=0.0, status="ok", problem="13_gemm_allreduce", reason="", trials=5, trials_passed=5,
        ranks=tuple(
            RankSummary(rank=rank, status="ok", max_abs_err=0.25, max_rel_err=0.01, time_ms=0.08 + rank / 100)
            for rank in range(2)
        ),
        speedup=Ratio(median=1.34, low=1.31, high=1.36),
        candidate_ms=Spread(median=0.09, p10=0.088, p90=0.095), reference_ms=Spread(median=0.12, p10=0.118, p90=0.13),
        bandwidth=Bandwidth(
            needed_bytes=2097152.0, reference_bytes=2097152.0, gbps=23.3, reference_gbps=17.5, busbw=None,
            peak_gbps=369.0, share=0.063, label="register", floor=floor, nominal_gbps=450.0, nominal_share=0.052,
            nominal_label="NVLink",
        ),
        skew=0.11, cache="cold", launch_ms=LaunchTime(candidate=0.031, reference=0.012), clock_mhz=1980.0,
        profile=Profile(
            ranks=tuple(
                RankProfile(
                    rank=rank, whole_ms=0.1, compute_ms=0.06, communication_ms=0.04, overlap_ms=0.01, gap_ms=0.01
                )
                for rank in range(2)
            ),
            ran=(
                Ran(name="all_reduce", kind="collective", calls=1, ms=0.004),
                Ran(name="pull", kind="kernel", calls=2, ms=0.06),
            ),
        ),
        first_call_ms=212.5, flags=("skewed",), phases_ms={"load": 12.0, "check": 80.0, "time": 400.0},
        builds=(BuildSummary(name="gemm", path="slim", made_by="slim", seconds=2.1),), environment={"device": "cuda"},
    )  # fmt: skip


def _right_events() -> list[Event]:
    kernel = "kernel pull(float*): 64 registers, 0 bytes of shared memory, 16 bytes spilled"
    return [
        Diagnostic(severity="warning", message=kernel, path=FILE, line=12),
        Log(rank=0, stream="stdout", text="nothing of interest\n"),
    ]


def _hang() -> Verdict:
    reason = "rank 0: pull, 13_gemm_allreduce_cuda.py:40; rank 1: returned"
    ranks = (
        RankSummary(rank=0, status="hang", detail="stands at pull, 13_gemm_allreduce_cuda.py:40"),
        RankSummary(rank=1, status="ok", max_abs_err=0.25, max_rel_err=0.01),
    )
    return Verdict(
        attempt=4, time=0.0, status="hang", problem="13_gemm_allreduce", reason=reason, ranks=ranks, trials=5,
        phases_ms={"load": 12.0, "check": 120_000.0},
    )  # fmt: skip


def _hang_events() -> list[Event]:
    places = (
        (f"/work/{FILE}", 40, "pull"),
        (f"/work/{FILE}", 52, "solution"),
        ("/p/workbench/ranks/peer.py", 7, "_call"),
    )
    stack = "\n".join(f'  File "{path}", line {line} in {function}' for path, line, function in places)
    return [
        RankVerdict(rank=1, trial=0, trials=5, status="ok", max_abs_err=0.25),
        RankStack(rank=0, where=f"pull, {FILE}:40", stack=stack, line=40),
        Log(rank=0, stream="stderr", text="waiting for rank 1\n"),
        Log(rank=1, stream="stderr", text="waiting for rank 1\n"),
    ]


def _write() -> None:
    for name, text in texts():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    _write()

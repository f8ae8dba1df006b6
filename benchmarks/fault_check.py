"""Candidates that break a GPU's context, fill its memory or never end, and what is left of each.

    python -m benchmarks.fault_check --ranks 2 [--share-gpus] [--json]

After each fault three things are looked at: the verdict names what happened and the rank that failed, the GPUs' memory
is back where it was, and the reference, judged next, is ok. Prints a table; exit code 1 when one of them is not so.
Takes about a minute and a half; with --share-gpus ranks share the GPUs when there are fewer of them.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.report import Figure, parser, publish
from tests.flow.sitting import Sitting
from workbench.config import RanksSettings
from workbench.devices import place_ranks, visible_gpus
from workbench.events import Status, Verdict
from workbench.resolve import shared_gpus
from workbench.tables import table
from workbench.topology.chosen import rank_gpus
from workbench.topology.nvml import open_nvml

LIMIT_S = 6.0
"""Limit of a trial, after which it is a hang."""
BACK_S, SLACK_BYTES = 3.0, 64 << 20
"""Memory is back when it is within the slack of what it was before, that long after the verdict."""
_LATE_S = 5.0
"""What a verdict may take beyond the limit: stacks are taken, and output is waited for."""
_LONGEST_WAIT_S = 20.0

_CANDIDATE = """\
import torch
import torch.distributed as dist

KERNELS = '''
extern "C" __global__ void touch(int* p) {{ p[1ll << 45] = 1; }}
extern "C" __global__ void spin(volatile int* p) {{ while (*p != 77) {{}} }}
'''


def launch(name, out):
    kernel = torch.cuda._compile_kernel(KERNELS, name)
    kernel((1, 1, 1), (1, 1, 1), (torch.zeros(1, dtype=torch.int32, device=out.device),))


def solution(tensor):
    rank, out = dist.get_rank(), tensor.clone()
{middle}
    dist.all_reduce(out)
    return out
"""


def _on_rank_1(*lines: str) -> str:
    return _CANDIDATE.format(middle="\n".join(["    if rank == 1:", *(f"        {line}" for line in lines)]))


GOOD = _CANDIDATE.format(middle="")


@dataclass(frozen=True)
class Fault:
    """A candidate, the verdicts that fit it, and what the reason must say."""

    name: str
    text: str
    statuses: tuple[Status, ...]
    says: str = "rank 1: "
    """How the reason begins for a crash, what it holds for a hang."""
    gpus: int = 1
    """GPUs that it needs."""

    def fits(self, verdict: Verdict) -> bool:
        """Whether a verdict is the right one."""
        if verdict.status not in self.statuses:
            return False
        return verdict.reason.startswith(self.says) if verdict.status == "crash" else self.says in verdict.reason


FAULTS = (
    Fault("illegal address", _on_rank_1('launch("touch", out)'), ("crash",)),
    Fault(
        "device assert",
        _on_rank_1("torch.ones(1, device=out.device)[torch.tensor([5], device=out.device)]"),
        ("crash",),
    ),
    Fault(
        "out of memory",
        _on_rank_1("kept = []", "while True: kept.append(torch.empty(1 << 30, dtype=torch.uint8, device=out.device))"),
        ("crash",),
    ),
    Fault("one block too large", _on_rank_1("torch.empty(1 << 45, dtype=torch.uint8, device=out.device)"), ("crash",)),
    Fault("kernel that never ends", _on_rank_1('launch("spin", out)'), ("hang",)),
    Fault("kernels without end", _on_rank_1("while True: torch.cuda._sleep(1 << 30)"), ("hang",)),
    Fault("collective left out", _on_rank_1("return out"), ("hang",), "rank 1: returned"),
    Fault(
        "collective of another size",
        _on_rank_1("dist.all_reduce(out.view(-1)[:4096])", "return out"),
        ("hang", "wrong", "crash"),
        "",
    ),
    Fault(
        "killed in a collective", _on_rank_1("import os, signal", "os.kill(os.getpid(), signal.SIGKILL)"), ("crash",)
    ),
    Fault(
        "memory on a foreign GPU",
        _CANDIDATE.format(
            middle="    other = (out.device.index + 1) % torch.cuda.device_count()\n"
            '    solution.kept = torch.ones(256 << 20, dtype=torch.uint8, device=f"cuda:{other}")'
        ),
        ("ok",),
        "",
        gpus=2,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one fault; memory in MB is how far the GPU that is farthest off is from what it was."""

    name: str
    status: str
    reason: str
    fits: bool
    verdict_s: float
    back_s: float
    ready_s: float
    """When all ranks that are kept stood by. Memory is not back before, since theirs is part of it."""
    off_mb: float
    after: str

    @property
    def back(self) -> bool:
        """Whether memory was back in time."""
        return self.off_mb * 1e6 <= SLACK_BYTES and self.back_s <= max(BACK_S, self.ready_s + 0.5)

    @property
    def fine(self) -> bool:
        """Whether everything was as it should be."""
        return self.fits and self.back and self.after == "ok" and self.verdict_s <= LIMIT_S + _LATE_S

    @property
    def row(self) -> tuple[str, ...]:
        """The row of the table."""
        memory = f"{self.back_s:.2f}" if self.back else f"{self.off_mb:.0f} MB off"
        marks = (" " if self.fine else "!", self.name, self.status if self.fits else f"{self.status}?")
        return (*marks, f"{self.verdict_s:.2f}", f"{self.ready_s:.2f}", memory, self.after, self.reason[:70])


class Memory:
    """Memory in use on every GPU that ranks could reach."""

    def __init__(self) -> None:
        self._nvml = open_nvml("the GPUs' memory cannot be seen")
        self._gpus = rank_gpus(self._nvml, visible_gpus())

    def used(self) -> list[int]:
        """Bytes by GPU."""
        return [int(self._nvml.nvmlDeviceGetMemoryInfo(gpu.handle).used) for gpu in self._gpus]

    def off(self, before: list[int]) -> int:
        """Bytes that the GPU that changed most is away from what it was."""
        return max(abs(now - then) for now, then in zip(self.used(), before))


class Check:
    """One sitting: the reference, then each fault with the reference behind it."""

    def __init__(self, sitting: Sitting, memory: Memory) -> None:
        self._sitting = sitting
        self._memory = memory
        self._before: list[int] = []

    def warm_up(self) -> None:
        """Let all ranks that stay take the memory that they will keep."""
        for _ in range(2):
            verdict = self._sitting.judge(GOOD)
            if verdict.status != "ok":
                sys.exit(f"the reference is {verdict.status}: {verdict.reason}")
            self._until_ready(time.monotonic())
        self._before = self._memory.used()

    def judge(self, fault: Fault) -> Outcome:
        """Judge one fault, wait for its memory, judge the reference."""
        started = time.monotonic()
        verdict = self._sitting.judge(fault.text)
        ended = time.monotonic()
        ready_s = self._until_ready(ended)
        back_s = self._until_back(ended)
        off = self._memory.off(self._before)
        after = self._sitting.judge(GOOD)
        self._until_ready(time.monotonic())
        return Outcome(
            name=fault.name,
            status=verdict.status,
            reason=verdict.reason,
            fits=fault.fits(verdict),
            verdict_s=ended - started,
            back_s=back_s,
            ready_s=ready_s,
            off_mb=off / 1e6,
            after=after.status if after.status == "ok" else f"{after.status}: {after.reason}"[:60],
        )

    def _until_back(self, ended: float) -> float:
        """Seconds from the verdict until memory was back, the next ranks' with it; at most the longest wait."""
        self._wait(ended, lambda: self._memory.off(self._before) <= SLACK_BYTES)
        return time.monotonic() - ended

    def _until_ready(self, ended: float) -> float:
        """Seconds from the verdict until all ranks that are kept stood by."""
        self._wait(ended, lambda: self._sitting.engine.standing_by)
        return time.monotonic() - ended

    def _wait(self, ended: float, happened: Callable[[], bool]) -> None:
        self._sitting.until(lambda: happened() or time.monotonic() - ended > _LONGEST_WAIT_S)


def outcomes(options: argparse.Namespace, memory: Memory) -> Iterator[Outcome]:
    """What became of each fault that this machine's GPUs allow."""
    ranks = RanksSettings(world=options.ranks, device="cuda", share_gpus=options.share_gpus)
    device, shared = place_ranks(ranks, options.ranks)
    sitting = Sitting(
        "1",
        options.ranks,
        "bfloat16",
        LIMIT_S,
        device=device,
        shared=shared_gpus(shared) if shared else None,
        size="default",
        trials=2,
    )
    try:
        check = Check(sitting, memory)
        check.warm_up()
        for fault in FAULTS:
            if fault.gpus <= visible_gpus() and (not options.only or fault.name in options.only):
                yield check.judge(fault)
    finally:
        sitting.close()


def main() -> int:
    """Run everything and print the table."""
    arguments = parser(__doc__ or "")
    arguments.formatter_class = argparse.RawDescriptionHelpFormatter
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--share-gpus", action="store_true", help="with fewer GPUs than ranks, let ranks share them")
    arguments.add_argument("--only", nargs="+", metavar="FAULT", choices=[fault.name for fault in FAULTS])
    options = arguments.parse_args()
    memory, found = Memory(), []
    start = memory.used()
    for outcome in outcomes(options, memory):
        found.append(outcome)
        print(f"{'ok' if outcome.fine else 'FAILED'}  {outcome.name}: {outcome.status}", flush=True)
    head = ("", "fault", "verdict", "verdict s", "ranks s", "memory back s", "next", "reason")
    print("\n".join(table(head, [one.row for one in found], right=(3, 4, 5))))
    publish(
        "faults", _figures(found, memory.off(start)), options.json, faults=[dataclasses.asdict(one) for one in found]
    )
    fine = sum(one.fine for one in found)
    print(f"{fine} of {len(found)} faults as expected")
    return int(fine < len(found))


def _figures(found: list[Outcome], left: int) -> list[Figure]:
    crashes = [one.verdict_s for one in found if one.status == "crash"]
    hangs = [one.verdict_s - LIMIT_S for one in found if one.status == "hang"]
    return [
        Figure("faults not as expected", sum(not one.fine for one in found), "", 0, f"of {len(found)}"),
        Figure("verdict of a crash, slowest", max(crashes, default=0.0), "s"),
        Figure("verdict of a hang after its limit, slowest", max(hangs, default=0.0), "s", _LATE_S),
        Figure("memory back after the verdict, slowest", max(one.back_s for one in found), "s", BACK_S),
        Figure("next ranks ready after the verdict, slowest", max(one.ready_s for one in found), "s"),
        Figure("memory left on the GPUs at the end", left / 1e6, "MB", SLACK_BYTES / 1e6),
    ]


if __name__ == "__main__":
    sys.exit(main())

"""Judge references and candidates of known worth on this machine's ranks; prints what came of them as a table.

    python benchmarks/judge_check.py --device cuda --ranks 2 [--share-gpus]

Every reference is judged as its own candidate (it must be ok, its interval should cover 1), then a few candidates that
go wrong on purpose, and one with symmetric memory. Exit code 1 when a status is not the expected one.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import hashlib
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.binding import bind
from problems.loader import catalogue, find_problem
from problems.starter import BACKENDS, starter_text
from widgets import format as fmt
from workbench.config import RanksSettings, Settings
from workbench.devices import place_ranks
from workbench.errors import ProblemError
from workbench.events import Event, EventStream, FirstVerdict, Verdict
from workbench.flow.engine import Engine
from workbench.resolve import shared_gpus
from workbench.target import Source, Target

_BAD = """\
import os, time
import torch, torch.distributed as dist
def solution(tensor):
    rank, out = dist.get_rank(), tensor.clone()
    {before}
    dist.all_reduce(out)
    {after}
    return out
"""
_SYMMETRIC = """\
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric
held = []
def solution(tensor):
    if not held:
        own = symmetric.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
        held.extend((own, symmetric.rendezvous(own, dist.group.WORLD)))
    own, handle = held
    own.copy_(tensor)
    handle.barrier()
    total = torch.zeros_like(tensor, dtype=torch.float32)
    for rank in range(dist.get_world_size()):
        total += handle.get_buffer(rank, tensor.shape, tensor.dtype)
    handle.barrier()
    return total.to(tensor.dtype)
"""
KNOWN = {
    "zeros": ("wrong", _BAD.format(before="pass", after="out.zero_()")),
    "wrong dtype": ("contract", _BAD.format(before="pass", after="out = out.double()")),
    "on the CPU": ("contract", _BAD.format(before="pass", after="out = out.cpu()")),
    "raises on rank 1": ("crash", _BAD.format(before="if rank == 1: raise ValueError('boom')", after="pass")),
    "killed": ("crash", _BAD.format(before="if rank == 1: os.kill(os.getpid(), 9)", after="pass")),
    "illegal index": ("crash", _BAD.format(before="out[torch.tensor([1 << 40], device=out.device)] = 0", after="pass")),
    "deadlock": ("hang", _BAD.format(before="if rank == 1: return out", after="pass")),
    "symmetric memory": ("ok", _SYMMETRIC),
}
ONLY_CUDA = ("on the CPU", "symmetric memory")


class Sitting:
    """One engine on one problem."""

    def __init__(self, number: str, options: argparse.Namespace) -> None:
        problem = find_problem(number, [])
        settings = Settings()
        limits = dataclasses.replace(settings.limits, run=options.limit, stall=options.limit / 2)
        self._settings = dataclasses.replace(settings, limits=limits)
        binding = bind(problem, options.size, options.ranks, options.dtype)
        path = Path("/candidate.py")
        self.target = Target(
            problem=problem,
            binding=binding,
            backend="pytorch",
            device=options.device,
            path=path,
            shared=options.shared,
        )
        self._first = 0.0
        self._stream = EventStream()
        self._stream.subscribe(self._note)

    def _note(self, event: Event) -> None:
        if isinstance(event, FirstVerdict):
            self._first = event.since_save_ms

    async def judge(self, texts: list[str]) -> list[tuple[Verdict, float, float]]:
        """Verdict, ms to the first verdict and seconds to the last, of each text; the first text also warms up."""
        engine = Engine(self.target, self._settings, self._stream)
        await engine.start()
        found = []
        for text in texts:
            started = time.perf_counter()
            digest = hashlib.sha256(text.encode()).hexdigest()
            engine.submit(Source(path=self.target.path, text=text, digest=digest), "eval")
            verdict = await engine.wait()
            assert verdict is not None
            found.append((verdict, self._first, time.perf_counter() - started))
        await engine.close()
        return found


def _row(name: str, expected: str, verdict: Verdict, first_ms: float, seconds: float) -> str:
    mark = " " if verdict.status == expected else "!"
    cells = f"{mark} {name:34s} {verdict.status:9s} {first_ms:8.0f} {seconds:7.2f}"
    if verdict.speedup is None or verdict.candidate_ms is None or verdict.bandwidth is None:
        return f"{cells}  {verdict.reason[:70]}"
    band = verdict.bandwidth
    figure = f"{verdict.candidate_ms.median:8.4f} ms {fmt.interval(verdict.speedup)}"
    return f"{cells}  {figure} {band.gbps:8.3g} of {band.peak_gbps or 0:.4g} GB/s"


def _rows(options: argparse.Namespace) -> Iterator[tuple[bool, str]]:
    for entry in catalogue():
        if options.problems and str(entry.number) not in options.problems:
            continue
        try:
            sitting = Sitting(str(entry.number), options)
        except ProblemError as error:
            yield True, f"- {entry.stem}: {error}"
            continue
        text = starter_text(sitting.target.problem, options.backend)
        text = text.replace("USE_KERNEL = False", "USE_KERNEL = True") if options.use_kernel else text
        verdict, first, seconds = asyncio.run(sitting.judge([text] if options.once else [text, text]))[-1]
        yield verdict.status == "ok", _row(entry.stem, "ok", verdict, first, seconds)
    known = {name: case for name, case in KNOWN.items() if options.device == "cuda" or name not in ONLY_CUDA}
    found = asyncio.run(Sitting("1", options).judge([text for _status, text in known.values()]))
    for (name, (status, _text)), (verdict, first, seconds) in zip(known.items(), found):
        yield verdict.status == status, _row(f"1: {name}", status, verdict, first, seconds)


def main() -> int:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--share-gpus", action="store_true", help="with fewer GPUs than ranks, let ranks share them")
    parser.add_argument("--size", default="default")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--backend", default="pytorch", choices=BACKENDS, help="whose starters are judged")
    parser.add_argument("--use-kernel", action="store_true", help="with the starter's kernel switched on")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for one trial")
    parser.add_argument("--once", action="store_true", help="judge each starter once, cold, instead of twice")
    parser.add_argument("problems", nargs="*", help="problem numbers; none = all")
    options = parser.parse_args()
    ranks = RanksSettings(device=options.device, share_gpus=options.share_gpus)
    options.device, shared = place_ranks(ranks, options.ranks)
    options.shared = shared_gpus(shared) if shared else None
    where = f"{options.ranks} ranks" + (f" on {options.shared.name}, not timed" if options.shared else "")
    print(f"{platform.node()}, {options.device}, {where}, {options.size}, {options.dtype}")
    print(time.strftime("%Y-%m-%d %H:%M"))
    print(f"  {'problem':34s} {'status':9s} first ms   all s  candidate, speedup, bandwidth or reason")
    right = []
    for fine, row in _rows(options):
        right.append(fine)
        print(row, flush=True)
    print(f"{sum(right)} of {len(right)} as expected")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())

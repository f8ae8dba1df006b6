"""References timed by ParallelKernelBench's protocol in plain processes of torch.distributed, without pkwb's ranks.

With ``--compare``, `pkwb eval --protocol pkb` times the same references on the same machine, and the table says how far
the two are apart. Protocols are to be compared, and hosts decide how long small calls take: so the plain processes have
what pkwb's ranks have, no watchdog of NCCL, threads that wait passively, no garbage collection while they time. With
``--plain`` they are as PyTorch starts them.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.report import Figure, parser, publish
from problems.binding import bind, judge_job
from problems.loader import find_problem
from workbench.config import RanksSettings
from workbench.devices import NO_MULTICAST, NO_WATCHDOG, place_ranks

PROBLEMS = ("1", "2", "8", "13", "33")
WARM_UP, CALLS, IDLE_S = 500, 100, 0.5
CACHES, MOST_COPIES = 3, 128
AGREEMENT_PERCENT = 5.0


def rank_main(rank: int, chosen: argparse.Namespace, folder: str) -> None:
    """One process: joins the group, then times every problem; its means go into a file of its own."""
    import torch
    import torch.distributed as dist

    cuda = chosen.device == "cuda"
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // chosen.ranks))
    dist.init_process_group(
        "nccl" if cuda else "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=chosen.ranks,
        device_id=device if cuda else None,
    )
    if not chosen.plain:
        gc.collect()
        gc.disable()
    means = {name: _time_problem(name, rank, device, chosen) for name in chosen.problems}
    Path(folder, f"rank-{rank}.json").write_text(json.dumps(means), encoding="utf-8")
    dist.destroy_process_group()


def _time_problem(name: str, rank: int, device: Any, chosen: argparse.Namespace) -> list[float]:
    """This rank's mean ms of each trial."""
    problem = find_problem(name, [])
    job = judge_job(bind(problem, chosen.size, chosen.ranks, chosen.dtype), rank)
    names: dict[str, Any] = {}
    exec(compile(problem.reference_source(), problem.stem, "exec"), names)
    return [_trial(names["solution"], _inputs(job, rank, device), device) for _ in range(chosen.trials)]


def _inputs(job: dict[str, Any], rank: int, device: Any) -> list[Any]:
    import torch

    from workbench.ranks.draws import InputSource

    drawn = InputSource(job, os.urandom(16).hex(), rank).draw(1, 0, stock=True, scale=1.0)
    return [value.to(device) if isinstance(value, torch.Tensor) else value for value in drawn]


def _trial(solution: Any, values: list[Any], device: Any) -> float:
    """The mean ms of 100 calls after 500, with the first tensor's copies in turn where it fits the cache thrice."""
    import torch
    import torch.distributed as dist

    time.sleep(IDLE_S)
    copies = _copies(values, device)
    for call in range(WARM_UP):
        solution(*copies[call % len(copies)])
    cuda = device.type == "cuda"
    if cuda:
        torch.cuda.synchronize()
    dist.barrier()
    marks: list[Any] = []
    for call in range(CALLS):
        marks.append(_mark(cuda))
        solution(*copies[call % len(copies)])
        marks.append(_mark(cuda))
    if not cuda:
        return statistics.fmean((end - begin) / 1e6 for begin, end in zip(marks[::2], marks[1::2]))
    torch.cuda.synchronize()
    return statistics.fmean(begin.elapsed_time(end) for begin, end in zip(marks[::2], marks[1::2]))


def _mark(cuda: bool) -> Any:
    import torch

    if not cuda:
        return time.perf_counter_ns()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def _copies(values: list[Any], device: Any) -> list[list[Any]]:
    import torch

    place = next((place for place, value in enumerate(values) if isinstance(value, torch.Tensor)), None)
    if device.type != "cuda" or place is None:
        return [values]
    cache = torch.cuda.get_device_properties(device).L2_cache_size
    size = values[place].numel() * values[place].element_size()
    if not 0 < size < CACHES * cache:
        return [values]
    count = min(CACHES * cache // size + 1, MOST_COPIES)
    return [[*values[:place], values[place].clone(), *values[place + 1 :]] for _ in range(count)]


def plain_times(chosen: argparse.Namespace) -> dict[str, list[float]]:
    """ms of every trial of each problem, the slowest rank's mean, by plain processes."""
    from torch.multiprocessing.spawn import spawn

    with tempfile.TemporaryDirectory() as folder:
        spawn(rank_main, (chosen, folder), nprocs=chosen.ranks)
        ranks = [json.loads(Path(folder, f"rank-{rank}.json").read_text()) for rank in range(chosen.ranks)]
    return {name: [max(means) for means in zip(*(rank[name] for rank in ranks))] for name in chosen.problems}


def product_times(name: str, chosen: argparse.Namespace) -> float:
    """ms of the reference as pkwb tells them under the same protocol."""
    from tests.flow.sitting import Sitting

    problem = find_problem(name, [])
    run = {"size": chosen.size, "device": chosen.device, "trials": chosen.trials, "samples": 1, "protocol": "pkb"}
    sitting = Sitting(problem, chosen.ranks, chosen.dtype, 60.0, **run)
    sitting.patience = 300.0
    try:
        verdict = sitting.judge(problem.reference_source())
    finally:
        sitting.close()
    if verdict.reference_ms is None:
        raise SystemExit(f"problem {name} was not timed: {verdict.status}: {verdict.reason}")
    return verdict.reference_ms.median


def main() -> int:
    """Run it and print the figures; exit code 1 when a comparison is off by more than it may be."""
    arguments = parser("References by ParallelKernelBench's own protocol.")
    arguments.add_argument("--device", default="auto")
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--size", default="default")
    arguments.add_argument("--dtype", default="bfloat16")
    arguments.add_argument("--trials", type=int, default=5)
    arguments.add_argument("--problems", nargs="+", default=PROBLEMS)
    arguments.add_argument("--plain", action="store_true", help="processes as PyTorch starts them")
    arguments.add_argument("--compare", action="store_true", help="also by pkwb, which must agree within 5%%")
    chosen = arguments.parse_args()
    chosen.device = place_ranks(RanksSettings(device=chosen.device), chosen.ranks)[0]
    os.environ.update(NO_MULTICAST)
    if not chosen.plain:
        os.environ.update(NO_WATCHDOG, OMP_WAIT_POLICY="PASSIVE")
    times = plain_times(chosen)
    figures, off = [], []
    for name, trials in times.items():
        plain = statistics.median(trials)
        figures.append(Figure(f"problem {name}", plain, "ms", note=f"trials {min(trials):.4g} to {max(trials):.4g}"))
        if chosen.compare:
            ours = product_times(name, chosen)
            apart = 100 * abs(ours / plain - 1)
            figures.append(Figure("  pkwb apart by", apart, "%", AGREEMENT_PERCENT, f"{ours:.4g} ms"))
            off += [name] if apart > AGREEMENT_PERCENT else []
    how = {"device": chosen.device, "ranks": chosen.ranks, "size": chosen.size, "dtype": chosen.dtype}
    publish("pkb_protocol", figures, chosen.json, trials=times, **how)
    if chosen.compare:
        print(f"{len(times) - len(off)} of {len(times)} problems agree within {AGREEMENT_PERCENT:g}%")
    return int(bool(off))


if __name__ == "__main__":
    raise SystemExit(main())

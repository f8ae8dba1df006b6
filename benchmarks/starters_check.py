"""Compile the kernels of the starters, run each on this machine's GPUs against torch, and print one short table last.

    python benchmarks/starters_check.py --ranks 2

Needs torch with CUDA, nvcc and Triton; no other package. Exit code 1 when a kernel does not compile or is wrong.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workbench" / "ranks" / "names"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import spawn

from problems.starters.kernels import KERNELS

COUNTS = (1, 1000, 1 << 20)
DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
PRELUDE = """\
import functools
from typing import Any
import torch
import torch.distributed as dist
USE_KERNEL = True
"""


def values(count: int, dtype: torch.dtype, rank: int) -> torch.Tensor:
    """What a rank passes; every rank can make every rank's."""
    generator = torch.Generator().manual_seed(1000 * count + rank)
    return torch.randn(count, generator=generator).to(dtype).cuda()


def sum_error(module: Any, count: int, dtype: torch.dtype) -> float:
    """Sum over all ranks, and over this rank alone."""
    rank, world = dist.get_rank(), dist.get_world_size()
    everybody = [values(count, dtype, other) for other in range(world)]
    wanted = torch.stack(everybody).double().sum(0)
    found = module._sum_of_ranks(everybody[rank], 0, world).double()
    alone = module._sum_of_ranks(everybody[rank], rank, rank + 1)
    rounding = world * torch.finfo(dtype).eps * wanted.abs().clamp(min=1)
    return max(float(((found - wanted).abs() / rounding).max()), 0.0 if torch.equal(alone, everybody[rank]) else 1e9)


def copy_error(module: Any, count: int, dtype: torch.dtype) -> float:
    """The next rank's values, and this rank's own."""
    rank = dist.get_rank()
    after = (rank + 1) % dist.get_world_size()
    mine = values(count, dtype, rank)
    same = [torch.equal(module._from_rank(mine, other), values(count, dtype, other)) for other in (after, rank)]
    return 0.0 if all(same) else 1e9


def tile_error(module: Any, count: int, dtype: torch.dtype) -> float:
    """Half of every element."""
    mine = values(count, dtype, dist.get_rank())
    return 0.0 if torch.equal(module._scaled(mine, 0.5), mine * 0.5) else 1e9


CHECKS: dict[str, Callable[[Any, int, torch.dtype], float]] = {
    "sum": sum_error,
    "copy": copy_error,
    "tile": tile_error,
}


def load(path: Path) -> Any:
    """The module in a file; Triton reads its source from there."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(path: Path, kind: str) -> str:
    """What came of one kernel on this rank; a good one's line starts with ok."""
    started = time.perf_counter()
    try:
        module = load(path)
        CHECKS[kind](module, COUNTS[0], DTYPES[0])
        torch.cuda.synchronize()
        first = time.perf_counter() - started
        worst = max(CHECKS[kind](module, count, dtype) for count in COUNTS for dtype in DTYPES)
    except Exception as error:
        traceback.print_exc()
        return f"failed: {type(error).__name__}: {str(error).strip().splitlines()[:1]}"
    return f"{'ok' if worst <= 1 else 'WRONG'}  first call {first:6.1f} s, worst error {worst:.2g} roundings"


def run_rank(rank: int, world: int, folder: Path, kernels: list[tuple[str, str]]) -> None:
    """Join the group, check all kernels; rank 0 writes the table."""
    os.environ["HOME"] = str(folder / f"rank-{rank}")
    Path(os.environ["HOME"]).mkdir()
    torch.cuda.set_device(rank)
    store, device = f"file://{folder / 'store'}", torch.device("cuda", rank)
    dist.init_process_group("nccl", init_method=store, rank=rank, world_size=world, device_id=device)
    rows = [check(folder / f"{backend}_{kind}.py", kind) for backend, kind in kernels]
    everybody: list[Any] = [None] * world
    dist.all_gather_object(everybody, rows)
    if rank == 0:
        lines = [
            f"{backend:7s} {kind:5s} rank {other}  {everybody[other][number]}"
            for number, (backend, kind) in enumerate(kernels)
            for other in range(world)
        ]
        (folder / "table").write_text("\n".join(lines) + "\n")
    dist.destroy_process_group()


def main() -> int:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=min(2, torch.cuda.device_count()))
    parser.add_argument("--backends", nargs="+", choices=list(KERNELS), default=list(KERNELS))
    options = parser.parse_args()
    if not 1 <= options.ranks <= torch.cuda.device_count():
        parser.error(f"{options.ranks} ranks need as many GPUs; this machine shows {torch.cuda.device_count()}")
    os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    kernels = [(backend, kind) for backend in options.backends for kind in KERNELS[backend]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for backend, kind in kernels:
            (folder / f"{backend}_{kind}.py").write_text(PRELUDE + KERNELS[backend][kind].text)
        start: Any = spawn
        start(run_rank, (options.ranks, folder, kernels), nprocs=options.ranks)
        table = (folder / "table").read_text()
    print(f"{platform.node()}, {torch.cuda.get_device_name(0)}, {options.ranks} ranks, torch {torch.__version__}")
    print(table, end="")
    return 0 if table.count("  ok ") == len(kernels) * options.ranks else 1


if __name__ == "__main__":
    sys.exit(main())

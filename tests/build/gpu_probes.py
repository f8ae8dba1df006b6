"""Calls every function of on_gpu.cu and prints what came of each: one JSON list; a fresh process for every build.

Run as a program, with the folder of the built module `on_gpu`.
"""

from __future__ import annotations

import json
import sys
import timeit
from collections.abc import Iterator
from typing import Any

import torch
from call_probes import outcome


def _calls(module: Any) -> Iterator[tuple[str, str]]:
    last = torch.cuda.device_count() - 1
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        yield "stream", str(module.stream() == side.cuda_stream == module.stream(torch.cuda.current_device()))
        yield "cuBLAS handle", str(module.blas_handle() == torch.cuda.current_blas_handle())
    for kind in range(3):
        yield f"property({kind})", outcome(module.property, kind)
    there = torch.arange(6.0, device=f"cuda:{last}")
    yield "guard", str(module.guarded(there) == last and torch.cuda.current_device() == 0)
    yield "no guard", outcome(module.guarded, torch.ones(1))
    for tensor, named in ((there, False), (torch.arange(6.0, device="cuda"), True)):
        yield f"blob({named})", outcome(module.blob, tensor.data_ptr(), [2, 3], named)
    yield "blob of host memory", outcome(module.blob, torch.ones(6).data_ptr(), [2, 3], False).split(" ")[0]
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.complex64):
        yield f"scaled({dtype})", outcome(module.scaled, torch.arange(9, device="cuda").to(dtype), 1.37)
    values = torch.randn(100_000, generator=torch.Generator().manual_seed(3)).mul(200).cuda()
    for kind in range(4):
        yield f"rounded({kind})", outcome(lambda kind=kind: module.rounded(values, kind).double().sum().item())
    yield "too many threads", outcome(module.too_many_threads, there)
    yield "after it", outcome(module.scaled, torch.ones(2, device="cuda"), 2)


def nanoseconds_a_launch(module: Any) -> float:
    """CPU time of a call with four tensors that launches an empty kernel; the least of many rounds."""
    tensors = [torch.ones(8, device="cuda") for _ in range(4)]

    def call() -> None:
        module.launch(*tensors, 8, 1.0, True)

    rounds = []
    for _ in range(50):
        rounds.append(timeit.timeit(call, number=200) / 200 * 1e9)
        torch.cuda.synchronize()
    return min(rounds)


def main() -> None:
    """Print pairs of call and outcome, or with `--time` the nanoseconds of a launch."""
    sys.path.insert(0, sys.argv[1])
    import on_gpu

    print(nanoseconds_a_launch(on_gpu) if "--time" in sys.argv else json.dumps(list(_calls(on_gpu))))


if __name__ == "__main__":
    main()

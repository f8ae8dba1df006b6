"""The peak of the ranks' link, measured with the device's own collectives: what bandwidth is held against."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist

from workbench.ranks.timing import Timer

_BYTES = {"cpu": 8 << 20, "cuda": 256 << 20}
_CALLS = 9


def measure_peak(timer: Timer, world: int, device: torch.device) -> dict[str, list[int]]:
    """ns of this rank's calls by collective, S = ``peak_bytes`` of float32: {op: [ns, ...]}."""
    count = peak_bytes(world, device) // 4
    full, part = torch.ones(count, device=device), torch.ones(count // world, device=device)
    spare = torch.empty_like(full)
    calls: dict[str, Callable[[], object]] = {
        "all_gather": lambda: dist.all_gather_into_tensor(spare, part),
        "all_reduce": lambda: dist.all_reduce(spare),
        "all_to_all": lambda: dist.all_to_all_single(spare, full),
    }
    return {op: [timer.time(call, ())[1].ns for _ in range(_CALLS)] for op, call in calls.items()}


def peak_bytes(world: int, device: torch.device) -> int:
    """S in bytes of every call of ``measure_peak``."""
    return _BYTES[device.type] // 4 // world * world * 4

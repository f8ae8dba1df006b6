"""How fast a process's GPU starts small kernels one after the other.

Two processes that run the same code differ in it by up to a tenth, and each stays as it is as long as it lives. Calls
that consist of small kernels differ by as much.
"""

from __future__ import annotations

import torch

from workbench.ranks.timing import Timer

_KERNELS = 100
_ROWS, _FEWEST = 120, 8
"""All ranks make as many rows, since they begin each together; clocks rise from rest meanwhile."""
_NEAR_PEAK = 0.95
"""A row counts at no less than this share of the GPU's highest clock."""
_PATIENCE_NS = 20_000_000


def measure_pitch(timer: Timer, device: torch.device, most_mhz: int) -> int:
    """ns from one small kernel's start to the next one's, in rows of kernels that wait for each other.

    0 on the CPU, and where the clock never came near ``most_mhz``. All ranks of a set must ask for it together. The
    kernels are four of torch's own in turn, since a single one is quicker in some processes than in others of the same
    pitch (one H200, 34 processes). The quarter of the rows that was quicker counts: others may use the GPU meanwhile.
    """
    if device.type == "cpu":
        return 0
    values = torch.zeros(8, device=device)

    def row() -> None:
        for _ in range(_KERNELS // 4):
            torch.exp(values.mul(2).sub(1)).sum()

    rows = [timer.time(row, (), patience_ns=_PATIENCE_NS)[1] for _ in range(_ROWS)]
    taken = sorted(timed.ns for timed in rows if 0 < _NEAR_PEAK * most_mhz <= timed.mhz and not timed.held)
    return round(taken[len(taken) // 4] / _KERNELS) if len(taken) >= _FEWEST else 0

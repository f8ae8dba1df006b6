"""How fast a process's GPU starts small kernels one after the other.

Two processes that run the same code differ in it by up to a tenth, and each stays as it is as long as it lives. Calls
that consist of small kernels differ by as much.
"""

from __future__ import annotations

from statistics import median

import torch

from workbench.ranks.timing import Timer

_KERNELS = 300
_TIMES = 6
_PATIENCE_NS = 20_000_000
"""Launching them all takes a host some 3 ms."""


def measure_pitch(timer: Timer, device: torch.device) -> int:
    """ns from one small kernel's start to the next one's, in a row of kernels that wait for each other; 0 on the CPU.

    All ranks of a set must ask for it together. The kernels are four of torch's own in turn, since a single one is
    quicker in some processes than in others of the same pitch (one H200, 34 processes).
    """
    if device.type == "cpu":
        return 0
    values = torch.zeros(8, device=device)

    def row() -> None:
        for _ in range(_KERNELS // 4):
            torch.exp(values.mul(2).sub(1)).sum()

    taken = [timer.time(row, (), patience_ns=_PATIENCE_NS)[1].ns for _ in range(_TIMES)]
    return round(median(taken[1:]) / _KERNELS)

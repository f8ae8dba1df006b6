"""One timed call, the same for reference and candidate: align all ranks, start the clock, call, stop the clock.

The functions it needs are bound when this module is imported, before any candidate code runs, so that a candidate
that rebinds ``time.perf_counter`` or ``torch.distributed.barrier`` changes nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.ranks.device import Device
from workbench.ranks.shared import Slots


class Timer:
    """Times calls of one rank, aligned with the other ranks of its set."""

    def __init__(self, device: Device, slots: Slots, rank: int) -> None:
        self._device = device
        self._slots = slots
        self._rank = rank
        self._epoch = 0

    def call(self, solution: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, int]:
        """The result and the duration in ns."""
        device = self._device
        device.synchronize()
        self._epoch += 1
        self._slots.align(self._rank, self._epoch)
        started = device.start()
        result = solution(*arguments)
        return result, device.stop(started)

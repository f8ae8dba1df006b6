"""One call of a rank, the same for reference and candidate: aligned with all ranks of its set, clocked, and if timed
also held back by a gate until every rank is ready and has queued its work.

The functions it needs are bound when this module is imported or the timer is made, before any candidate code runs, so
that a candidate that rebinds ``time.perf_counter`` or ``torch.distributed.barrier`` changes nothing here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.ranks.device import Device
from workbench.ranks.gate import make_gate
from workbench.ranks.shared import Slots

_clock = time.perf_counter_ns

Solution = Callable[..., Any]


@dataclass(frozen=True)
class Timed:
    """What one call took on one rank."""

    ns: int
    """On the device, or by the monotonic clock on the CPU."""
    host_ns: int = 0
    """From the first mark until the call returned; 0 where calls begin when they are made."""
    mhz: int = 0
    """Clock of the multiprocessors right before; 0 where no gate measured it."""
    held: bool = False
    """Whether the gate opened before all ranks had queued their work."""
    cold: bool = False


class Timer:
    """Makes calls of one rank together with the other ranks of its set."""

    def __init__(self, device: Device, slots: Slots, rank: int) -> None:
        self._device = device
        self._slots = slots
        self._rank = rank
        self._epoch = 0
        self._gate = make_gate(device.name, slots, rank)

    def call(self, solution: Solution, arguments: Sequence[Any]) -> tuple[Any, Timed]:
        """An aligned call without a gate: on GPUs the gaps between its launches count."""
        device = self._device
        self.align()
        device.start()
        result = solution(*arguments)
        device.end()
        return result, Timed(device.elapsed())

    def time(
        self,
        solution: Solution,
        arguments: Sequence[Any],
        late: Callable[[], object] = lambda: None,
        cold: bool = False,
        patience_ns: int = 0,
    ) -> tuple[Any, Timed]:
        """A timed call. ``late`` writes the last of its values, behind the gate if it holds; ``cold``: flush caches;
        ``patience_ns``: how long the gate stays shut for hosts that have not queued their call."""
        device, gate = self._device, self._gate
        cold = cold and device.flush()
        if not gate.holds:
            late()  # each rank needs its own time for this, so that they would begin apart if it came after they met
        epoch = self.align()
        gate.shut(epoch, patience_ns)
        if gate.holds:
            late()
        device.start()
        started = _clock()
        result = solution(*arguments)
        host_ns = _clock() - started
        device.end()
        gate.queued(epoch)
        ns, seen = device.elapsed(), gate.opened()
        return result, Timed(ns, host_ns if gate.holds else 0, seen.mhz, seen.held, cold)

    def align(self) -> int:
        """Wait until all ranks of the set are here and their devices idle; which meeting it is, counting from 1."""
        self._device.synchronize()
        self._epoch += 1
        self._slots.align(self._rank, self._epoch)
        return self._epoch

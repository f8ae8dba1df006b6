"""ParallelKernelBench's way of timing on one rank: call after call without waiting, events around each.

Ranks are aligned before a series, not within, and inputs stay as they are; the first tensor argument is cloned until
its copies exceed the cache three times, and calls take the copies in turn. What is needed is bound when this module is
imported, before any candidate code runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

_clock = time.perf_counter_ns
_Event = torch.cuda.Event
_record = torch.cuda.Event.record
_wait = torch.cuda.Event.synchronize
_elapsed_ms = torch.cuda.Event.elapsed_time

CACHES = 3
"""Times the cache that the copies of the first tensor hold together at least."""
MOST_COPIES = 128

Values = Sequence[Any]


class Marks(Protocol):
    """Points in time on the device, taken without waiting for it."""

    def mark(self) -> Any:
        """The point that the device has reached when all work queued so far is done."""

    def spans(self, pairs: Sequence[tuple[Any, Any]]) -> list[int]:
        """ns between the marks of each pair; waits for the last mark."""


class _ClockMarks:
    """The monotonic clock: CPU calls are done when they return."""

    def mark(self) -> int:
        return _clock()

    def spans(self, pairs: Sequence[tuple[int, int]]) -> list[int]:
        return [end - begin for begin, end in pairs]


class _EventMarks:
    """Events on the current stream."""

    def mark(self) -> torch.cuda.Event:
        event = _Event(enable_timing=True)
        _record(event)
        return event

    def spans(self, pairs: Sequence[tuple[torch.cuda.Event, torch.cuda.Event]]) -> list[int]:
        _wait(pairs[-1][1])
        return [round(_elapsed_ms(begin, end) * 1e6) for begin, end in pairs]


MARKS: dict[str, type[Marks]] = {"cpu": _ClockMarks, "cuda": _EventMarks}
"""By type of device."""


def warm_up(solution: Callable[..., Any], variants: Sequence[Values], calls: int) -> None:
    """Calls that are not timed, with the ``variants`` of the arguments in turn."""
    for call in range(calls):
        solution(*variants[call % len(variants)])


def timed(
    solution: Callable[..., Any], variants: Sequence[Values], calls: int, restore: Callable[[], None], marks: Marks
) -> tuple[Any, list[int]]:
    """The last call's result and the ns of each call.

    Calls take the ``variants`` in turn, the last call the first of them. ``restore``, which must not wait for the
    device, undoes what calls did to arguments; it runs once, before the last call and outside its time.
    """
    result, pairs = None, []
    for left in range(calls - 1, -1, -1):
        if left == 0:
            restore()
        result = None
        begin = marks.mark()
        result = solution(*variants[left % len(variants)])
        pairs.append((begin, marks.mark()))
    return result, marks.spans(pairs)


def rotation(values: Values, cache_bytes: int) -> list[Values]:
    """The arguments, and more with a copy of the first tensor in its place while that is under three caches' size."""
    place = next((place for place, value in enumerate(values) if _is_dense(value)), None)
    if place is None:
        return [values]
    size = values[place].numel() * values[place].element_size()
    if not 0 < size < CACHES * cache_bytes:
        return [values]
    count = min(CACHES * cache_bytes // size + 1, MOST_COPIES)
    copies = [values[place].detach().clone() for _ in range(count - 1)]
    return [values, *([*values[:place], copy, *values[place + 1 :]] for copy in copies)]


def cache_bytes(device: torch.device) -> int:
    """Bytes of the device's second-level cache; 0 on the CPU, where the protocol says nothing of caches."""
    return int(torch.cuda.get_device_properties(device).L2_cache_size) if device.type == "cuda" else 0


def _is_dense(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout == torch.strided

"""One call of a solution as a CUDA graph: captured once, replayed for every timed call.

A replay reads the arguments where they lie, so it sees what was written into them since, and leaves its result where
the captured call left it. Captured collectives are recorded, not run: ranks do not wait for each other here.
"""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import torch

_MOST_WORDS = 120
_MODE = "thread_local"
"""Which calls break a capture: this thread's, not those of NCCL's watchdog."""


class NotCaptured(Exception):
    """The call cannot be a graph; the words say why."""


class CapturedCall:
    """A call whose device work was captured; itself callable in place of the solution."""

    def __init__(self, graph: torch.cuda.CUDAGraph, result: Any) -> None:
        self._replay = graph.replay
        self._result = result

    def __call__(self, *_arguments: Any) -> Any:
        """Queue the captured work; the result, which is there once it is done."""
        self._replay()
        return self._result


def capture(solution: Callable[..., Any], arguments: Sequence[Any], device: torch.device) -> CapturedCall:
    """Call once on a stream of its own, so that what is made on first use is there, then capture a call.

    Raises NotCaptured; the rank can go on with plain calls then. What the first call itself raises is passed on.
    """
    if device.type != "cuda":
        raise NotCaptured("CPU ranks have no CUDA graphs")
    stream = torch.cuda.Stream(device)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        solution(*arguments)
        torch.cuda.synchronize()
        return _captured(solution, arguments, device)


def _captured(solution: Callable[..., Any], arguments: Sequence[Any], device: torch.device) -> CapturedCall:
    """The same on the current stream, without the first call."""
    graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
    try:
        graph.capture_begin(pool=pool, capture_error_mode=_MODE)
        try:
            result = solution(*arguments)
        finally:
            graph.capture_end()
    except Exception as error:
        words = _why(error)
        del error
        _recover(graph, pool, device)
        raise NotCaptured(words) from None
    return CapturedCall(graph, result)


def _why(error: BaseException) -> str:
    """The first of a chain of errors in a few words: what ended the capture, not what its end raised after that."""
    while error.__context__ is not None:
        error = error.__context__
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return textwrap.shorten(first, _MOST_WORDS, placeholder=" ...")


def _recover(graph: torch.cuda.CUDAGraph, pool: Any, device: torch.device) -> None:
    """Give allocator and random generator back what a capture that broke off holds of them, then use the device.

    PyTorch lets go of neither; without this, memory is not reused and random numbers raise in all later calls.
    """
    graph.reset()
    index = torch.cuda.current_device() if device.index is None else device.index
    for let_go in (torch._C._cuda_endAllocateToPool, torch._C._cuda_releasePool):
        with contextlib.suppress(RuntimeError):
            let_go(index, pool)
    generator = torch.cuda.default_generators[index]
    with contextlib.suppress(RuntimeError, AttributeError):
        generator.graphsafe_set_state(torch.Generator(device).graphsafe_get_state())
    torch.cuda.synchronize()
    torch.ones(1, device=device).add_(1).item()

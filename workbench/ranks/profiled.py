"""One call under torch's profiler, as spans for the parent: operators and collectives, kernels and copies.

What it tells is the candidate process's own claim: it explains times, and decides nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

Span = tuple[str, str, int, int]
"""Name, kind, begin and end; ns from the beginning of the call."""
HOST, MESSAGE, DEVICE = "host", "message", "device"
"""Kinds: an operator that the call ran, a collective or message as its backend or its wrapper tells, work of a GPU."""
KINDS = (HOST, MESSAGE, DEVICE)
MOST_SPANS = 2000
MOST_NAME = 160
_CALL = "pkwb:call"
_MESSAGES = ("gloo:", "c10d::", "_c10d_functional::", "nccl:")


def profiled(
    prepare: Callable[[], object], call: Callable[[], object], synchronize: Callable[[], object], device: torch.device
) -> list[Span]:
    """The spans of one call, after one that only starts the profiler up; ``prepare`` runs before each, unseen."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device.type == "cuda" else [])]
    for _ in range(2):
        with profile(activities=activities) as profiler:
            prepare()
            with record_function(_CALL):
                result = call()
            synchronize()
        del result
    return _spans(profiler.events() or ())


def _spans(events: Iterable[Any]) -> list[Span]:
    events = list(events)
    begin = next((event.time_range.start for event in events if event.name == _CALL and _on_cpu(event)), 0.0)
    found = [
        (event.name[:MOST_NAME], kind, _ns(event.time_range.start - begin), _ns(event.time_range.end - begin))
        for event in events
        if (kind := _kind(event))
    ]
    return sorted(found, key=lambda span: span[2])[:MOST_SPANS]


def _ns(us: float) -> int:
    return max(0, round(us * 1e3))


def _kind(event: Any) -> str:
    """What an event is; empty for what is part of another one, and for what only names a range."""
    if not _on_cpu(event):
        return "" if getattr(event, "is_user_annotation", False) or event.name == _CALL else DEVICE
    if event.name.startswith(_MESSAGES):
        return MESSAGE
    parent = event.cpu_parent
    return HOST if parent is not None and parent.name == _CALL else ""


def _on_cpu(event: Any) -> bool:
    return str(event.device_type).endswith("CPU")

"""Read the stacks that faulthandler wrote: where a rank stands, in one line, and its line in the user's file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

_FRAME = re.compile(r'^\s+File "(?P<file>[^"]*)", line (?P<line>\d{1,9}) in (?P<function>.{1,200})')
_THREAD = re.compile(r"^(Current thread|Thread) 0x")
_COLLECTIVES = "torch/distributed/distributed_c10d.py"
_IDLE = ("workbench/ranks/candidate.py", "_serve")
_ALIGNING = ("workbench/ranks/shared.py", "align")
_DEVICE = "workbench/ranks/device.py"


@dataclass(frozen=True)
class Standing:
    """Where a rank stands: a phrase such as ``all_reduce, kernel.py:31``, and the line in the user's file or 0."""

    words: str
    line: int


@dataclass(frozen=True)
class _Frame:
    file: str
    line: int
    function: str


def standing(text: str, path: str) -> Standing:
    """Where the rank with this dump stands; ``path`` is the user's file as its frames name it."""
    threads = _threads(text)
    mine = next((frames for frames in reversed(threads) if any(frame.file == path for frame in frames)), None)
    if mine is None:
        return Standing(_outside(threads[-1] if threads else []), 0)
    place = next(index for index, frame in enumerate(mine) if frame.file == path)
    user = mine[place]
    spot = f"{PurePath(path).name}:{user.line}"
    waiting = next((frame.function for frame in mine[:place] if frame.file.endswith(_COLLECTIVES)), "")
    return Standing(f"{waiting}, {spot}" if waiting else f"{user.function}, {spot}", user.line)


def _threads(text: str) -> list[list[_Frame]]:
    """The frames of each thread, innermost first; the main thread comes last."""
    threads: list[list[_Frame]] = []
    for line in text.splitlines():
        if _THREAD.match(line):
            threads.append([])
        elif threads and (found := _FRAME.match(line)):
            threads[-1].append(_Frame(found["file"], int(found["line"]), found["function"]))
    return threads


def _outside(frames: list[_Frame]) -> str:
    for frame in frames:
        if frame.file.endswith(_DEVICE):
            return "returned, waits for its GPU"
        if frame.file.endswith(_ALIGNING[0]) and frame.function == _ALIGNING[1]:
            return "waits for the other ranks before a timed call"
        if frame.file.endswith(_IDLE[0]) and frame.function == _IDLE[1]:
            return "returned"
    return "no stack could be taken" if not frames else "outside the file"

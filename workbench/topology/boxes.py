"""Boxes of devices side by side, with the line below them that joins them to their trunk."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass

from workbench.topology.live import Live
from workbench.topology.model import Device

Texts = tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """One line of a block; ``bus`` lines are joined to the trunk at their left."""

    text: str
    bus: bool = False


def device_rows(devices: list[Device], width: int, hanging: frozenset[str], live: Live) -> list[Line]:
    """Boxes side by side, as many as fit; each row has its bus below when its devices hang on a trunk."""
    texts = _level([(*_texts(device), *_live(device, live)) for device in devices])
    lines: list[Line] = []
    brief = [(name.removeprefix("rank "), *rest) for name, _, *rest in texts]
    if _rows(brief, width) < _rows(texts, width) and len({text[1] for text in texts}) == 1:
        lines, texts = [Line(text) for text in textwrap.wrap(f"ranks, {texts[0][1]} each", width)], brief
    beside = math.ceil(len(devices) / _rows(texts, width))
    for start in range(0, len(devices), beside):
        joined = [device.name in hanging for device in devices[start : start + beside]]
        lines += _row(texts[start : start + beside], joined, min(_longest(texts), width - 4))
    return lines


def _live(device: Device, live: Live) -> Texts:
    return tuple(live.get(device.rank, ())) if device.rank is not None else ()


def _level(texts: list[Texts]) -> list[Texts]:
    """All boxes as high as the highest."""
    height = max(map(len, texts), default=0)
    return [(*text, *[""] * (height - len(text))) for text in texts]


def _rows(texts: list[Texts], width: int) -> int:
    """Rows of boxes, as many side by side as fit."""
    return math.ceil(len(texts) / max(1, (width + 1) // (_longest(texts) + 5)))


def _longest(texts: list[Texts]) -> int:
    return max(len(text) for box in texts for text in box)


def _texts(device: Device) -> Texts:
    """The two lines in a device's box: its rank, and what it is."""
    if device.kind == "cpu":
        detail = f"{device.cores} core{'s' if device.cores != 1 else ''}" if device.cores else device.model
    else:
        memory = f"{device.memory_bytes / 1e9:.0f} GB" if device.memory_bytes else ""
        detail = " ".join(filter(None, (device.model, memory)))
    name = device.name if device.rank is None else f"rank {device.rank}"
    return name, detail or device.name


def _row(texts: list[Texts], joined: list[bool], inner: int) -> list[Line]:
    side, middle = "─" * (inner + 2), (inner + 2) // 2
    foot = "─" * middle + "┬" + "─" * (inner + 1 - middle)
    lines = [Line(" ".join(f"┌{side}┐" for _ in texts))]
    lines += [Line(" ".join(f"│ {cut(text, inner):{inner}} │" for text in part)) for part in zip(*texts, strict=True)]
    lines.append(Line(" ".join(f"└{foot if hangs else side}┘" for hangs in joined)))
    if any(joined):
        lines.append(Line(_bus(joined, inner + 5, middle + 1), bus=True))
    return lines


def _bus(joined: list[bool], step: int, drop: int) -> str:
    """The line below a row of boxes, from the left to the last box that hangs on it."""
    drops = [place * step + drop for place, hangs in enumerate(joined) if hangs]
    return "".join("┷" if column in drops else "━" for column in range(drops[-1])) + "┙"


def cut(text: str, width: int) -> str:
    """A text in at most ``width`` cells."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"

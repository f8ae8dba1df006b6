"""What goes on at the ranks' links, beside a drawing."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

Live = Mapping[int, Sequence[str]]
"""Short lines about what goes on at a rank's links, by rank."""
NOTHING: Live = {}


def live_list(live: Live, width: int) -> list[str]:
    """One line a rank, for drawings that have no room for them; where it is too wide, one for each of its texts."""
    room = max((len(str(rank)) for rank in live), default=0)
    return [line for rank, texts in sorted(live.items()) for line in _told(f"rank {rank:<{room}}", texts, width)]


def _told(head: str, texts: Sequence[str], width: int) -> list[str]:
    line = "  ".join((head, *texts))
    if len(line) <= width:
        return [line]
    return [head, *(part for text in texts for part in textwrap.wrap(f"  {text}", width, subsequent_indent="    "))]

"""What goes on at the ranks' links, beside a drawing."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

Live = Mapping[int, Sequence[str]]
"""Short lines about what goes on at a rank's links, by rank."""
NOTHING: Live = {}
_FIRM = "\N{NO-BREAK SPACE}"


def live_list(live: Live, width: int) -> list[str]:
    """One line a rank, for drawings that have no room for them; wrapped between texts, never within one that fits."""
    room = max((len(str(rank)) for rank in live), default=0)
    return [line for rank, texts in sorted(live.items()) for line in _told(f"rank {rank:<{room}}", texts, width)]


def _told(head: str, texts: Sequence[str], width: int) -> list[str]:
    whole = "  ".join(text.replace(" ", _FIRM) for text in (head, *texts))
    return [line.replace(_FIRM, " ") for line in textwrap.wrap(whole, width, subsequent_indent="  ")]

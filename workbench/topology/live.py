"""What goes on at the ranks' links, beside a drawing."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

Live = Mapping[int, Sequence[str]]
"""Short lines about what goes on at a rank's links, by rank."""
NOTHING: Live = {}


def live_list(live: Live, width: int) -> list[str]:
    """One line a rank, for drawings that have no room for them."""
    room = max((len(str(rank)) for rank in live), default=0)
    told = {rank: "  ".join(lines) for rank, lines in sorted(live.items())}
    lines = (
        textwrap.wrap(f"rank {rank:<{room}}  {text}", width, subsequent_indent="  ") for rank, text in told.items()
    )
    return [line for wrapped in lines for line in wrapped]

from __future__ import annotations

from typing import Any


def inputs(case: Any) -> dict[str, Any]:
    """As many ids as the lengths add up to; features for each rank in turn: 1, 2, 3, 1, ..."""
    values = case.integers("values", 0, 1_000_000, int(case.drawn["lengths"].sum()))
    return {"values": values, "key_splits": [1 + rank % 3 for rank in range(case.world)]}

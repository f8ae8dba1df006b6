from __future__ import annotations

from typing import Any


def inputs(case: Any) -> dict[str, Any]:
    """Equal splits; the last one takes what is left."""
    rows, world = case.size.M, case.world
    splits = [rows // world] * (world - 1)
    splits.append(rows - sum(splits))
    return {"input_split_sizes": splits, "output_split_sizes": list(splits)}

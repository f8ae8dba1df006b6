from __future__ import annotations

from typing import Any

import torch


def inputs(case: Any) -> dict[str, Any]:
    """Lengths, as many ids as they add up to, and features for each rank in turn: 1, 2, 3, 1, ...

    Published lengths are independent; judged ones, in random order, hold each of 5 .. 20 equally often.
    """
    count = case.size.F * case.size.B
    even = torch.arange(5, 21).repeat(count // 16)
    lengths = case.integers("lengths", 5, 21, count)
    if not case.stock:
        lengths = even[torch.randperm(count, generator=case.generator("order"))]
    values = case.integers("values", 0, 1_000_000, int(lengths.sum()))
    return {"lengths": lengths, "values": values, "key_splits": [1 + rank % 3 for rank in range(case.world)]}

from __future__ import annotations

from typing import Any

import torch


def inputs(case: Any) -> dict[str, Any]:
    """Equal splits of K*M rows, and for published values a mask with K different experts for each token."""
    size = case.size
    splits = [size.K * size.M // case.world] * case.world
    values: dict[str, Any] = {"input_splits": splits, "output_splits": list(splits)}
    if case.stock:
        order = case.uniform("experts", size.M, size.E, dtype=torch.float32).argsort(dim=1)[:, : size.K]
        values["expert_mask"] = torch.nn.functional.one_hot(order, size.E).permute(2, 1, 0).float().contiguous()
    return values

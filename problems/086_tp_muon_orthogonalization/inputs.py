from __future__ import annotations

from typing import Any

import torch


def inputs(case: Any) -> dict[str, Any]:
    """Normal values with a mean that grows with the rank."""
    x = case.normal("x", case.size.R, case.size.Lc, dtype=torch.bfloat16)
    return {"x": x + 0.01 * case.rank}

from __future__ import annotations

from typing import Any

import torch


def inputs(case: Any) -> dict[str, Any]:
    """beta went through a sigmoid in bfloat16, whatever the run's dtype."""
    size = case.size
    return {"beta": case.normal("beta", 1, size.L, size.H, dtype=torch.bfloat16).sigmoid().to(case.dtype)}

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F


def inputs(case: Any) -> dict[str, Any]:
    """Rows of noise with unit length, drawn and normalised in bfloat16."""
    size = case.size
    shapes = {"test": (size.Q, size.D), "train": (size.Nt, size.D)}
    rows = {name: F.normalize(case.normal(name, *shape, dtype=torch.bfloat16)) for name, shape in shapes.items()}
    return {
        "test_features_rank": rows["test"].to(case.dtype),
        "train_features_rank_T": rows["train"].to(case.dtype).T.contiguous(),
    }

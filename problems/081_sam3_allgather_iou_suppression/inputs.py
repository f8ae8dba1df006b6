from __future__ import annotations

from typing import Any

import torch


def inputs(case: Any) -> dict[str, Any]:
    """The object counts of all ranks; in published trials also striped noise, scores and frames."""
    shift = case.trial if case.stock else 0
    counts = [1 + (rank + shift) % 3 for rank in range(case.world)]
    if not case.stock:
        return {"num_obj_per_gpu": counts}
    own, side = counts[case.rank], case.size.side
    index = torch.arange(side)
    diagonal = index + index.unsqueeze(1) + torch.arange(own).view(-1, 1, 1) + case.rank
    noise = case.normal("masks", own, side, side)
    return {
        "low_res_masks_local": noise + 4.0 * (diagonal % 5 == 0).to(noise.dtype) - 1.0,
        "obj_scores_local": torch.linspace(-5, 5, own, dtype=case.dtype),
        "num_obj_per_gpu": counts,
        "last_occluded": torch.arange(sum(counts)) % 5 - 1,
    }

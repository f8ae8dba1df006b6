from __future__ import annotations

from typing import Any

import torch


def inputs(case: Any) -> dict[str, Any]:
    """Each of a token's K slots has any of the E experts; one slot may repeat the other's."""
    size = case.size
    chosen = case.integers("experts", 0, size.E, size.M, size.K)
    mask = torch.nn.functional.one_hot(chosen, size.E).permute(2, 1, 0)
    return {"expert_mask": mask.float().contiguous()}

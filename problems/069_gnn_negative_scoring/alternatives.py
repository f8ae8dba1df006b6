from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.gathers import all_gather_along, all_gather_rows


def alternatives(
    local_pos_scores: torch.Tensor, local_neg_scores: torch.Tensor, group: dist.ProcessGroup | None
) -> tuple[tuple[torch.Tensor, torch.Tensor]]:
    """A positive may stand before or behind negatives that equal it, or that a last bit of the sigmoid sets apart."""
    dtype = local_pos_scores.dtype
    slack = 4 * torch.finfo(dtype if dtype == torch.float64 else torch.float32).eps
    positives, negatives = (x.double().sigmoid() for x in (local_pos_scores.unsqueeze(1), local_neg_scores))
    least, most = ((negatives * (1 + sign * slack)).to(dtype) for sign in (-1, 1))
    low, high = ((positives * (1 + sign * slack)).to(dtype) for sign in (-1, 1))
    best, worst = (least > high).sum(1) + 1, (most >= low).sum(1) + 1
    lengths = all_gather_along(torch.tensor([best.numel()], device=best.device), 0, group).tolist()
    low_place, high_place = all_gather_rows(torch.stack((best, worst), dim=1), lengths, group).unbind(1)
    return ((low_place, high_place),)

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from problems.common.gathers import all_gather_rows


def _overlaps(masks: torch.Tensor) -> torch.Tensor:
    """Intersection over union of the positive pixels of every pair of masks, (n, n)."""
    inside = (masks > 0).flatten(1).float()
    inter = inside @ inside.T
    area = inside.sum(dim=1)
    return inter / (area.unsqueeze(1) + area - inter).clamp(min=1)


def _suppressed(overlap: torch.Tensor, last: torch.Tensor, reverse: bool) -> torch.Tensor:
    """The object of each overlapping pair that was occluded later, if the other one ever was."""
    row, column = last.unsqueeze(1), last.unsqueeze(0)
    later = row < column if reverse else row > column  # i against j
    pairs = overlap.triu(1)
    first = pairs & later & (column > -1)
    second = pairs & later.T & (row > -1)
    return first.any(dim=1) | second.any(dim=0)


@torch.no_grad()
def solution(
    low_res_masks_local: torch.Tensor,
    obj_scores_local: torch.Tensor,
    num_obj_per_gpu: Sequence[int],
    last_occluded: torch.Tensor,
    iou_threshold: float = 0.7,
    reverse: bool = False,
    group: dist.ProcessGroup | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All masks with the suppressed ones at -10, all scores, and which objects are suppressed."""
    own = num_obj_per_gpu[dist.get_rank(group)]
    if len(low_res_masks_local) != own or len(obj_scores_local) != own:
        raise ValueError(f"this rank must have {own} masks and scores")
    masks = all_gather_rows(low_res_masks_local.float(), num_obj_per_gpu, group)
    scores = all_gather_rows(obj_scores_local.float(), num_obj_per_gpu, group)
    if len(masks) <= 1:
        return masks, scores, torch.zeros_like(scores, dtype=torch.bool)
    suppressed = _suppressed(_overlaps(masks) >= iou_threshold, last_occluded, reverse)
    masks[suppressed] = -10.0
    return masks, scores, suppressed

"""Problem 81: every pair of objects compared with sets of pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> tuple[torch.Tensor, ...]:
    """Masks with the suppressed ones overwritten, scores, suppressed."""
    masks, scores = (torch.cat([arguments[i].double() for arguments in everybody]) for i in (0, 1))
    _, _, _, last, threshold, _, _ = everybody[rank]
    frames = last.tolist()
    pixels = [set(mask.flatten().gt(0).nonzero().flatten().tolist()) for mask in masks]
    suppressed = torch.zeros(len(masks), dtype=torch.bool)
    for i, one in enumerate(pixels):
        for j, other in enumerate(pixels):
            overlaps = i != j and len(one & other) >= threshold * max(1, len(one | other))
            if overlaps and frames[i] > frames[j] > -1:
                suppressed[i] = True
    masks = masks.clone()
    masks[suppressed] = -10
    return masks, scores, suppressed

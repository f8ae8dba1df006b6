"""Quantisation block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """Codes and scales of all ranks' rows; in float32, since codes follow its rounding."""
    block_size = everybody[rank][1]
    codes, scales = [], []
    for row in torch.cat([arguments[0].float() for arguments in everybody]):
        for block in torch.split(row, block_size):
            scale = torch.linalg.vector_norm(block, torch.inf) / 448
            scales.append(scale)
            codes.append((block / scale if scale > 0 else block).to(torch.float8_e4m3fn))
    rows = sum(len(arguments[0]) for arguments in everybody)
    return torch.cat(codes).view(rows, -1), torch.stack(scales).view(rows, -1)

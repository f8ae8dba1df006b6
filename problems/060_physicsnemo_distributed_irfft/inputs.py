from __future__ import annotations

from typing import Any

import torch


def inputs(case: Any) -> dict[str, Any]:
    """This rank's rows of the half spectra of real normal images; tuples for lengths and dimensions."""
    size = case.size
    images = case.normal("images", size.B, size.C, size.H, size.W, dtype=torch.float32, same=0)
    rows = torch.fft.rfft2(images, norm="ortho").chunk(case.world, dim=2)[case.rank]
    return {"x": rows.contiguous(), "s": (size.H, size.W), "dim": (-2, -1)}

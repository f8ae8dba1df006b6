"""Problem 59: the library's transform of whole images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """This rank's rows of the half spectrum."""
    images = torch.cat([arguments[0].double() for arguments in everybody], dim=2)
    spectra: torch.Tensor = torch.fft.rfft2(images, norm="ortho")
    return spectra.chunk(len(everybody), dim=1)[rank]

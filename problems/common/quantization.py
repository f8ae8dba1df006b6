"""Quantisation whose codes do not depend on the device: exact quotients, fp8 with a history of largest values."""

from __future__ import annotations

import torch


def exact_quotient(values: torch.Tensor, divisor: float) -> torch.Tensor:
    """``values / divisor``, rounded once; for a number, CUDA would multiply with its rounded reciprocal."""
    return values / torch.full_like(values, divisor)


def through_fp8(x: torch.Tensor, amax_history: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What e4m3 codes leave of ``x``, and the history with the largest value of ``x`` at its end.

    The largest entry of the new history becomes the code 448.
    """
    peak = x.abs().amax().to(amax_history.dtype)
    history = torch.cat((amax_history[1:], peak.view(1)))
    scale = exact_quotient(history.amax().clamp(min=1e-12).float(), 448)
    codes = (x.float() / scale).to(torch.float8_e4m3fn)
    return (codes.float() * scale).to(x.dtype), history

"""The Kalman step with one gain for all blocks of all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """All weights, this rank's covariances and the next lambda."""
    lam, nue = everybody[rank][4:]
    spread = sum(
        lam + (h.T @ covariance @ h).item()
        for H, _, _, P, _, _ in everybody
        for h, covariance in zip(H, P, strict=True)
    )
    weights = [
        w + error / spread * covariance @ h
        for H, error, w_blocks, P, _, _ in everybody
        for h, w, covariance in zip(H, w_blocks, P, strict=True)
    ]
    H, _, _, P, _, _ = everybody[rank]
    covariances = [(c - c @ h @ h.T @ c.T / spread) / lam for h, c in zip(H, P, strict=True)]
    return weights, covariances, everybody[rank][1] * 0 + nue * lam + 1 - nue

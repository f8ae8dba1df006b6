from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.gathers import all_gather_along


def _all_blocks(blocks: list[torch.Tensor]) -> list[torch.Tensor]:
    """The blocks (length, 1) of all ranks, by rank, then by block."""
    lengths = torch.tensor([len(block) for block in blocks], device=blocks[0].device)
    cuts = all_gather_along(lengths, 0).tolist()
    return list(torch.split(all_gather_along(torch.cat(blocks), 0), cuts))


@torch.no_grad()
def solution(
    H: list[torch.Tensor],
    error: torch.Tensor,
    weights: list[torch.Tensor],
    P: list[torch.Tensor],
    kalman_lambda: float,
    kalman_nue: float = 0.9987,
) -> tuple[list[torch.Tensor], list[torch.Tensor], torch.Tensor]:
    """All ranks' weights after one step, this rank's covariances and the next lambda; updates the lists."""
    lam = torch.full((), kalman_lambda, dtype=weights[0].dtype, device=weights[0].device)
    K = [covariance @ gradient for covariance, gradient in zip(P, H, strict=True)]  # (b, 1) each
    total = sum((lam + gradient.mT @ gain for gradient, gain in zip(H, K, strict=True)), torch.zeros_like(lam))
    dist.all_reduce(total)
    A = 1 / total  # (1, 1)
    for i, gain in enumerate(K):
        weights[i] = weights[i] + A * error * gain
        P[i] = (P[i] - A * gain @ gain.mT) / lam
    return _all_blocks(weights), P, kalman_nue * lam + 1 - kalman_nue

from __future__ import annotations

import torch
import torch.distributed as dist

_COEFFICIENTS = {
    "simple": ((3.4445, -4.7750, 2.0315),),
    "quintic": (
        (4.0848, -6.8946, 2.9270),
        (3.9505, -6.3029, 2.6377),
        (3.7418, -5.5913, 2.3037),
        (2.8769, -3.1427, 1.2046),
        (2.8366, -3.0525, 1.2012),
    ),
    "polar_express": (
        (8.2051, -22.9019, 16.4607),
        (4.0664, -2.8612, 0.5184),
        (3.9096, -2.8234, 0.5250),
        (3.2856, -2.4647, 0.5074),
        (2.2779, -1.6447, 0.4162),
        (1.8726, -1.2307, 0.3585),
        (1.8564, -1.2132, 0.3568),
        (1.8750, -1.2500, 0.3750),
    ),
    "aol": (
        (4.0098, -7.0585, 2.4635),
        (3.4585, -5.5479, 2.5959),
        (2.7573, -3.2939, 1.4254),
        (2.7215, -3.0494, 1.3169),
    ),
}


def _step(X: torch.Tensor, coefficients: tuple[float, float, float], group: dist.ProcessGroup | None) -> torch.Tensor:
    """a X + (b G + c G^2) X, with G = X X^T summed over the ranks' columns."""
    a, b, c = coefficients
    G = X @ X.mT
    dist.all_reduce(G, group=group)
    return torch.addmm(X, torch.addmm(G, G, G, beta=b, alpha=c), X, beta=a)


@torch.no_grad()
def solution(
    x: torch.Tensor,
    steps: int = 5,
    coefficient_type: str = "quintic",
    partition_dim: int = 1,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """This rank's part of the orthogonalised matrix, in the shape and dtype of x."""
    series = _COEFFICIENTS[coefficient_type]
    if x.dim() != 2 or partition_dim not in (0, 1) or steps % len(series):
        raise ValueError("x must be a matrix, partition_dim 0 or 1, and steps a multiple of the coefficients")
    X = (x if partition_dim else x.mT).float()
    squares = X.square().sum()
    dist.all_reduce(squares, group=group)
    X = X / squares.sqrt().clamp(min=1e-7)
    for step in range(steps):
        X = _step(X, series[step % len(series)], group)
    return (X if partition_dim else X.mT).to(x.dtype).contiguous()

from __future__ import annotations

import torch
import torch.distributed as dist

# The numbers of the odd polynomial of each step: all a, all b, all c.
_COEFFICIENTS = {
    "simple": ((3.4445,), (-4.775,), (2.0315,)),
    "quintic": (
        (4.0848, 3.9505, 3.7418, 2.8769, 2.8366),
        (-6.8946, -6.3029, -5.5913, -3.1427, -3.0525),
        (2.927, 2.6377, 2.3037, 1.2046, 1.2012),
    ),
    "polar_express": (
        (8.2051, 4.0664, 3.9096, 3.2856, 2.2779, 1.8726, 1.8564, 1.875),
        (-22.9019, -2.8612, -2.8234, -2.4647, -1.6447, -1.2307, -1.2132, -1.25),
        (16.4607, 0.5184, 0.525, 0.5074, 0.4162, 0.3585, 0.3568, 0.375),
    ),
    "aol": (
        (4.0098, 3.4585, 2.7573, 2.7215),
        (-7.0585, -5.5479, -3.2939, -3.0494),
        (2.4635, 2.5959, 1.4254, 1.3169),
    ),
}


def _step(X: torch.Tensor, a: float, b: float, c: float, group: dist.ProcessGroup | None) -> torch.Tensor:
    """a X + (b G + c G^2) X, with G = X X^T summed over the ranks' columns."""
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
    series = list(zip(*_COEFFICIENTS[coefficient_type], strict=True))
    if x.dim() != 2 or partition_dim not in (0, 1) or steps % len(series):
        raise ValueError("x must be a matrix, partition_dim 0 or 1, and steps a multiple of the coefficients")
    X = (x if partition_dim else x.mT).float()
    squares = X.square().sum()
    dist.all_reduce(squares, group=group)
    X = X / squares.sqrt().clamp(min=1e-7)
    for step in range(steps):
        X = _step(X, *series[step % len(series)], group)
    return (X if partition_dim else X.mT).to(x.dtype).contiguous()

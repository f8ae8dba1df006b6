"""What each problem's statement asks for, computed in one process from all ranks' arguments, without any collective."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

Arguments = Sequence[Sequence[Any]]
"""The arguments of every rank."""


def expected(number: int, everybody: Arguments, rank: int) -> Any:
    """A rank's result; in float64 where values are computed, as they are where they only move."""
    return _ORACLES[number](everybody, rank)


def _total(everybody: Arguments) -> torch.Tensor:
    return sum(arguments[0].double() for arguments in everybody)  # type: ignore[return-value]


def _stack(everybody: Arguments) -> torch.Tensor:
    return torch.stack([arguments[0] for arguments in everybody])


def _norm(everybody: Arguments, rank: int) -> torch.Tensor:
    rows = torch.cat([arguments[0].double() for arguments in everybody], dim=1)
    own, weight, epsilon = everybody[rank]
    return own.double() / (rows.square().mean(1, keepdim=True) + epsilon).sqrt() * weight.double()


def _training_step(everybody: Arguments, rank: int) -> tuple[torch.Tensor, ...]:
    batch, wanted = (torch.cat([arguments[i].double() for arguments in everybody]) for i in (0, 1))
    parameters = [value.double().requires_grad_() for value in everybody[0][2:6]]
    W1, b1, W2, b2 = parameters
    loss = F.mse_loss(F.linear(F.linear(batch, W1, b1).relu(), W2, b2), wanted)
    gradient, weights = (
        torch.cat([item.detach().flatten() for item in items])
        for items in (torch.autograd.grad(loss, parameters), parameters)
    )
    first, second = (torch.cat([arguments[i].double() for arguments in everybody]) for i in (6, 7))
    lr, beta1, beta2, eps, step = everybody[rank][8:]
    first = beta1 * first + (1 - beta1) * gradient
    second = beta2 * second + (1 - beta2) * gradient**2
    weights = weights - lr * (first / (1 - beta1**step)) / ((second / (1 - beta2**step)).sqrt() + eps)
    pieces = torch.split(weights, [item.numel() for item in parameters])
    shaped = [piece.view(item.shape) for piece, item in zip(pieces, parameters, strict=True)]
    return (*shaped, first.chunk(len(everybody))[rank], second.chunk(len(everybody))[rank])


def _attention(everybody: Arguments, rank: int) -> torch.Tensor:
    q, k, v = (torch.cat([a[i].double() for a in everybody], dim=1).transpose(1, 2) for i in range(3))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.transpose(1, 2).chunk(len(everybody), dim=1)[rank]


def _sampling(everybody: Arguments, rank: int) -> tuple[torch.Tensor, ...]:
    seeds, fanouts, pointer, _, owner, _, _ = everybody[rank]
    pointers, owners = pointer.tolist(), owner.tolist()
    columns = [arguments[3].tolist() for arguments in everybody]
    nodes = frontier = seeds.tolist()
    rows: list[int] = []
    askers: list[int] = []
    edges: list[int] = []
    for fanout in fanouts:
        found = []
        for node in frontier:
            picked = range(pointers[node], min(pointers[node] + fanout, pointers[node + 1]))
            found += [(columns[owners[node]][edge], node, edge) for edge in picked]
        known = len(nodes)
        nodes = list(dict.fromkeys(nodes + [pick for pick, _, _ in found]))
        frontier = nodes[known:]
        rows += [pick for pick, _, _ in found]
        askers += [asker for _, asker, _ in found]
        edges += [edge for _, _, edge in found]
    place = {node: index for index, node in enumerate(nodes)}
    lists = (nodes, [place[node] for node in rows], [place[node] for node in askers], edges)
    return tuple(torch.tensor(items, dtype=torch.int64) for items in lists)


def _cross_entropy(everybody: Arguments, rank: int) -> torch.Tensor:
    logits = torch.cat([arguments[0].double() for arguments in everybody], dim=-1)
    target = everybody[rank][1]
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none").view(target.shape)


_ORACLES: Mapping[int, Callable[[Arguments, int], Any]] = {
    1: lambda everybody, rank: _total(everybody),
    2: lambda everybody, rank: _stack(everybody),
    3: lambda everybody, rank: everybody[0][0],
    4: lambda everybody, rank: _total(everybody) if rank == 0 else everybody[rank][0].double(),
    5: lambda everybody, rank: everybody[0][0][rank],
    6: lambda everybody, rank: _stack(everybody) if rank == 0 else everybody[rank][0],
    7: lambda everybody, rank: _total(everybody).chunk(len(everybody))[rank],
    8: lambda everybody, rank: torch.stack([arguments[0][rank] for arguments in everybody]),
    13: lambda everybody, rank: sum(a.double() @ b.double() for a, b in everybody),
    18: _norm,
    42: _training_step,
    54: _attention,
    64: _sampling,
    73: _cross_entropy,
}

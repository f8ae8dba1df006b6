"""Steps of expert-parallel mixture-of-experts layers: the router, the way of rows to the experts, and the way back.

Expert e lives on rank e // n_local of the group, n_local experts a rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
import torch.nn.functional as F

from problems.common.exchange import counts_of, exchange_rows


def route(
    tokens: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, top_k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights and experts of each token's top_k choices, (tokens, top_k) both; the weights are not renormalised."""
    probabilities = F.linear(tokens, weight, bias).softmax(dim=-1)
    chosen = probabilities.topk(top_k, dim=-1)
    return chosen.values, chosen.indices


def gathered_counts(counts: torch.Tensor, group: dist.ProcessGroup | None) -> torch.Tensor:
    """Every rank's number of rows for each expert, (P, experts); ``counts`` is this rank's, (experts,)."""
    every = counts.new_empty(dist.get_world_size(group) * counts.numel())
    dist.all_gather_into_tensor(every, counts.contiguous(), group=group)
    return every.view(-1, counts.numel())


def regrouped(rows: torch.Tensor, sizes: Sequence[Sequence[int]]) -> torch.Tensor:
    """Chunks of ``sizes[a][b]`` rows, stored a by a, put in the order b by b (and a by a within each b)."""
    inner = len(sizes[0])
    if min(len(sizes), inner) == 1:
        return rows
    chunks = torch.split(rows, [size for line in sizes for size in line])
    return torch.cat([chunk for b in range(inner) for chunk in chunks[b::inner]])


def turned(sizes: Sequence[Sequence[int]]) -> list[list[int]]:
    """The transposed table of sizes: what undoes ``regrouped``."""
    return [list(column) for column in zip(*sizes, strict=True)]


class Journey(NamedTuple):
    """How the rows of one rank's tokens went to the experts."""

    pair: torch.Tensor
    """For each row sent, its place token * top_k + choice; rows go by expert, then by token."""
    sent: list[int]
    """Rows to each rank."""
    counts: list[list[int]]
    """Rows from each rank for each of this rank's experts, (P, n_local)."""

    @property
    def received(self) -> list[int]:
        """Rows from each rank."""
        return [sum(line) for line in self.counts]


def plan(experts: torch.Tensor, num_experts: int, group: dist.ProcessGroup | None) -> Journey:
    """Where the rows for the chosen experts (tokens, top_k) go, and what comes here: one all-gather of the counts."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    flat = experts.reshape(-1)
    own = counts_of(flat, num_experts)
    every = gathered_counts(own, group).view(world, world, -1)  # (source, owner, local expert)
    # One copy to the host: the split sizes of both exchanges.
    sent, counts = own.view(world, -1).sum(1), every[:, rank]
    numbers = torch.cat((sent, counts.reshape(-1))).tolist()
    width = counts.shape[1]
    table = [numbers[start : start + width] for start in range(world, len(numbers), width)]
    return Journey(flat.argsort(stable=True), numbers[:world], table)


def through_experts(
    tokens: torch.Tensor,
    weights: torch.Tensor,
    experts: torch.Tensor,
    num_experts: int,
    run: Callable[[torch.Tensor], torch.Tensor],
    group: dist.ProcessGroup | None,
) -> torch.Tensor:
    """Each token's sum over its experts of weight * result, (tokens, width); ``run`` is what this rank's experts do.

    Each product is rounded to the tokens' dtype before the sum.
    """
    journey = plan(experts, num_experts, group)
    token = journey.pair // experts.shape[1]
    arrived = _sent_round(tokens[token], journey.sent, journey.received, group)
    results = run(regrouped(arrived, journey.counts))
    returned = regrouped(results, turned(journey.counts))
    returned = _sent_round(returned, journey.received, journey.sent, group)
    weighted = returned * weights.reshape(-1)[journey.pair].unsqueeze(1)
    return torch.zeros_like(tokens).index_add_(0, token, weighted)


def swiglu_experts(
    tokens: torch.Tensor,
    gate_weight: torch.Tensor,
    gate_bias: torch.Tensor | None,
    gate_proj: torch.nn.Linear,
    up_proj: torch.nn.Linear,
    down_proj: torch.nn.Linear,
    num_experts: int,
    top_k: int,
    group: dist.ProcessGroup | None,
) -> torch.Tensor:
    """The mixture's output for this rank's tokens, (tokens, N); all experts of a rank are its one SwiGLU MLP."""
    weights, experts = route(tokens, gate_weight, gate_bias, top_k)

    def mlp(rows: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = down_proj(F.silu(gate_proj(rows)) * up_proj(rows))
        return result

    return through_experts(tokens, weights, experts, num_experts, mlp, group)


def _sent_round(
    rows: torch.Tensor, sent: Sequence[int], received: Sequence[int], group: dist.ProcessGroup | None
) -> torch.Tensor:
    """The exchange of rows; a group of one rank keeps its own."""
    return exchange_rows(rows, sent, received, group) if len(sent) > 1 else rows

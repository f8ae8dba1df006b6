"""Logits of a vocabulary that is split over ranks: whole rows by all-to-all, and the filters top-k and top-p."""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F

from problems.common.gathers import all_gather_along
from problems.common.heads import redistribute

FLOAT32_SLACK = 4 * torch.finfo(torch.float32).eps
"""What float32 arithmetic may be off by, relative to its operands."""


def token_chunks(tokens: int, size: int, group: dist.ProcessGroup | None) -> list[slice]:
    """Runs of ``size`` tokens, the last one maybe shorter. ValueError where ranks cannot share them evenly."""
    world = dist.get_world_size(group)
    if tokens % world or size % world:
        raise ValueError(f"{tokens} tokens in chunks of {size} cannot be shared by {world} ranks")
    return [slice(start, min(start + size, tokens)) for start in range(0, tokens, size)]


def own_share(x: torch.Tensor, group: dist.ProcessGroup | None) -> torch.Tensor:
    """The elements (first dimension) of this rank's share of the tokens."""
    return x.chunk(dist.get_world_size(group))[dist.get_rank(group)]


def whole_rows(logits: torch.Tensor, group: dist.ProcessGroup | None) -> torch.Tensor:
    """(n, V/P) logits of n tokens on every rank -> (n/P, V) of this rank's share of the tokens."""
    return redistribute(logits, 0, 1, group)


def filtered(logits: torch.Tensor, kept: torch.Tensor | None) -> torch.Tensor:
    """The logits with -inf wherever the mask drops them."""
    return logits if kept is None else logits.masked_fill(~kept, float("-inf"))


def keep_mask(logits: torch.Tensor, top_k: int | None, top_p: float | None) -> torch.Tensor | None:
    """Which entries of each row (tokens, V) pass both filters; None where neither is on.

    top-k keeps what is at least the k-th largest, ties included. top-p then drops the smallest entries whose
    probabilities add up to 1 - top_p or less; the sum runs in the logits' dtype, and the largest entry always stays.
    """
    size = min(top_k, logits.shape[-1]) if top_k is not None and top_k > 0 else None
    if top_p is None or top_p >= 1:
        return None if size is None else logits >= logits.topk(size, dim=-1).values[:, -1:]
    ascending, order = logits.sort(dim=-1)
    if size is not None:
        ascending = filtered(ascending, ascending >= ascending[:, -size, None])
    inside = ascending.softmax(dim=-1).cumsum(dim=-1) > 1 - top_p
    inside[:, -1] = True
    return torch.zeros_like(inside).scatter_(-1, order, inside)


def token_log_probs(
    logits: torch.Tensor,
    target: torch.Tensor,
    top_k: int | None,
    top_p: float | None,
    group: dist.ProcessGroup | None,
) -> torch.Tensor:
    """Log-probability (float32) of every token's target among the entries that the filters keep; -inf if dropped.

    ``logits`` (n, V/P) is this rank's part of the vocabulary; ``target`` and the result (n,) are the same on all ranks.
    """
    rows = whole_rows(logits, group)
    log_probs = F.log_softmax(filtered(rows, keep_mask(rows, top_k, top_p)).float(), dim=-1)
    own = log_probs.gather(1, own_share(target, group).unsqueeze(1)).squeeze(1)
    return all_gather_along(own, 0, group)


def raised_targets(logits: torch.Tensor, target: torch.Tensor, rank: int, by: float) -> torch.Tensor:
    """The (batch, sequence, V/P) logits of one rank with ``by`` added at each target that lies in its part."""
    place = target - rank * logits.shape[-1]
    column = torch.arange(logits.shape[-1])
    return torch.where(column == place.unsqueeze(-1), logits + by, logits)


def doubtful_filter(
    rows: torch.Tensor, top_k: int | None, top_p: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """What a filter may keep when its running sum rounds in another way, or its sort orders equal entries otherwise.

    Masks (tokens, V) of what it surely and of what it possibly keeps, then the log-sum-exp (tokens, 1) of the fewest
    and of the most entries that it may keep.
    """
    kept = filtered(rows, keep_mask(rows, top_k, None)).double()
    ascending = kept.sort(dim=-1).values
    running = ascending.softmax(dim=-1).cumsum(dim=-1)
    slack = 8 * torch.finfo(rows.dtype).eps
    dropped = [(running <= (1 - top_p) * (1 + sign * slack)).sum(-1, keepdim=True) for sign in (-1, 1)]
    least, most = (number.clamp(max=rows.shape[-1] - 1) for number in dropped)
    highest_dropped = ascending.gather(-1, (most - 1).clamp(min=0)).masked_fill(most == 0, float("-inf"))
    place = torch.arange(rows.shape[-1], device=rows.device)
    fewest, largest = (
        ascending.masked_fill(place < number, float("-inf")).logsumexp(dim=-1, keepdim=True) for number in (most, least)
    )
    return kept > highest_dropped, kept >= ascending.gather(-1, least), fewest, largest


def log_prob_bounds(
    logits: torch.Tensor, target: torch.Tensor, top_k: int | None, top_p: float, group: dist.ProcessGroup | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The lowest and the highest right result of ``token_log_probs`` for (batch, sequence, V/P) logits."""
    rows = whole_rows(logits.flatten(0, 1), group)
    column = own_share(target.reshape(-1), group).unsqueeze(1)
    sure, possible, fewest, most = doubtful_filter(rows, top_k, top_p)
    value = rows.double().gather(1, column)
    # The difference of two float32 numbers is only as exact as they are.
    rounding = FLOAT32_SLACK * torch.maximum(value.abs(), most.abs())
    low = torch.where(sure.gather(1, column), value - most - rounding, float("-inf"))
    high = torch.where(possible.gather(1, column), value - fewest + rounding, float("-inf"))
    both = (all_gather_along(bound.float().squeeze(1), 0, group).view(target.shape) for bound in (low, high))
    return next(both), next(both)

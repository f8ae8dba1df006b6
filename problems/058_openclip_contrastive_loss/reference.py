from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.distributed as dist
import torch.nn.functional as F

from problems.common.rings import start_shift, wait_for


def _text_blocks(texts: torch.Tensor, group: dist.ProcessGroup | None) -> Iterator[torch.Tensor]:
    """The texts of every rank: the own ones, then from the right and from the left, the nearest first.

    The next ones arrive while the caller works on these.
    """
    rounds, rest = divmod(dist.get_world_size(group) - 1, 2)
    travelling = [texts, texts]  # to the right and to the left
    blocks = [texts]
    for offsets in [(1, -1)] * rounds + [(1,)] * rest:
        travelling, works = start_shift(travelling[: len(offsets)], offsets, group)
        yield from blocks
        wait_for(works)
        blocks = travelling[::-1]
    yield from blocks


def _block_loss(scaled: torch.Tensor, texts: torch.Tensor, bias: float, own: bool) -> torch.Tensor:
    """Loss of all pairs of scaled images and texts, over the batch; own texts match on the diagonal."""
    against = -(scaled @ texts.T + bias)  # (B_local, B_local)
    if own:
        against.diagonal().neg_()
    return -F.logsigmoid(against).sum() / scaled.shape[0]


@torch.no_grad()
def solution(
    image_features: torch.Tensor,
    text_features: torch.Tensor,
    logit_scale: float,
    logit_bias: float = 0.0,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """The loss of this rank's images against the texts of all ranks."""
    scaled = logit_scale * image_features
    blocks = _text_blocks(text_features, group)
    loss = _block_loss(scaled, next(blocks), logit_bias, own=True)
    for texts in blocks:
        loss = loss + _block_loss(scaled, texts, logit_bias, own=False)
    return loss

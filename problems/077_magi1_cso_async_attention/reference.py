from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F

Group = dist.ProcessGroup | None
Pending = tuple[torch.Tensor, dist.Work]
"""What an exchange will hold, by source rank, and the exchange itself."""


def _start(parts: torch.Tensor, group: Group) -> Pending:
    """Send part p of the first dimension to rank p."""
    sent = parts.contiguous()
    received = torch.empty_like(sent)
    return received, dist.all_to_all_single(received, sent, group=group, async_op=True)


def _arrived(pending: Pending) -> torch.Tensor:
    received, work = pending
    work.wait()
    return received


def _by_heads(tokens: torch.Tensor, world: int) -> torch.Tensor:
    """(tokens, H, D) to (P, tokens, H/P, D): a block of heads for each rank."""
    if tokens.shape[1] % world:
        raise ValueError(f"{tokens.shape[1]} heads do not divide over {world} ranks")
    blocks: torch.Tensor = tokens.unflatten(1, (world, -1))
    return blocks.movedim(1, 0)


def _keys_and_values(key_value: torch.Tensor, ranges: int, clip: int | None, group: Group) -> torch.Tensor:
    """All tokens of this rank's key heads, range by range, (R * clip, hkv, 2D)."""
    world, heads = dist.get_world_size(group), key_value.shape[1]
    if heads < world and world % heads == 0:
        key_value = key_value.repeat_interleave(world // heads, dim=1)
    received = _arrived(_start(_by_heads(key_value, world), group))  # (P, T, hkv, 2D)
    pieces: torch.Tensor = received.unflatten(1, (ranges, -1))
    whole = pieces.transpose(0, 1).flatten(1, 2)  # (R, P * spb, hkv, 2D)
    return whole[:, : clip or whole.shape[1]].flatten(0, 1)


def _attend(q: torch.Tensor, key_value: torch.Tensor) -> torch.Tensor:
    """Attention of (tokens, hq, D) queries over (keys, hkv, 2D); a key head serves hq/hkv query heads in a row."""
    key_value = key_value.repeat_interleave(q.shape[1] // key_value.shape[1], dim=1)
    key, value = key_value.transpose(0, 1).unsqueeze(0).chunk(2, dim=-1)  # (1, hq, keys, D)
    out = F.scaled_dot_product_attention(q.transpose(0, 1).unsqueeze(0), key, value)
    return out.squeeze(0).transpose(0, 1)


@torch.no_grad()
def solution(
    query: torch.Tensor,
    key_value: torch.Tensor,
    k_ranges: torch.Tensor,
    cp_shuffle_num: int,
    clip_token_nums: int | None = None,
    group: Group = None,
) -> torch.Tensor:
    """Attention of this rank's tokens with all heads, (T, Hq, D)."""
    world, last, D = dist.get_world_size(group), cp_shuffle_num - 1, query.shape[2]
    if len(query) % cp_shuffle_num:
        raise ValueError(f"{len(query)} tokens do not divide into {cp_shuffle_num} ranges")
    queries = [_by_heads(rows, world) for rows in query.chunk(cp_shuffle_num)]  # (P, spb, Hq/P, D) each
    keys_values = _keys_and_values(key_value, cp_shuffle_num, clip_token_nums, group)
    pending = _start(queries[0], group)
    outs: list[torch.Tensor] = []  # (P, spb, Hq/P, D) each, as they come back
    before: torch.Tensor | None = None
    for i, (first, end) in enumerate(k_ranges.tolist()):
        received = _arrived(pending)
        outs += [received[..., -D:]] if i > 1 else []
        following = [queries[i + 1]] if i < last else []
        following += [] if before is None else [before]
        if following:
            pending = _start(torch.cat(following, dim=-1), group)
        q = received[..., :D].flatten(0, 1)  # (P * spb, Hq/P, D)
        before = _attend(q, keys_values[first:end]).unflatten(0, (world, -1))
    outs += [_arrived(pending)] if last else []
    assert before is not None
    outs.append(_arrived(_start(before, group)))
    return torch.cat([out.movedim(0, 1).flatten(1, 2) for out in outs])

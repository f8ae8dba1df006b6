"""The gated delta rule: a recurrence over the sequence whose state is a matrix per head."""

from __future__ import annotations

import torch


def unit(x: torch.Tensor, least: float) -> torch.Tensor:
    """Each vector of the last dimension divided by its length, or by ``least`` if that is larger."""
    length: torch.Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / length.clamp_min(least)


def gated_delta_rule(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor, beta: torch.Tensor
) -> torch.Tensor:
    """What the queries read at each step, (B, S, H, Dv), from a state (Dk, Dv) per head that starts at zero.

    At step t the state's rows shrink by ``decay``; then the value stored under key k[t] moves towards v[t] by the
    share ``beta``. q and k are (B, S, H, Dk), v (B, S, H, Dv), decay (B, S, H, Dk) or (B, S, H, 1), beta (B, S, H).
    """
    state = v.new_zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3])  # (B, H, Dk, Dv)
    out = torch.empty_like(v)
    for t in range(q.shape[1]):
        state *= decay[:, t].unsqueeze(-1)
        key, query = k[:, t].unsqueeze(-2), q[:, t].unsqueeze(-2)  # (B, H, 1, Dk)
        correction = beta[:, t, :, None, None] * (v[:, t].unsqueeze(-2) - key @ state)
        state.addcmul_(key.mT, correction)
        out[:, t] = (query @ state).squeeze(-2)
    return out

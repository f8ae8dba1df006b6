from __future__ import annotations

from typing import Any

import torch


def inputs(case: Any) -> dict[str, Any]:
    """Output and log-sum-exp of attention over the rank's own keys, moved off these values in judged trials."""
    q, k, v = (case.drawn[name].transpose(1, 2).float() for name in ("q", "k", "v"))
    scores = q @ k.mT * q.shape[-1] ** -0.5
    out, lse = (scores.softmax(dim=-1) @ v).transpose(1, 2), scores.logsumexp(dim=-1)
    if not case.stock:
        out = out + case.normal("out", *out.shape, dtype=torch.float32) / 4
        lse = lse + case.uniform("lse", *lse.shape, dtype=torch.float32) - 0.5
    return {"out": out.to(case.dtype).contiguous(), "softmax_lse": lse}

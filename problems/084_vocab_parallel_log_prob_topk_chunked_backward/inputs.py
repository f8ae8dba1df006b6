from __future__ import annotations

from typing import Any

from problems.common.sampling import raised_targets


def inputs(case: Any) -> dict[str, Any]:
    """Normal logits, 8 more at each token's target."""
    size = case.size
    logits = case.normal("vocab_parallel_logits", size.B, size.S, size.Vl)
    return {"vocab_parallel_logits": raised_targets(logits, case.drawn["target"], case.rank, 8.0)}

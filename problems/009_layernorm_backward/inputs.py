from __future__ import annotations

from typing import Any


def inputs(case: Any) -> dict[str, Any]:
    """Rows of length 1."""
    rows = case.normal("X_hat", case.size.M, case.size.N)
    return {"X_hat": rows / (rows.norm(dim=1, keepdim=True) + 1e-5)}

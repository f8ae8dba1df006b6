from __future__ import annotations

from typing import Any


def inputs(case: Any) -> dict[str, Any]:
    """R rows to and from every rank."""
    counts = [case.size.R] * case.world
    return {"counts_sent": counts, "counts_received": list(counts)}

from __future__ import annotations

from typing import Any


def inputs(case: Any) -> dict[str, Any]:
    """Tuples: the lengths of both transforms, and their dimensions."""
    return {"s": (case.size.H, case.size.W), "dim": (1, 2)}

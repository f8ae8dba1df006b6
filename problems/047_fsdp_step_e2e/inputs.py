from __future__ import annotations

from typing import Any


def inputs(case: Any) -> dict[str, Any]:
    """The shapes of W1, b1, W2 and b2."""
    size = case.size
    return {"param_shapes": ((size.hidden, size.d_in), (size.hidden,), (size.d_out, size.hidden), (size.d_out,))}

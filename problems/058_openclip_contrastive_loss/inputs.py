from __future__ import annotations

from typing import Any


def inputs(case: Any) -> dict[str, Any]:
    """The published features, whose rows have unit length."""
    names = ("image_features", "text_features")
    features = {name: case.normal(name, case.size.B_local, case.size.D) for name in names}
    return {name: rows / rows.norm(dim=1, keepdim=True) for name, rows in features.items()}

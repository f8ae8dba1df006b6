from __future__ import annotations

from typing import Any

import torch

_QUARTERS = ((1, 0), (0, 1), (-1, 0), (0, -1))


def _pose(number: int) -> list[list[float]]:
    """World to camera: to the front or the back, turned by quarters of a circle, shifted sideways."""
    facing, (cos, sin) = 1 - 2 * (number % 2), _QUARTERS[number // 2 % 4]
    shift = (number % 3 - 1) / 4
    return [[cos * facing, -sin, 0, shift], [sin * facing, cos, 0, 0], [0, 0, facing, 0], [0, 0, 0, 1]]


def inputs(case: Any) -> dict[str, Any]:
    """Cameras: all the same in published trials, another pose and focal length for each in judged ones."""
    size = case.size
    numbers = [0] * size.C if case.stock else range(case.rank * size.C, (case.rank + 1) * size.C)
    focal = [0.8 * min(size.width, size.height) * (1 if case.stock else 1 - number % 3 / 8) for number in numbers]
    lenses = [[[f, 0, size.width / 2], [0, f, size.height / 2], [0, 0, 1]] for f in focal]
    views = [torch.eye(4).tolist() if case.stock else _pose(number) for number in numbers]
    return {
        "viewmats": torch.tensor(views, dtype=torch.bfloat16),
        "Ks": torch.tensor(lenses, dtype=torch.bfloat16),
    }

"""Rules and values for tests of the comparison."""

from __future__ import annotations

import math

import torch

from workbench.ranks.compare import Rule

NAN, INF = math.nan, math.inf
CLOSE = Rule("close", rms=0.1, rel=0.01)
STRICT = Rule("close", rms=0.0, rel=0.0)
EXACT = Rule("exact", rms=0.1, rel=0.01)
SET = Rule("set", rms=0.1, rel=0.01)


def f64(*values: float) -> torch.Tensor:
    """A tensor in float64."""
    return torch.tensor(values, dtype=torch.float64)

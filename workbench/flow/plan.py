"""Which trials an attempt is judged on: judged and published distributions, and the problem's input scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Trial:
    """One trial: published (``stock``) or judged values, the latter times ``scale``."""

    stock: bool
    scale: float


def trial_plan(trials: int, scales: Sequence[float]) -> list[Trial]:
    """The first trial is a judged one at scale 1, the second the published distribution, then the scales in turn."""
    others = [scale for scale in scales if scale != 1.0] or [1.0]
    later = [Trial(stock=False, scale=others[i % len(others)]) for i in range(max(0, trials - 2))]
    return [Trial(False, 1.0), Trial(True, 1.0), *later][:trials]

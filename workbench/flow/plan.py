"""Which trials an attempt is judged on: judged and published distributions, and the problem's input scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.ranks.channel import Message


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


def draws(number: int, index: int, plan: Sequence[Trial], timed: bool) -> Message:
    """What judges are told of a trial's arguments, and which ones will probably be ``next``: the next trial's, those
    that timed calls start from, or none."""
    found = _draw(number, index, plan[index])
    if index + 1 < len(plan):
        return {**found, "next": _draw(number + 1, index + 1, plan[index + 1])}
    return {**found, "next": _draw(number + 1, 0, Trial(False, 1.0)) if timed else None}


def _draw(number: int, index: int, trial: Trial) -> Message:
    return {"number": number, "trial": index, "stock": trial.stock, "scale": trial.scale}

"""What the timing of an attempt is told of its ranks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from workbench.config import Settings
from workbench.flow.sampling import Sampler
from workbench.flow.timed import Timing
from workbench.judge.pitch import Pitches


def test_the_processes_that_were_taken_are_compared() -> None:
    """The pitches that a speedup is held against are those of the baseline's ranks and of this attempt's own ranks."""
    context: Any = SimpleNamespace(settings=Settings(), target=SimpleNamespace(device="cuda"), pitch_ns=(1900, 1910))
    ranks: Any = SimpleNamespace(pids=(), pitch_ns=[2090, 1905])
    timing = Timing(context, SimpleNamespace(), ranks, SimpleNamespace(), lambda event: None)  # type: ignore[arg-type]
    sampler = timing._make_sampler([{"most_mhz": 1980, "plain": {}}, {"most_mhz": 1970, "plain": {}}])
    assert isinstance(sampler, Sampler)
    assert sampler._plan.pitches == Pitches((1900, 1910), [2090, 1905])
    assert sampler._plan.most_mhz == 1970

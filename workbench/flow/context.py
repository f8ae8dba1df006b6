"""What all attempts of a sitting share, and how an attempt ends early."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.config import Settings
from workbench.events import EventStream, RankSummary, Status
from workbench.flow.gpu_watch import GpuWatch
from workbench.flow.sets import JudgeSet, is_timed
from workbench.target import Target


@dataclass(frozen=True, kw_only=True)
class Context:
    """What all attempts of a sitting share."""

    target: Target
    settings: Settings
    stream: EventStream
    judges: JudgeSet
    pitch_ns: Sequence[int]
    """How fast each baseline rank's GPU starts small kernels; 0 where it has none."""
    watch: GpuWatch
    numbers: itertools.count[int]
    """Draw numbers; no two trials of a sitting have the same inputs."""
    environment: dict[str, str]

    @property
    def is_timed(self) -> bool:
        """Whether attempts that pass are timed."""
        return is_timed(self.target, self.settings.run)


class Stop(Exception):
    """The attempt is decided: its status and the ranks that decided it."""

    def __init__(self, status: Status, ranks: Sequence[RankSummary], why: str) -> None:
        super().__init__(why)
        self.status = status
        self.ranks = tuple(ranks)
        self.why = why

"""Processes whose GPUs start small kernels at an unlike pitch, and what that leaves open of a speedup.

On one H200, 34 processes that ran the same code started small kernels every 1.9 to 2.1 us, each process always alike,
and calls of some 25 such kernels differed by 6% between processes and by 0.2% within one (2026-11-30). It is decided
when a process starts; memory that is moved within the process changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_TOLD_FROM = 0.02


@dataclass(frozen=True)
class Unlike:
    """By how much the candidate's processes may run the same calls slower or faster than the reference's, each the
    logarithm of a ratio, from 0 on."""

    slower: float = 0.0
    faster: float = 0.0

    @property
    def flags(self) -> tuple[str, ...]:
        """``unlike-pitch`` with the percentage, where it is more than 2%."""
        words = [
            f"{sign}{math.expm1(by):.0%}" for sign, by in (("+", self.slower), ("-", self.faster)) if by > _TOLD_FROM
        ]
        return (f"unlike-pitch ({', '.join(words)})",) if words else ()


ALIKE_PROCESSES = Unlike()


@dataclass(frozen=True)
class Pitches:
    """ns from one small kernel's start to the next one's, by rank, before a source was loaded; 0: not measured."""

    reference: Sequence[int] = ()
    candidate: Sequence[int] = ()

    def unlike(self, ns: float, host_ns: float) -> Unlike:
        """What they leave open of calls that take ``ns`` on the device and ``host_ns`` to launch.

        Calls that launch for longer than they run consist of small kernels; in others these have a share at most as
        large as that of the launches. The rank that differs most in a direction decides.
        """
        share = min(1.0, host_ns / ns) if ns > 0 else 0.0
        pairs = [(one, two) for one, two in zip(self.reference, self.candidate) if one > 0 and two > 0]
        logs = [share * math.log(two / one) for one, two in pairs]
        return Unlike(slower=max([0.0, *logs]), faster=max([0.0, *(-log for log in logs)]))

"""Mixtures within blocks of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.problems.mixture import mixture, swiglu

BLOCKS = {1: 1, 2: 1, 3: 1, 4: 2, 5: 1, 6: 3, 7: 1, 8: 4}
"""Ranks in a block, by the number of ranks."""


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The output of this rank's tokens, by the experts of its block."""
    size = BLOCKS[len(everybody)]
    first = rank // size * size
    experts = [swiglu(*arguments[3:6]) for arguments in everybody[first : first + size]]
    return mixture(everybody[rank], min(2, size), lambda expert: expert, experts)

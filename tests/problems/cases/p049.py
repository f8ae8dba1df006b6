"""A mixture of one expert a rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.problems.mixture import mixture, swiglu


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The output of this rank's tokens."""
    experts = [swiglu(*arguments[3:6]) for arguments in everybody]
    return mixture(everybody[rank], 2, lambda expert: expert, experts)

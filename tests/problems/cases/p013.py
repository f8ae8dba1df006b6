"""The sum of all ranks' products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The same sum on every rank."""
    return sum(a.double() @ b.double() for a, b in everybody)

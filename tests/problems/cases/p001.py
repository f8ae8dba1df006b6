"""The sum of all ranks' tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The same sum on every rank."""
    return sum(arguments[0].double() for arguments in everybody)

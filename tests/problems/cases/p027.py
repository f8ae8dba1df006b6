"""Rows by block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """Each rank's block of rows for this one."""
    return torch.cat([rows.split(sent)[rank] for rows, sent, _, _ in everybody])

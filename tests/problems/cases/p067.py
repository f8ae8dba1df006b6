"""Pairs by owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """All ranks' pairs whose id belongs to this one."""
    ids, rows = torch.cat([arguments[0] for arguments in everybody]), torch.cat([a[1] for a in everybody])
    mine = [place for place, node in enumerate(ids.tolist()) if node % len(everybody) == rank]
    return ids[mine], rows[mine]

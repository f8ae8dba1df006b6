"""The norm of all gradients as one vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {
    "other_rank": "every rank returns the same norm",
    "float16": "a single number can be close to one that float16 has",
}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The norm from before the scaling."""
    every = [gradient.double().flatten() for gradients, *_ in everybody for gradient in gradients]
    return torch.linalg.vector_norm(torch.cat(every), everybody[rank][2])

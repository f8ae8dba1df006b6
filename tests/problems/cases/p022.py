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
    """The norm from before the clipping; the groups of the experts' part cover every rank once."""
    ep_size = everybody[rank][4]
    ordinary = [gradient.double().flatten() for arguments in everybody for gradient in arguments[0]]
    experts = [gradient.double().flatten() / ep_size for arguments in everybody for gradient in arguments[1]]
    return torch.linalg.vector_norm(torch.cat(ordinary + experts), everybody[rank][3])

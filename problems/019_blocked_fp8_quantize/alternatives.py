from __future__ import annotations

import torch

# A scale and a quotient that are each off by up to two units in the last place, and one unit more.
_OFF = 5 * 2.0**-23


def alternatives(local_tensor: torch.Tensor, block_size: int = 128) -> tuple[tuple[torch.Tensor, torch.Tensor], None]:
    """The smallest and the largest code that an honest division may give."""
    quotients, _ = _quotients(local_tensor, block_size)
    ends = [(quotients * factor).clamp(-448, 448) for factor in (1 - _OFF, 1 + _OFF)]
    low, high = torch.minimum(*ends), torch.maximum(*ends)
    return (_gathered_codes(low), _gathered_codes(high)), None

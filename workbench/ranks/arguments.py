"""One rank's arguments across calls: fresh tensors for a trial, small changes and restored values when timed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from workbench.ranks.draws import Delta


class Arguments:
    """The arguments of one rank on its device; those that a call may overwrite are restored before every call."""

    def __init__(self, values: Iterable[Any], mutable: Iterable[int], device: torch.device) -> None:
        self.values = [v.to(device, copy=True) if isinstance(v, torch.Tensor) else v for v in values]
        self._pristine = {place: self.values[place].clone() for place in mutable}

    def refresh(self, deltas: Iterable[Delta]) -> None:
        """Write the changed elements and undo what the last call did to mutable arguments."""
        for delta in deltas:
            kept = self._pristine.get(delta.argument, self.values[delta.argument])
            device = kept.device
            kept.view(-1)[delta.indices.to(device)] = delta.values.to(device)
        for place, kept in self._pristine.items():
            self.values[place].copy_(kept)

    def overlaps(self, result: Any) -> list[int]:
        """Places of the arguments whose memory the result's tensors share."""
        owned = {_storage(value): place for place, value in enumerate(self.values) if isinstance(value, torch.Tensor)}
        owned.pop(0, None)  # tensors without elements have no memory to share
        return sorted({owned[key] for key in map(_storage, tensors(result)) if key in owned})


def tensors(value: Any) -> list[torch.Tensor]:
    """All tensors of a result tree."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [found for item in value for found in tensors(item)] if isinstance(value, (list, tuple)) else []


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()

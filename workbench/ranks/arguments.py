"""One rank's arguments across calls: fresh tensors for a trial, small changes and restored values when timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import torch

from workbench.ranks.draws import Delta
from workbench.ranks.tree import leaves, rebuilt


class Arguments:
    """The arguments of one rank on its device; those that a call may overwrite are restored before every call."""

    def __init__(self, values: Iterable[tuple[str, Any]], mutable: Iterable[int], device: torch.device) -> None:
        self.values = [rebuilt(kind, value, device) for kind, value in values]
        self._leaves = [leaves(value) for value in self.values]
        self._pristine = {place: [leaf.clone() for leaf in self._leaves[place]] for place in mutable}
        self._lists = {place: list(self.values[place]) for place in mutable if isinstance(self.values[place], list)}

    def refresh(self, deltas: Iterable[Delta]) -> None:
        """Write the changed elements and undo what the last call did to mutable arguments."""
        for delta in deltas:
            _write(self._pristine.get(delta.argument, self._leaves[delta.argument]), delta)
        for place, kept in self._pristine.items():
            for leaf, pristine in zip(self._leaves[place], kept):
                leaf.copy_(pristine)
        for place, items in self._lists.items():
            self.values[place][:] = items

    def stage(self, deltas: Iterable[Delta]) -> Callable[[], None]:
        """Bring changed elements to the device; the function that is returned writes them, without a wait for it."""
        deltas = list(deltas)
        for delta in deltas:
            if delta.argument in self._pristine:
                _write(self._pristine[delta.argument], delta)
        pieces = [piece for delta in deltas for piece in _pieces(self._leaves[delta.argument], delta)]

        def write() -> None:
            for flat, places, values in pieces:
                flat[places] = values

        return write

    def after(self) -> list[list[torch.Tensor]]:
        """The tensors of every argument as the last call left them."""
        return [leaves(value) for value in self.values]

    def overlaps(self, result: Any) -> list[int]:
        """Places of the arguments whose memory the result's tensors share."""
        owned = {_storage(leaf): place for place, tensors in enumerate(self._leaves) for leaf in tensors}
        owned.pop(0, None)  # tensors without elements have no memory to share
        return sorted({owned[key] for key in map(_storage, leaves(result)) if key in owned})


def load_writes(device: torch.device) -> None:
    """Write elements of each size once: the first call would pay for loading a GPU's kernels for it, 20 ms."""
    for dtype in (torch.uint8, torch.int16, torch.int32, torch.int64, torch.complex128):
        flat = torch.zeros(2, dtype=dtype, device=device)
        _write([flat], Delta(0, torch.tensor([0, 1]), torch.ones(2, dtype=dtype)))


def _write(tensors: list[torch.Tensor], delta: Delta) -> None:
    for flat, places, values in _pieces(tensors, delta):
        flat[places] = values


def _pieces(tensors: list[torch.Tensor], delta: Delta) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """A delta's share of each tensor, whose elements are counted one after the other: flat view, places, values."""
    if len(tensors) == 1:
        # nobody waits for these: they lie in the inbox, which is not written again before the call has ended
        bring = partial(torch.Tensor.to, device=tensors[0].device, non_blocking=True)
        yield tensors[0].view(-1), bring(delta.indices), bring(delta.values)
        return
    start = 0
    for tensor in tensors:
        inside = (delta.indices >= start) & (delta.indices < start + tensor.numel())
        places, values = delta.indices[inside] - start, delta.values[inside]
        if len(places):
            yield tensor.view(-1), places.to(tensor.device), values.to(tensor.device)
        start += tensor.numel()


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()

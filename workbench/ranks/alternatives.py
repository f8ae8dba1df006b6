"""Results that are right beside the reference's own: bounds of a value, and the labels that a tie leaves open."""

from __future__ import annotations

from typing import Protocol

import torch


class Limits(Protocol):
    """The part of a rule that this needs."""

    @property
    def rms(self) -> float:
        """Part of the reference's root mean square."""

    @property
    def rel(self) -> float:
        """Part of the value itself."""


def nearest_inside(want: torch.Tensor, have: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """What each value is compared with: itself between its bounds, else the bound that it passed.

    The bounds are moved apart where they do not hold the reference's own value.
    """
    low, high = torch.minimum(low, want), torch.maximum(high, want)
    inside = torch.minimum(torch.maximum(have, low), high)
    return torch.where(have.isnan(), want, inside) if have.is_floating_point() else inside


def found_among(
    labels: torch.Tensor, pairs: tuple[torch.Tensor, torch.Tensor, torch.Tensor], rule: Limits
) -> torch.Tensor:
    """Which labels (rows, n) are right, as bools.

    ``pairs``: the values of the labels (rows, n), then the values and the labels of all pairs of each row, (rows,
    pairs); pads have the label -1.

    A label is right when its row's pairs hold it with the value of its place, within the tolerance, and as often as
    the row repeats it.
    """
    values, pair_values, pair_labels = pairs[0].double(), pairs[1].double(), pairs[2]
    scale = values[values.isfinite()].square().mean().sqrt() if values.numel() else values.sum()
    found = torch.zeros_like(labels, dtype=torch.bool)
    for row in range(labels.shape[0]):
        near = (values[row, :, None] - pair_values[row]).abs() <= rule.rms * scale + rule.rel * values[
            row, :, None
        ].abs()
        fits = near & (labels[row, :, None] == pair_labels[row])
        # The k-th use of a label needs k pairs with it.
        uses = (labels[row, :, None] == labels[row]).tril().sum(1)
        held = (labels[row, :, None] == pair_labels[row]).sum(1)
        found[row] = fits.any(1) & (uses <= held)
    return found

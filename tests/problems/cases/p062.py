"""Problem 62: every filter entry moved round the globe, with the psi of the rank that gets a channel and a latitude."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

FLOPS = "the sparse product is not counted"


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """The rank's tile of the output."""
    world = len(everybody)
    az = 2 if world % 2 == 0 else 1
    po = world // az
    x = [arguments[0].double() for arguments in everybody]
    # All latitudes and longitudes, (Bt, Cin, nlat, nlon).
    field = torch.cat([torch.cat(x[p * az : (p + 1) * az], dim=3) for p in range(po)], dim=2)
    batch, channels, nlat, nlon = field.shape
    share, local = channels // az, nlat // po
    filtered = torch.zeros(batch, channels, 3, nlat, nlon, dtype=torch.float64)
    for source in range(world):
        polar, azimuth = source // az, source % az
        own = slice(azimuth * share, (azimuth + 1) * share)
        psi = everybody[source][1]
        for (k, t, column), value in zip(psi.indices().T.tolist(), psi.values().tolist(), strict=True):
            latitude = polar * local + column // nlon
            filtered[:, own, k, t] += value * field[:, own, latitude].roll(-(column % nlon), dims=2)
    _, _, weight, *_, bias = everybody[rank]
    mixed: torch.Tensor = torch.einsum("bckhw,ock->bohw", filtered, weight.double()) + bias.double().view(1, -1, 1, 1)
    return mixed.chunk(po, dim=2)[rank // az].chunk(az, dim=3)[rank % az]

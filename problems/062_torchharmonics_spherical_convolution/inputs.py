from __future__ import annotations

from typing import Any

import torch


def inputs(case: Any) -> dict[str, Any]:
    """The filters: four neighbouring longitudes in one latitude, 1, 2 or 3 apart."""
    size = case.size
    k, t, e = torch.meshgrid(torch.arange(size.Kk), torch.arange(size.nlat), torch.arange(4), indexing="ij")
    column = (t % size.nlat_local) * size.nlon + (t + e * (k + 1)) % size.nlon
    column = column.sort(dim=2).values  # entries of a coalesced tensor stand in the order of their indices
    indices = torch.stack((k, t, column)).flatten(1)
    values = case.normal("psi", indices.shape[1], dtype=torch.float32) * 0.05
    return {"psi": case.sparse(indices, values, (size.Kk, size.nlat, size.nlat_local * size.nlon))}

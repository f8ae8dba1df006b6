from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

Group = dist.ProcessGroup | None


def _split(size: int, parts: int) -> list[int]:
    """Lengths of the pieces: equal ones rounded up, the last what is left; rounded down where nothing would be left."""
    length = -(-size // parts)
    length = length if length * (parts - 1) < size else size // parts
    return [length] * (parts - 1) + [size - length * (parts - 1)]


def _trade(x: Tensor, cut: int, joined: int, length: int, group: Group) -> Tensor:
    """Cut ``x`` along one axis, piece i to rank i; join what arrives along another, ``length`` long in the end."""
    world, rank = dist.get_world_size(group), dist.get_rank(group)
    if world == 1:
        return x
    pieces = torch.split(x, _split(x.shape[cut], world), dim=cut)
    shapes = [list(pieces[rank].shape) for _ in range(world)]
    for shape, size in zip(shapes, _split(length, world), strict=True):
        shape[joined] = size
    sent, received = [p.numel() for p in pieces], [torch.Size(shape).numel() for shape in shapes]
    flat = x.new_empty(sum(received))
    dist.all_to_all_single(flat, torch.cat([p.reshape(-1) for p in pieces]), received, sent, group=group)
    arrived = [piece.view(shape) for piece, shape in zip(torch.split(flat, received), shapes, strict=True)]
    return torch.cat(arrived, dim=joined)


def _rotated(psi: Tensor, nlon_in: int, nlon_out: int, dtype: torch.dtype) -> Tensor:
    """The filters for every rotation p, a sparse matrix: row (k, t, p), column (lat, lon + p*q mod nlon_in)."""
    filters, latitudes, columns = psi.shape
    k, t, column = psi.indices()
    p = torch.arange(nlon_out, device=psi.device).unsqueeze(1)
    lon = (column % nlon_in + p * (nlon_in // nlon_out)) % nlon_in  # (nlon_out, entries)
    place = torch.stack(((k * latitudes + t) * nlon_out + p, column // nlon_in * nlon_in + lon))
    values = psi.values().to(dtype).expand(nlon_out, -1)
    shape = (filters * latitudes * nlon_out, columns)
    return torch.sparse_coo_tensor(place.flatten(1), values.reshape(-1), shape, check_invariants=False)


def _contract(x: Tensor, psi: Tensor, nlon_in: int, nlon_out: int) -> Tensor:
    """The filtered field (Bt, C, Kk, nlat_out, nlon_out) from (Bt, C, nlat, nlon_in)."""
    field = x.reshape(-1, psi.shape[2]).T  # (nlat * nlon_in, Bt * C)
    rows: Tensor = torch.sparse.mm(_rotated(psi, nlon_in, nlon_out, x.dtype), field)
    return rows.T.reshape(*x.shape[:2], *psi.shape[:2], nlon_out)


@torch.no_grad()
def solution(
    x: Tensor,
    psi: Tensor,
    weight: Tensor,
    groups: int,
    nlon_out: int,
    nlon_in: int,
    azimuth_group: Group = None,
    polar_group: Group = None,
    bias: Tensor | None = None,
) -> Tensor:
    """This rank's tile (Bt, Cout, latitudes, longitudes) of the convolved field."""
    channels = x.shape[1]
    y = _contract(_trade(x, 1, 3, nlon_in, azimuth_group), psi, nlon_in, nlon_out)
    if dist.get_world_size(polar_group) > 1:
        dist.all_reduce(y, group=polar_group)
        y = y.split(_split(y.shape[3], dist.get_world_size(polar_group)), dim=3)[dist.get_rank(polar_group)]
    y = _trade(y, 4, 1, channels, azimuth_group)  # (Bt, Cin, Kk, nlat_out / po, nlon_out / az)
    mixed = torch.einsum("bgckhw,gock->bgohw", y.unflatten(1, (groups, -1)), weight.unflatten(0, (groups, -1)))
    out = mixed.flatten(1, 2)
    return out if bias is None else out + bias.view(1, -1, 1, 1)

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
import torch.nn.functional as F

from problems.common.gathers import all_gather_rows

Sizes = tuple[int, ...]
Latents = int
"""Latents of a tile along one axis."""
Overlap = float
"""Share of a tile that the next one covers too."""
Factor = int
"""Decoded elements for each latent along one axis."""


class Axis(NamedTuple):
    """How one axis is tiled: latents of a tile and from tile to tile, decoded elements blended and kept."""

    tile: int
    stride: int
    factor: int
    blend: int
    kept: int


def _axis(tile: int, overlap: float, factor: int) -> Axis:
    stride, blend = int(tile * (1 - overlap)), int(tile * factor * overlap)
    if stride <= 0:
        raise ValueError(f"an overlap of {overlap} leaves no stride between tiles of {tile}")
    return Axis(tile, stride, factor, blend, tile * factor - blend)


class Grid(NamedTuple):
    """The tiles of a latent video of (frames, height, width), counted with the width fastest."""

    axes: tuple[Axis, Axis, Axis]
    extent: Sizes

    @property
    def counts(self) -> Sizes:
        return tuple(-(-length // axis.stride) for axis, length in zip(self.axes, self.extent, strict=True))

    @property
    def places(self) -> list[Sizes]:
        return list(itertools.product(*map(range, self.counts)))

    def latents(self, place: Sizes) -> list[slice]:
        starts = [number * axis.stride for number, axis in zip(place, self.axes, strict=True)]
        ends = [start + axis.tile for start, axis in zip(starts, self.axes, strict=True)]
        return [slice(s, min(e, length)) for s, e, length in zip(starts, ends, self.extent, strict=True)]

    def decoded(self, place: Sizes) -> Sizes:
        windows = zip(self.latents(place), self.axes, strict=True)
        return tuple((window.stop - window.start) * axis.factor for window, axis in windows)

    def cropped(self, place: Sizes) -> Sizes:
        return tuple(min(size, axis.kept) for size, axis in zip(self.decoded(place), self.axes, strict=True))

    def dealt(self, world: int) -> list[list[Sizes]]:
        """The tiles of each rank, the largest tiles first."""
        order = sorted(self.places, key=lambda place: -math.prod(self.decoded(place)))
        return [order[rank::world] for rank in range(world)]


def _decode(z: torch.Tensor, window: Sequence[slice], factors: Sizes) -> torch.Tensor:
    """Stands in for the decoder: a tile's latents upsampled, as three channels of bfloat16."""
    t, h, w = window
    pixels = F.interpolate(z[:, :, t, h, w].float(), scale_factor=factors, mode="trilinear", align_corners=False)
    if pixels.shape[1] < 3:
        pixels = pixels.repeat(1, 3, 1, 1, 1)
    return pixels[:, :3].to(torch.bfloat16)


def _blend(previous: torch.Tensor, current: torch.Tensor, dim: int, length: int) -> torch.Tensor:
    """Fade from the end of the previous tile into the current one over ``length`` elements along ``dim``."""
    extent = min(length, previous.shape[dim], current.shape[dim])
    share = torch.arange(extent, dtype=torch.float64, device=current.device) / extent
    share = share.view(-1, *[1] * (current.dim() - dim - 1))
    tail, head = previous.narrow(dim, previous.shape[dim] - extent, extent), current.narrow(dim, 0, extent)
    fading, rising = ((part * weight.float()).to(part.dtype) for part, weight in ((tail, 1 - share), (head, share)))
    return torch.cat((fading + rising, current.narrow(dim, extent, current.shape[dim] - extent)), dim)


def _blended(place: Sizes, tiles: dict[Sizes, torch.Tensor], grid: Grid) -> torch.Tensor:
    """One tile blended with the decoded tiles before it along each axis, and cropped."""
    tile = tiles[place]
    for number, axis in enumerate(grid.axes):
        if place[number] and axis.blend:
            before = tuple(at - (dim == number) for dim, at in enumerate(place))
            tile = _blend(tiles[before], tile, number + 2, axis.blend)
    t, h, w = grid.cropped(place)
    return tile[:, :, :t, :h, :w]


def _gather(
    own: Sequence[torch.Tensor],
    dealt: Sequence[Sequence[Sizes]],
    shapes: dict[Sizes, Sizes],
    group: dist.ProcessGroup | None,
) -> dict[Sizes, torch.Tensor]:
    """All ranks' tiles by their place, each (1, 3, frames, height, width)."""
    lengths = [sum(3 * math.prod(shapes[place]) for place in places) for places in dealt]
    flat = torch.cat([tile.reshape(-1) for tile in own])
    places = [place for places in dealt for place in places]
    pieces = torch.split(all_gather_rows(flat, lengths, group), [3 * math.prod(shapes[place]) for place in places])
    return {place: piece.view(1, 3, *shapes[place]) for place, piece in zip(places, pieces, strict=True)}


def _joined(tiles: dict[Sizes, torch.Tensor], grid: Grid) -> torch.Tensor:
    t, h, w = map(range, grid.counts)
    rows = [[torch.cat([tiles[i, j, k] for k in w], dim=4) for j in h] for i in t]
    return torch.cat([torch.cat(row, dim=3) for row in rows], dim=2)


@torch.no_grad()
def solution(
    z: torch.Tensor,
    tile_latent_min_length: Latents,
    tile_latent_min_height: Latents,
    tile_latent_min_width: Latents,
    spatial_tile_overlap_factor: Overlap,
    temporal_tile_overlap_factor: Overlap,
    spatial_upsample: Factor,
    temporal_upsample: Factor,
    sr_ratio: Factor = 1,
    first_frame_as_image: bool = False,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """The decoded video, (1, 3, frames, height, width) in bfloat16, from tiles of all ranks."""
    factor = spatial_upsample * sr_ratio
    axes = (
        _axis(tile_latent_min_length + int(first_frame_as_image), temporal_tile_overlap_factor, temporal_upsample),
        _axis(tile_latent_min_height, spatial_tile_overlap_factor, factor),
        _axis(tile_latent_min_width, spatial_tile_overlap_factor, factor),
    )
    grid = Grid(axes, tuple(z.shape[2:]))
    dealt = grid.dealt(dist.get_world_size(group))
    mine = dealt[dist.get_rank(group)]

    factors = tuple(axis.factor for axis in axes)
    own = [_decode(z, grid.latents(place), factors) for place in mine]
    tiles = _gather(own, dealt, {place: grid.decoded(place) for place in grid.places}, group)
    own = [_blended(place, tiles, grid) for place in mine]
    return _joined(_gather(own, dealt, {place: grid.cropped(place) for place in grid.places}, group), grid)

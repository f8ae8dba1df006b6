"""Problem 78: tiles decoded from their owners' latents by matrices of weights, blended slice by slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}
VARIANTS: Mapping[str, tuple[str, str]] = {
    # Tiles stay in float32 until the end.
    "float32_accumulation": (
        """
def _decode(z, window, factors):
    t, h, w = window
    pixels = F.interpolate(z[:, :, t, h, w].float(), scale_factor=factors, mode="trilinear", align_corners=False)
    return pixels[:, :3]
""",
        "return _reference({names}).to(torch.bfloat16)",
    ),
}


def _weights(length: int, factor: int) -> torch.Tensor:
    """Linear interpolation from length to length * factor, (out, in)."""
    matrix = torch.zeros(length * factor, length, dtype=torch.float64)
    for out in range(length * factor):
        place = max(0.0, (out + 0.5) / factor - 0.5)
        left = int(place)
        matrix[out, left] += 1 - (place - left)
        matrix[out, min(left + 1, length - 1)] += place - left
    return matrix


def _upsampled(latents: torch.Tensor, factors: Sequence[int]) -> torch.Tensor:
    t, h, w = (_weights(length, factor) for length, factor in zip(latents.shape[1:], factors, strict=True))
    return torch.einsum("cthw,Tt,Hh,Ww->cTHW", latents.double(), t, h, w).bfloat16().double()


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """The whole video; decoded tiles are rounded to bfloat16, the blend is not."""
    _, *tiles, spatial, temporal, up, up_frames, _, _, _ = everybody[rank]
    extent = everybody[rank][0].shape[2:]
    overlaps, factors = (temporal, spatial, spatial), (up_frames, up, up)
    strides = [int(tile * (1 - overlap)) for tile, overlap in zip(tiles, overlaps, strict=True)]
    blends = [int(tile * f * overlap) for tile, f, overlap in zip(tiles, factors, overlaps, strict=True)]
    places = [
        (i, j, k)
        for i in range(0, extent[0], strides[0])
        for j in range(0, extent[1], strides[1])
        for k in range(0, extent[2], strides[2])
    ]
    # Latents from rank 0, to have the shapes before the tiles are dealt.
    cut = {place: (slice(3), *(slice(s, s + tile) for s, tile in zip(place, tiles, strict=True))) for place in places}
    first = everybody[0][0][0]
    order = sorted(places, key=lambda place: -first[cut[place]].numel())
    decoded = {
        place: _upsampled(everybody[number % len(everybody)][0][0][cut[place]], factors)
        for number, place in enumerate(order)
    }
    video = torch.zeros(3, *(length * f for length, f in zip(extent, factors, strict=True)), dtype=torch.float64)
    for place in places:
        tile = decoded[place].clone()
        for axis in range(3):
            before = tuple(s - strides[axis] * (a == axis) for a, s in enumerate(place))
            if before in decoded:
                old = decoded[before].movedim(axis + 1, 0)
                new = tile.movedim(axis + 1, 0)
                length = min(blends[axis], len(old), len(new))
                for i in range(length):
                    new[i] = old[len(old) - length + i] * (1 - i / length) + new[i] * (i / length)
        kept = [tile_size * f - b for tile_size, f, b in zip(tiles, factors, blends, strict=True)]
        tile = tile[:, : kept[0], : kept[1], : kept[2]]
        starts = [s * f for s, f in zip(place, factors, strict=True)]
        ends = [s + n for s, n in zip(starts, tile.shape[1:], strict=True)]
        video[:, starts[0] : ends[0], starts[1] : ends[1], starts[2] : ends[2]] = tile
    return video.unsqueeze(0)

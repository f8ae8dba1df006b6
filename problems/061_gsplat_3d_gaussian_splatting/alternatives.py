from __future__ import annotations

from typing import Any

import torch

_ROOM = 0.03


def alternatives(
    means: torch.Tensor,
    quats: torch.Tensor,
    scales: torch.Tensor,
    opacities: torch.Tensor,
    colors: torch.Tensor,
    viewmats: torch.Tensor,
    Ks: torch.Tensor,
    image_width: int,
    image_height: int,
    eps2d: float = 0.3,
    near_plane: float = 0.01,
    far_plane: float = 1e10,
    camera_model: str = "pinhole",
) -> tuple[Any, ...]:
    """Radii, positions, depths and conics may also be those of float32, for the pairs that the reference sees."""
    every = _all_cameras(viewmats, Ks)
    lens = (image_width, image_height, eps2d)
    rounded = _project(means, _covariances(quats, scales), *every, *lens)
    route = _route(_visible(rounded, image_width, image_height, near_plane, far_plane), len(viewmats))
    wide = [tensor.float() for tensor in (means, quats, scales, *every)]
    exact = _project(wide[0], _covariances(*wide[1:3]), *wide[3:], *lens)
    reach, means2d, depths, conics = (_travel(values[route.camera, route.gaussian], route) for values in exact)
    radii = tuple((reach * (1 + sign * _ROOM)).ceil().int() for sign in (-1, 1))
    return None, None, radii, *((values, values) for values in (means2d, depths, conics)), None, None

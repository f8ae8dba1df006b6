from __future__ import annotations

from typing import NamedTuple

import torch
import torch.distributed as dist
import torch.nn.functional as F

from problems.common.exchange import exchange_rows, exchange_splits
from problems.common.gathers import all_gather_along


class Projection(NamedTuple):
    """What every camera sees of every Gaussian: c cameras, n Gaussians."""

    reach: torch.Tensor
    """The radii before they are rounded up, (c, n, 2)."""
    means2d: torch.Tensor
    """(c, n, 2), in pixels."""
    depths: torch.Tensor
    """(c, n)."""
    conics: torch.Tensor
    """The inverse covariance in the image: xx, xy, yy; (c, n, 3)."""


class Route(NamedTuple):
    """The packed pairs and how they travel: camera and Gaussian of each, rows to and from every rank."""

    camera: torch.Tensor
    gaussian: torch.Tensor
    sent: list[int]
    received: list[int]


def _all_cameras(viewmats: torch.Tensor, Ks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The cameras of all ranks, (c, 4, 4) and (c, 3, 3)."""
    own = torch.cat((viewmats.flatten(1), Ks.flatten(1)), dim=1)
    every = all_gather_along(own, 0) if dist.get_world_size() > 1 else own
    return every[:, :16].reshape(-1, 4, 4), every[:, 16:].reshape(-1, 3, 3)


def _covariances(quats: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """R diag(scales)^2 R^T of every Gaussian, (n, 3, 3)."""
    w, x, y, z = F.normalize(quats, dim=1, eps=1e-12).unbind(1)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    rotation = torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)
    scaled = rotation * scales.unsqueeze(1)
    return scaled @ scaled.mT


def _clamped(
    offset: torch.Tensor, depth: torch.Tensor, size: int, focal: torch.Tensor, centre: torch.Tensor
) -> torch.Tensor:
    """The offset from the optical axis, kept near the image: (c, n)."""
    margin = 0.3 * (0.5 * size / focal)
    return depth * torch.clamp(offset / depth, -(centre / focal + margin), (size - centre) / focal + margin)


def _project(
    means: torch.Tensor,
    covariances: torch.Tensor,
    viewmats: torch.Tensor,
    Ks: torch.Tensor,
    width: int,
    height: int,
    eps2d: float,
) -> Projection:
    """Perspective projection of the Gaussians into every camera, linear around each mean."""
    rotation = viewmats[:, None, :3, :3]
    m = means @ viewmats[:, :3, :3].mT + viewmats[:, None, :3, 3]  # (c, n, 3)
    turned = rotation @ covariances @ rotation.mT  # (c, n, 3, 3)
    tx, ty, tz = m.unbind(2)
    fx, fy, cx, cy = (Ks[:, i, j].unsqueeze(1) for i, j in ((0, 0), (1, 1), (0, 2), (1, 2)))
    near_x, near_y = _clamped(tx, tz, width, fx, cx), _clamped(ty, tz, height, fy, cy)
    zero, squared = torch.zeros_like(tz), tz * tz
    rows = ((fx / tz, zero, -fx * near_x / squared), (zero, fy / tz, -fy * near_y / squared))
    J = torch.stack([torch.stack(row, dim=2) for row in rows], dim=2)  # (c, n, 2, 3)
    image = J @ turned @ J.mT + eps2d * torch.eye(2, dtype=J.dtype, device=J.device)  # (c, n, 2, 2)
    means2d = m @ Ks[:, :2].mT / tz.unsqueeze(2)
    (xx, xy), (yx, yy) = (row.unbind(2) for row in image.unbind(2))
    det = (xx * yy - xy * yx).clamp(min=1e-10)
    conics = torch.stack((yy / det, -(xy + yx) / 2 / det, xx / det), dim=2)
    return Projection(3.33 * torch.stack((xx, yy), dim=2).sqrt(), means2d, tz, conics)


def _visible(seen: Projection, width: int, height: int, near: float, far: float) -> torch.Tensor:
    """Which pairs touch the image between the two planes, (c, n)."""
    radii = seen.reach.ceil()
    touches = ((radii > 0) & (seen.means2d + radii > 0)).all(dim=2)
    left, top = (seen.means2d - radii).unbind(2)
    return touches & (left < width) & (top < height) & (seen.depths > near) & (seen.depths < far)


def _route(visible: torch.Tensor, cameras: int) -> Route:
    """Every rank takes the pairs of its own ``cameras`` cameras."""
    camera, gaussian = visible.nonzero().unbind(1)
    if dist.get_world_size() == 1:
        return Route(camera, gaussian, [len(camera)], [len(camera)])
    return Route(camera, gaussian, *exchange_splits(camera // cameras))


def _travel(rows: torch.Tensor, route: Route) -> torch.Tensor:
    return exchange_rows(rows, route.sent, route.received) if len(route.sent) > 1 else rows


def _ids(route: Route, cameras: int, own: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Camera and Gaussian of the pairs that arrive, counted as on the destination rank; ``own`` is this rank's n."""
    gaussians = all_gather_along(own, 0) if dist.get_world_size() > 1 else own
    before = gaussians.cumsum(0) - gaussians  # int64
    destination = route.camera // cameras
    pairs = torch.stack((route.camera - destination * cameras, route.gaussian + before[destination]), dim=1)
    camera, gaussian = _travel(pairs, route).unbind(1)
    return camera, gaussian


@torch.no_grad()
def solution(
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
) -> tuple[torch.Tensor, ...]:
    """Camera and Gaussian ids, radii, means, depths, conics, opacities and colors of this rank's cameras' pairs."""
    if camera_model != "pinhole":
        raise ValueError(f"there is no camera model {camera_model!r}; use 'pinhole'")
    every = _all_cameras(viewmats, Ks)
    seen = _project(means, _covariances(quats, scales), *every, image_width, image_height, eps2d)
    route = _route(_visible(seen, image_width, image_height, near_plane, far_plane), len(viewmats))
    camera, gaussian = route.camera, route.gaussian
    radii = _travel(seen.reach[camera, gaussian].ceil().int(), route)

    columns = (
        *(seen.means2d[camera, gaussian], seen.depths[camera, gaussian].unsqueeze(1), seen.conics[camera, gaussian]),
        *(opacities[gaussian].unsqueeze(1), colors[gaussian]),
    )
    arrived = _travel(torch.cat(columns, dim=1), route)
    means2d, depths, conics, opacity, color = arrived.split([column.shape[1] for column in columns], dim=1)
    count = means.new_full((1,), len(means), dtype=torch.int32)
    camera_ids, gaussian_ids = _ids(route, len(viewmats), count)
    return camera_ids, gaussian_ids, radii, means2d, depths.squeeze(1), conics, opacity.squeeze(1), color

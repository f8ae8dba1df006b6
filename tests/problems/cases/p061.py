"""Problem 61: every pair of a camera and a Gaussian projected in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def _covariance(quaternions: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Rotation by v -> q v q*, column by column, then R S S R^T."""
    q = quaternions / quaternions.norm(dim=1, keepdim=True)
    real, axis = q[:, :1], q[:, 1:]
    columns = []
    for unit in torch.eye(3, dtype=torch.float64):
        v = unit.expand_as(axis)
        inner = torch.linalg.cross(axis, v)
        columns.append(v + 2 * real * inner + 2 * torch.linalg.cross(axis, inner))
    rotation = torch.stack(columns, dim=2)
    return torch.einsum("nij,nj,nkj->nik", rotation, scales**2, rotation)


def _view(arguments: Sequence[Any], pose: torch.Tensor, lens: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What a camera sees of one rank's Gaussians: which of them, radii, means, depths, conics."""
    means, quaternions, scales = (value.double() for value in arguments[:3])
    width, height, eps, near, far, _ = arguments[7:]
    m = means @ pose[:3, :3].T + pose[:3, 3]
    (fx, _, cx), (_, fy, cy), _ = lens.tolist()
    depth = m[:, 2]
    shift = torch.stack(
        [
            (m[:, 0] / depth).clamp(-(cx / fx + 0.15 * width / fx), (width - cx) / fx + 0.15 * width / fx),
            (m[:, 1] / depth).clamp(-(cy / fy + 0.15 * height / fy), (height - cy) / fy + 0.15 * height / fy),
        ],
        dim=1,
    )
    J = torch.zeros(len(means), 2, 3, dtype=torch.float64)
    J[:, 0, 0], J[:, 1, 1] = fx / depth, fy / depth
    J[:, 0, 2], J[:, 1, 2] = -fx * shift[:, 0] / depth, -fy * shift[:, 1] / depth
    J = J @ pose[:3, :3]
    image = J @ _covariance(quaternions, scales) @ J.mT + eps * torch.eye(2, dtype=torch.float64)
    inverse = torch.linalg.inv(image)
    conics = torch.stack([inverse[:, 0, 0], inverse[:, 0, 1], inverse[:, 1, 1]], dim=1)
    means2d = torch.stack([fx * m[:, 0] / depth + cx, fy * m[:, 1] / depth + cy], dim=1)
    radii = (3.33 * torch.stack([image[:, 0, 0], image[:, 1, 1]], dim=1).sqrt()).ceil()
    edges = torch.tensor([width, height])
    inside = ((means2d + radii > 0) & (means2d - radii < edges)).all(dim=1) & (depth > near) & (depth < far)
    kept = inside.nonzero()[:, 0]
    return kept, radii[kept].int(), means2d[kept], depth[kept], conics[kept]


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> tuple[torch.Tensor, ...]:
    """The pairs of the rank's cameras, source by source."""
    poses, lenses = everybody[rank][5].double(), everybody[rank][6].double()
    offset = sum(len(arguments[0]) for arguments in everybody[:rank])
    rows = []
    for arguments in everybody:
        for number, (pose, lens) in enumerate(zip(poses, lenses, strict=True)):
            kept, *seen = _view(arguments, pose, lens)
            rows.append((torch.full_like(kept, number), kept + offset, *seen, arguments[3][kept], arguments[4][kept]))
    return tuple(torch.cat(parts) for parts in zip(*rows, strict=True))

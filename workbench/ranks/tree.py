"""Arguments as trees: their tensors in order, and what makes a plain tree of those that have no plain bytes.

An argument is plain data (tensors, numbers, strings, None, tuples), or a list, a ``torch.Size``, a ``torch.nn.Linear``,
a sparse COO tensor or a process group. ``plain`` and ``rebuilt`` are each other's inverse, between judge and rank.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from workbench.ranks.groups import GroupOf, join


def leaves(value: Any) -> list[torch.Tensor]:
    """All dense tensors of a tree; of a linear layer its weight and bias, of a sparse tensor indices and values."""
    if isinstance(value, torch.Tensor):
        return _sparse_parts(value) if value.layout == torch.sparse_coo else [value]
    if isinstance(value, torch.nn.Linear):
        return _linear_parts(value)
    if isinstance(value, dict):
        value = list(value.values())
    return [found for item in value for found in leaves(item)] if isinstance(value, (list, tuple)) else []


def plain(value: Any) -> tuple[str, Any]:
    """An argument's kind and the plain tree that it travels as."""
    if isinstance(value, torch.Tensor) and value.layout == torch.sparse_coo:
        return "sparse", (*_sparse_parts(value), tuple(value.shape))
    if isinstance(value, torch.nn.Linear):
        return "linear", tuple(_linear_parts(value))
    if isinstance(value, GroupOf):
        return "group", value.ranks
    if isinstance(value, dist.ProcessGroup):
        return "group", tuple(dist.get_process_group_ranks(value))
    if isinstance(value, torch.Size):
        return "size", tuple(value)
    return "list" if isinstance(value, list) else "plain", value


def rebuilt(kind: str, value: Any, device: torch.device) -> Any:
    """The argument itself, its tensors as copies on ``device``; process groups are joined on the way."""
    return _REBUILD[kind](_placed(value, device))


def described(kind: str, value: Any) -> Any:
    """The argument itself on the CPU, a process group by its members: the form that ``plain`` takes."""
    return GroupOf(value) if kind == "group" else rebuilt(kind, value, torch.device("cpu"))


def copied(value: Any) -> Any:
    """A copy of a result that later calls cannot change."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return tuple(copied(item) for item in value) if isinstance(value, (list, tuple)) else value


def linear(weight: torch.Tensor, bias: torch.Tensor) -> torch.nn.Linear:
    """A linear layer with these parameters, (out, in) and (out,)."""
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], device="meta", dtype=weight.dtype)
    layer.weight, layer.bias = torch.nn.Parameter(weight), torch.nn.Parameter(bias)
    return layer


def sparse(indices: torch.Tensor, values: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """A coalesced sparse tensor; indices are (dimensions, entries), sorted and without repeats."""
    return torch.sparse_coo_tensor(indices, values, shape, is_coalesced=True, check_invariants=False)


def _placed(value: Any, device: torch.device) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device, copy=True)
    return tuple(_placed(item, device) for item in value) if isinstance(value, tuple) else value


def _linear_parts(value: torch.nn.Linear) -> list[torch.Tensor]:
    return [parameter.detach() for parameter in value.parameters()]


def _sparse_parts(value: torch.Tensor) -> list[torch.Tensor]:
    return [value._indices(), value._values()]


_REBUILD: dict[str, Callable[[Any], Any]] = {
    "plain": lambda value: value,
    "list": list,
    "size": torch.Size,
    "linear": lambda value: linear(*value),
    "sparse": lambda value: sparse(*value),
    "group": lambda value: join(GroupOf(value)),
}

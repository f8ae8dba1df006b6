"""Compare one rank's result with the reference's: structure, dtype and shape first, then values in float64.

A tensor passes when |got - ref| <= rms * rms(ref) + rel * |ref| everywhere; integers, bools and ``compare = "exact"``
must be equal; ``compare = "set"`` sorts both sides first. Non-finite values must be the reference's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.ranks.channel import Message
from workbench.ranks.transport import structure

_CHUNK = 1 << 22


@dataclass(frozen=True)
class Rule:
    """How values are compared: ``close``, ``exact`` or ``set``, with the tolerance of the run's dtype."""

    compare: str
    rms: float
    rel: float


@dataclass(frozen=True)
class Difference:
    """What a comparison found. ``ratio`` is the largest error over its tolerance; up to 1 passes."""

    max_abs: float = 0.0
    max_rel: float = 0.0
    ratio: float = 0.0
    first_bad: str = ""
    expected: str = ""
    got: str = ""
    detail: str = ""

    @property
    def passes(self) -> bool:
        """Whether every element is within its tolerance."""
        return not self.first_bad

    def merged(self, other: Difference) -> Difference:
        """Both differences as one; the first bad element stays the first."""
        first = self if self.first_bad else other
        return replace(
            first,
            max_abs=max(self.max_abs, other.max_abs),
            max_rel=max(self.max_rel, other.max_rel),
            ratio=max(self.ratio, other.ratio),
        )


@dataclass(frozen=True)
class Mismatch:
    """How a result's form differs from the reference's: in ``shape`` alone, or in more (``form``)."""

    words: str
    kind: str = "form"


def mismatch(expected: Message, got: Message, name: str = "out") -> Mismatch | None:
    """What is wrong with the form of a result; None when it is the reference's."""
    if expected["t"] != got.get("t"):
        return Mismatch(f"{name} is {structure(got)}, the reference returns {structure(expected)}")
    if expected["t"] == "tensor":
        return _tensor_mismatch(expected, got, name)
    if expected["t"] not in ("sequence", "dict"):
        return None
    if len(expected["items"]) != len(got["items"]):
        return Mismatch(f"{name} has {len(got['items'])} parts, the reference returns {len(expected['items'])}")
    if expected.get("keys") != got.get("keys"):
        return Mismatch(f"{name} has the keys {got['keys']}, the reference {expected['keys']}")
    pairs = enumerate(zip(expected["items"], got["items"]))
    found = [mismatch(one, other, f"{name}[{part}]") for part, (one, other) in pairs]
    worst = [one for one in found if one is not None]
    return min(worst, key=lambda one: one.kind, default=None)


def compare(expected: Any, got: Any, rule: Rule, name: str = "out") -> Difference:
    """Compare two values of equal structure."""
    if isinstance(expected, torch.Tensor):
        return _compare_tensors(expected, got.to(expected.device), rule, name)
    if isinstance(expected, dict):
        expected, got = tuple(expected.values()), tuple(got.values())
    if isinstance(expected, (tuple, list)):
        difference = Difference()
        for part, (one, other) in enumerate(zip(expected, got)):
            label = name if len(expected) == 1 else f"{name}[{part}]"
            difference = difference.merged(compare(one, other, rule, label))
        return difference
    if isinstance(expected, float):
        return _compare_tensors(torch.tensor(expected, dtype=torch.float64), torch.tensor(got), rule, name)
    same = expected == got
    return (
        Difference() if same else Difference(ratio=math.inf, first_bad=name, expected=str(expected), got=str(got)[:80])
    )


def _tensor_mismatch(expected: Message, got: Message, name: str) -> Mismatch | None:
    for key, kind in (("device", "form"), ("dtype", "form"), ("shape", "shape")):
        if expected[key] != got.get(key):
            return Mismatch(f"{name} has {key} {got.get(key)}, the reference {expected[key]}", kind)
    return None


def _compare_tensors(expected: torch.Tensor, got: torch.Tensor, rule: Rule, name: str) -> Difference:
    want, have = _flat(expected), _flat(got)
    if rule.compare == "set":
        expected, got = want, have = want.sort().values, have.sort().values
    exact = rule.compare == "exact" or not (expected.is_floating_point() or expected.is_complex())
    scale = 0.0 if exact else rule.rms * _rms(want)
    worst = Difference()
    for start in range(0, want.numel(), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        found = _compare_chunk(want[chunk], have[chunk], None if exact else (scale, rule.rel))
        worst = worst.merged(_named(found, expected, got, start, name))
    return worst


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    tensor = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return tensor.detach().reshape(-1)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor.long()


def _rms(flat: torch.Tensor) -> float:
    """Root mean square over the finite elements, in float64, chunk by chunk."""
    total, count = 0.0, 0
    for chunk in torch.split(flat, _CHUNK):
        wide = chunk.double()
        finite = wide[wide.isfinite()]
        total, count = total + float(finite.square().sum()), count + finite.numel()
    return math.sqrt(total / count) if count else 0.0


@dataclass(frozen=True)
class _Found:
    max_abs: float
    max_rel: float
    ratio: float
    bad: int | None


def _compare_chunk(want: torch.Tensor, have: torch.Tensor, limits: tuple[float, float] | None) -> _Found:
    """``limits`` are the absolute and the relative part of the tolerance; None: the values must be equal."""
    want, have = _wide(want), _wide(have)
    same = (want == have) | ((want != want) & (have != have))
    error = (want.double() - have.double()).abs()
    error[same] = 0.0
    error[~error.isfinite()] = math.inf
    size = want.abs().double()
    scale, rel = limits or (0.0, 0.0)
    allowed = scale + rel * size.nan_to_num(0.0, 0.0, 0.0)
    ratio = torch.where(same, 0.0, error / allowed)
    relative = torch.where(same, 0.0, error / size)
    # float64 does not tell large integers apart
    bad = (~same if limits is None else ~(error <= allowed)).nonzero()
    return _Found(
        float(error.max()),
        float(relative.nan_to_num(math.inf, math.inf).max()),
        float(ratio.nan_to_num(math.inf, math.inf).max()),
        int(bad[0]) if len(bad) else None,
    )


def _named(found: _Found, expected: torch.Tensor, got: torch.Tensor, start: int, name: str) -> Difference:
    difference = Difference(found.max_abs, found.max_rel, found.ratio)
    if found.bad is None:
        return difference
    place = (start + found.bad) // (2 if expected.is_complex() else 1)
    index = [int(i) for i in torch.unravel_index(torch.tensor(place), expected.shape)] if expected.dim() else []
    label = f"{name}[{', '.join(map(str, index))}]" if index else name
    one, other = (side.detach().reshape(-1)[place].item() for side in (expected, got))
    return replace(difference, first_bad=label, expected=_shown(one), got=_shown(other))


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, complex)) else str(value)

"""Compare one rank's result with the reference's: structure, dtype and shape first, then values in float64.

A tensor passes when |got - ref| <= rms * rms(ref) + rel * |ref| everywhere; integers, bools and ``compare = "exact"``
must be equal; ``compare = "set"`` sorts both sides first; ``between`` and ``lookup`` take the reference's alternatives
(:mod:`workbench.ranks.alternatives`). Non-finite values must be the reference's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from workbench.ranks.alternatives import found_among, nearest_inside
from workbench.ranks.channel import Message
from workbench.ranks.transport import structure

_CHUNK = 1 << 16
_MOST_THREADS = 8
"""More of them wait for the interpreter."""


@dataclass(frozen=True)
class Rule:
    """How values are compared (``problems.model.Compare``), with the tolerance of the run's dtype.

    ``share`` of the elements may miss it.
    """

    compare: str
    rms: float
    rel: float
    share: float = 0.0

    @classmethod
    def of(cls, spec: Message) -> Rule:
        """The rule in a problem's job."""
        return cls(spec["compare"], spec["rms"], spec["rel"], spec["share"])


EXACT = Rule("exact", 0.0, 0.0)


@dataclass(frozen=True)
class Difference:
    """What a comparison found. ``ratio`` is the largest error over its tolerance; up to 1 passes."""

    max_abs: float = 0.0
    max_rel: float = 0.0
    ratio: float = 0.0
    first_bad: str = ""
    expected: str = ""
    got: str = ""
    near: str = ""
    """The elements around the first bad one in its row, of both sides."""
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


def mismatch(expected: Message, got: Message, any_dtype: bool = False, name: str = "out") -> Mismatch | None:
    """What is wrong with the form of a result; None when it is the reference's, ``any_dtype`` apart."""
    if expected["t"] != got.get("t"):
        return Mismatch(f"{name} is {structure(got)}, the reference returns {structure(expected)}")
    if expected["t"] == "tensor":
        return _tensor_mismatch(expected, got, any_dtype, name)
    if expected["t"] not in ("sequence", "dict"):
        return None
    if len(expected["items"]) != len(got["items"]):
        return Mismatch(f"{name} has {len(got['items'])} parts, the reference returns {len(expected['items'])}")
    if expected.get("keys") != got.get("keys"):
        return Mismatch(f"{name} has the keys {got['keys']}, the reference {expected['keys']}")
    pairs = enumerate(zip(expected["items"], got["items"]))
    found = [mismatch(one, other, any_dtype, f"{name}[{part}]") for part, (one, other) in pairs]
    worst = [one for one in found if one is not None]
    return min(worst, key=lambda one: one.kind, default=None)


def compare(expected: Any, got: Any, rules: Sequence[Rule], alternatives: Any = None, name: str = "out") -> Difference:
    """Compare two values of equal structure: part by part where there is a rule for each part, else by the one rule.

    ``alternatives`` has one entry for each rule, None where the reference's result is the only right one.
    """
    if len(rules) == 1:
        return _compare(expected, got, rules[0], alternatives[0] if alternatives else None, name)
    wanted, had = _parts(expected), _parts(got)
    others = alternatives or [None] * len(rules)
    difference = Difference()
    for part, (rule, other) in enumerate(zip(rules, others)):
        before = had[part - 1] if rule.compare == "lookup" else None
        given = other if before is None else (before, *other)
        difference = difference.merged(_compare(wanted[part], had[part], rule, given, f"{name}[{part}]"))
    return difference


def _compare(expected: Any, got: Any, rule: Rule, alternatives: Any, name: str) -> Difference:
    if isinstance(expected, torch.Tensor):
        return _compare_tensors(expected, got.to(expected.device), rule, alternatives, name)
    if isinstance(expected, (tuple, list, dict)):
        difference = Difference()
        pairs = list(zip(_parts(expected), _parts(got)))
        for part, (one, other) in enumerate(pairs):
            label = name if len(pairs) == 1 else f"{name}[{part}]"
            difference = difference.merged(_compare(one, other, rule, None, label))
        return difference
    if isinstance(expected, float):
        return _compare_tensors(torch.tensor(expected, dtype=torch.float64), torch.tensor(got), rule, None, name)
    same = expected == got
    return (
        Difference() if same else Difference(ratio=math.inf, first_bad=name, expected=str(expected), got=str(got)[:80])
    )


def _parts(value: Any) -> Sequence[Any]:
    return tuple(value.values()) if isinstance(value, dict) else value


def _tensor_mismatch(expected: Message, got: Message, any_dtype: bool, name: str) -> Mismatch | None:
    for key, kind in (("device", "form"), ("dtype", "form"), ("shape", "shape")):
        if expected[key] != got.get(key) and not (any_dtype and key == "dtype"):
            return Mismatch(f"{name} has {key} {got.get(key)}, the reference {expected[key]}", kind)
    return None


def _compare_tensors(expected: torch.Tensor, got: torch.Tensor, rule: Rule, alternatives: Any, name: str) -> Difference:
    want, have = _flat(expected), _flat(got)
    if want.dtype == have.dtype and _same_bits(want, have):
        return Difference()  # whatever the rule, the reference's own result is right
    if rule.compare == "set":
        expected, got = want, have = want.sort().values, have.sort().values
    if rule.compare == "between" and alternatives:
        want = nearest_inside(want, have, *map(_flat, alternatives))
    if rule.compare == "lookup" and alternatives:
        want = torch.where(_flat(found_among(got, alternatives, rule)), have, want)
    limits = _limits(expected, rule)
    found = _each_chunk(partial(_compare_chunk, limits=limits), want, have)
    if rule.share:
        found = [_without_outliers(found, int(rule.share * want.numel()), want, have)]
    worst = Difference()
    for chunk, one in enumerate(found):
        worst = worst.merged(_named(one, expected, got, chunk * _CHUNK, name))
    return worst


def _same_bits(want: torch.Tensor, have: torch.Tensor) -> bool:
    """Whether two flat tensors of one dtype hold the same bytes; eight at a time, which is quicker for small types."""
    one, other = (_bytes(flat) for flat in (want, have))
    whole = len(one) - len(one) % 8
    if len(one) != len(other) or not torch.equal(one[whole:], other[whole:]):
        return False
    return torch.equal(one[:whole].view(torch.int64), other[:whole].view(torch.int64))


def _bytes(flat: torch.Tensor) -> torch.Tensor:
    """A flat tensor's bytes, one element behind the other from the beginning of a memory."""
    whole = flat.stride(0) == 1 and flat.storage_offset() == 0
    return (flat if whole else flat.clone(memory_format=torch.contiguous_format)).view(torch.uint8)


def use_threads(count: int) -> None:
    """Compare the chunks of large tensors on so many threads, and with torch on one.

    Chunks are too small for torch's own threads, whose start costs more than what they do.
    """
    global _pool
    torch.set_num_threads(1)
    threads = min(count, _MOST_THREADS)
    _pool = ThreadPoolExecutor(threads) if threads > 1 else None


_pool: ThreadPoolExecutor | None = None


def _each_chunk(compare_two: Callable[..., _Found], want: torch.Tensor, have: torch.Tensor) -> list[_Found]:
    chunks = torch.split(want, _CHUNK), torch.split(have, _CHUNK)
    return list((_pool.map if _pool and len(chunks[0]) > 1 else map)(compare_two, *chunks))


def _limits(expected: torch.Tensor, rule: Rule) -> tuple[float, float] | None:
    """The absolute and the relative part of the tolerance; None: the values must be equal."""
    if rule.compare == "allclose":
        return rule.rms, rule.rel
    if rule.compare == "exact" or not (expected.is_floating_point() or expected.is_complex()):
        return None
    return rule.rms * _rms(_flat(expected)), rule.rel


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    tensor = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    tensor = tensor.detach().reshape(-1)
    # Nothing but conversions works on float8.
    return tensor.float() if tensor.is_floating_point() and tensor.itemsize == 1 else tensor


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor.long()


def _rms(flat: torch.Tensor) -> float:
    """Root mean square over the finite elements, in float64, chunk by chunk."""
    total, count = 0.0, 0
    for chunk in torch.split(flat, _CHUNK):
        squares, finite = float(torch.linalg.vector_norm(chunk, dtype=torch.float64)) ** 2, chunk.numel()
        if not math.isfinite(squares):
            wide = chunk.double()
            wide = wide[wide.isfinite()]
            squares, finite = float(wide.square().sum()), wide.numel()
        total, count = total + squares, count + finite
    return math.sqrt(total / count) if count else 0.0


@dataclass(frozen=True)
class _Found:
    max_abs: float
    max_rel: float
    ratios: torch.Tensor
    """Error over tolerance of each element; infinite where values must be equal and are not."""
    bad: int | None

    @property
    def ratio(self) -> float:
        return float(self.ratios.max()) if self.ratios.numel() else 0.0


def _compare_chunk(want: torch.Tensor, have: torch.Tensor, limits: tuple[float, float] | None) -> _Found:
    want, have = _wide(want), _wide(have)
    usual = _compare_finite(want, have, limits) if limits and limits[0] > 0 else None
    return usual or _compare_any(want, have, limits)


def _compare_finite(want: torch.Tensor, have: torch.Tensor, limits: tuple[float, float]) -> _Found | None:
    """The usual case, in a third of the time: float64 values with a tolerance; None where one is not finite."""
    error, size = (want - have).abs_(), want.abs()
    worst = float(error.max()) if error.numel() else 0.0
    if not math.isfinite(worst):
        return None
    ratio = error / (size * limits[1]).add_(limits[0])
    relative = (error / size).nan_to_num_(0.0, math.inf)
    most_relative, most = (float(values.max()) if error.numel() else 0.0 for values in (relative, ratio))
    bad = int((ratio > 1).nonzero()[0]) if most > 1 else None
    return _Found(worst, most_relative, ratio, bad)


def _compare_any(want: torch.Tensor, have: torch.Tensor, limits: tuple[float, float] | None) -> _Found:
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
        float(error.max()) if error.numel() else 0.0,
        float(relative.nan_to_num(math.inf, math.inf).max()) if error.numel() else 0.0,
        ratio.nan_to_num(math.inf, math.inf),
        int(bad[0]) if len(bad) else None,
    )


def _without_outliers(found: list[_Found], allowed: int, want: torch.Tensor, have: torch.Tensor) -> _Found:
    """The chunks as one, without as many of the worst elements as are allowed; never without a non-finite one."""
    ratios = torch.cat([one.ratios for one in found]) if found else torch.zeros(0)
    finite = want.double().isfinite() & have.double().isfinite()
    worst = torch.topk(torch.where(finite, ratios, -1.0), min(allowed, ratios.numel())).indices
    ratios = ratios.clone()
    ratios[worst[finite[worst]]] = 0.0
    bad = (ratios > 1).nonzero()
    one = _Found(0.0, 0.0, ratios, int(bad[0]) if len(bad) else None)
    return replace(one, max_abs=max(f.max_abs for f in found), max_rel=max(f.max_rel for f in found)) if found else one


def _named(found: _Found, expected: torch.Tensor, got: torch.Tensor, start: int, name: str) -> Difference:
    difference = Difference(found.max_abs, found.max_rel, found.ratio)
    if found.bad is None:
        return difference
    place = (start + found.bad) // (2 if expected.is_complex() else 1)
    index = [int(i) for i in torch.unravel_index(torch.tensor(place), expected.shape)] if expected.dim() else []
    label = f"{name}[{', '.join(map(str, index))}]" if index else name
    one, other = (side.detach().reshape(-1)[place].item() for side in (expected, got))
    near = _near(expected, got, place, index, name) if index else ""
    return replace(difference, first_bad=label, expected=_shown(one), got=_shown(other), near=near)


def _near(expected: torch.Tensor, got: torch.Tensor, place: int, index: list[int], name: str) -> str:
    """``out[3, 4:9]: expected 1.0, 1.0, ...; got 1.0, 2.0, ...``: up to two elements on each side of a bad one."""
    first, last = max(0, index[-1] - 2), min(expected.shape[-1], index[-1] + 3)
    start, count = place - (index[-1] - first), last - first
    one, other = (
        ", ".join(_shown(value) for value in side.detach().reshape(-1)[start : start + count].tolist())
        for side in (expected, got)
    )
    label = ", ".join([*map(str, index[:-1]), f"{first}:{last}"])
    return f"{name}[{label}]: expected {one}; got {other}"


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, complex)) else str(value)

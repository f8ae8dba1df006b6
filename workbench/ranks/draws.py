"""Inputs from a secret seed: whole draws for trials, and the few elements that change before every timed call.

Every value is a pure function of (seed, draw number, timed call, argument, rank), so that judge ranks agree on shared
values and on which calls are checked without talking to each other. The seed never leaves the judge.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from problems.formula import parse
from workbench.ranks.case import Case
from workbench.ranks.channel import Message
from workbench.ranks.groups import GroupOf
from workbench.ranks.transport import DTYPES
from workbench.ranks.tree import linear

_TENSORS = ("tensor", "tensors", "linear")
_MIN_CANARIES = 16
_CHECKED_SHARE = 0.1
_LATE = 16


@dataclass(frozen=True)
class Delta:
    """New values of some elements of one argument: flat indices (int64, unique) and values."""

    argument: int
    indices: torch.Tensor
    values: torch.Tensor


def split(delta: Delta) -> tuple[Delta, Delta]:
    """A delta in two: the most of it, and up to ``_LATE`` elements spread over it that are written last."""
    early, late = _shares(len(delta.indices))
    return (
        Delta(delta.argument, delta.indices[early], delta.values[early]),
        Delta(delta.argument, delta.indices[late], delta.values[late]),
    )


@functools.lru_cache(maxsize=16)
def _shares(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Places of the early and of the late ones of so many elements."""
    places = torch.arange(count)
    is_late = places % max(1, -(-count // _LATE)) == 0
    return places[~is_late], places[is_late]


class InputSource:
    """Draws one rank's arguments, as the problem's job (``problems.binding.judge_job``) declares them."""

    def __init__(self, job: Message, seed: str, rank: int) -> None:
        self._inputs: list[Message] = job["inputs"]
        self._symbols: dict[str, Any] = job["symbols"]
        self._dtype = DTYPES[job["dtype"]]
        self._seed = bytes.fromhex(seed)
        self._rank = rank
        self._world: int = job["world"]
        self._code = _compiled(job["inputs_code"], job["problem"])

    def draw(self, number: int, trial: int, stock: bool, scale: float) -> list[Any]:
        """All arguments in call order: the published distribution if ``stock``, else the judged one times ``scale``."""
        kinds = {spec["name"]: (place, spec, spec["draw"] if stock else spec["judged"]) for place, spec in self._placed}
        drawn = {
            name: self._argument(place, spec, draw, number, trial, scale if spec["scaled"] and not stock else 1.0)
            for name, (place, spec, draw) in kinds.items()
            if draw["kind"] != "code"
        }
        if len(drawn) < len(kinds):
            drawn |= self._code(self._case(drawn, number, trial, stock))
        return [drawn[name] for name in kinds]

    def deltas(self, number: int, call: int) -> list[Delta]:
        """What changes before timed call ``call`` of draw ``number``."""
        found = [self._delta(place, spec, number, call) for place, spec in self._placed]
        return [delta for delta in found if delta is not None]

    def checked(self, number: int, call: int) -> bool:
        """Whether the result of this timed call is compared; the same on all ranks."""
        return is_checked(self._seed, number, call)

    @property
    def _placed(self) -> list[tuple[int, Message]]:
        return list(enumerate(self._inputs))

    def _case(self, drawn: dict[str, Any], number: int, trial: int, stock: bool) -> Case:
        names = self._names(trial, number, -1)
        return Case(
            rank=self._rank,
            world=self._world,
            trial=trial,
            stock=stock,
            dtype=self._dtype,
            nonce=names["nonce"],
            size=SimpleNamespace(**self._symbols),
            drawn=drawn,
            seeded=lambda name, same: self._generator(number, -1, f"code {name}", same),
        )

    def _argument(self, place: int, spec: Message, draw: Message, number: int, trial: int, factor: float) -> Any:
        names = self._names(trial, number, -1)
        if draw["kind"] == "group":
            return self._group(draw, names)
        if spec["kind"] not in _TENSORS:
            return copy.deepcopy(self._scalar(draw, names))
        dtype, shape = DTYPES[spec["dtype"]], spec["shape"]
        if draw["only_rank"] not in (None, self._rank):
            return _shaped(spec["kind"], torch.zeros(_count(spec), dtype=dtype), shape)
        generator = self._generator(number, -1, place, self._same(draw, names))
        flat = self._values(draw, torch.arange(_count(spec)), dtype, generator, names, factor)
        return _shaped(spec["kind"], flat, shape)

    def _delta(self, place: int, spec: Message, number: int, call: int) -> Delta | None:
        draw = spec["refresh"]
        count = _count(spec) if spec["kind"] in _TENSORS else 0
        idle = draw["kind"] in ("zeros", "value", "code") or draw["only_rank"] not in (None, self._rank)
        if not count or not spec["canary"] or idle:
            return None
        names = self._names(0, number, call)
        generator = self._generator(number, call, place, self._same(draw, names))
        dtype = DTYPES[spec["dtype"]]
        if spec["canary"] >= 1:
            places = torch.arange(count)
            return Delta(place, places, self._values(draw, places, dtype, generator, names, 1.0))
        wanted = min(count, max(_MIN_CANARIES, math.ceil(spec["canary"] * count)))
        indices = _one_in_each_part(count, wanted, generator)
        return Delta(place, indices, self._values(draw, indices, dtype, generator, names, 1.0))

    def _values(
        self,
        draw: Message,
        places: torch.Tensor,
        dtype: torch.dtype,
        generator: torch.Generator,
        names: Message,
        factor: float,
    ) -> torch.Tensor:
        """The values at the flat indices ``places``, as a flat tensor."""
        kind, count, names = draw["kind"], len(places), {**names, "i": places}
        if kind == "zeros":
            return torch.zeros(count, dtype=dtype)
        if kind == "formula":
            return torch.as_tensor(self._number(draw["formula"], names)).to(dtype).expand(count).clone()
        if kind == "randint":
            low, high = (int(self._number(draw[end], names)) for end in ("low", "high"))
            return torch.randint(low, high, (count,), generator=generator, dtype=torch.int64).to(dtype)
        wide = dtype if dtype.itemsize >= 4 and (dtype.is_floating_point or dtype.is_complex) else torch.float32
        values = (torch.randn if kind == "normal" else torch.rand)(count, generator=generator, dtype=wide)
        if kind == "uniform" and draw["high"]:
            low, high = (self._number(draw[end], names) for end in ("low", "high"))
            values = low + values * (high - low)
        scaled: torch.Tensor = values * (self._number(draw["scale"], names) * factor)
        return scaled.to(dtype)

    def _scalar(self, draw: Message, names: Message) -> Any:
        return self._number(draw["formula"], names) if draw["kind"] == "formula" else draw["value"]

    def _group(self, draw: Message, names: Message) -> GroupOf | None:
        if not self._number(draw["when"], names):
            return None
        places = [self._number(draw["formula"], {**names, "rank": rank}) for rank in range(self._world)]
        return GroupOf(tuple(rank for rank, place in enumerate(places) if place == places[self._rank]))

    def _number(self, text: str, names: Message) -> Any:
        """A formula's value: a number, or a tensor where it depends on ``i``."""
        return parse(str(text)).evaluate(names)

    def _names(self, trial: int, number: int, call: int) -> Message:
        nonce = torch.randint(1 << 30, (), generator=self._generator(number, call, "nonce"))
        return {**self._symbols, "rank": self._rank, "trial": trial, "nonce": int(nonce)}

    def _same(self, draw: Message, names: Message) -> int:
        return int(self._number(draw["same"], names))

    def _generator(self, number: int, call: int, what: int | str, same: int = 0) -> torch.Generator:
        """A generator that is a function of these alone; ranks that give the same ``same`` get the same one."""
        return generator_of(self._seed, f"{number}/{call}/{what}/{same}")


def _one_in_each_part(count: int, parts: int, generator: torch.Generator) -> torch.Tensor:
    """An index out of each of so many equal parts of ``range(count)``, rising: as good as any, and without a sort."""
    starts, widths = _parts(count, parts)
    return starts + (torch.rand(parts, generator=generator, dtype=torch.float64) * widths).long()


@functools.lru_cache(maxsize=16)
def _parts(count: int, parts: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Where each part begins, and how long it is."""
    bounds = torch.arange(parts + 1) * count // parts
    return bounds[:-1], bounds.diff()


def generator_of(seed: bytes, label: str) -> torch.Generator:
    """A generator that is a function of seed and label alone."""
    digest = hashlib.blake2b(label.encode(), key=seed, digest_size=8).digest()
    generator = torch.Generator()
    generator.manual_seed(int.from_bytes(digest, "big") >> 1)
    return generator


def is_checked(seed: bytes, number: int, call: int) -> bool:
    """Whether the result of a timed call is compared: one in ten, the same calls on all ranks."""
    return float(torch.rand((), generator=generator_of(seed, f"{number}/{call}/check"))) < _CHECKED_SHARE


def _compiled(code: str, problem: str) -> Callable[[Case], dict[str, Any]]:
    """The function ``inputs`` of a problem's inputs.py."""
    names: dict[str, Any] = {"__name__": f"{problem}_inputs"}
    exec(compile(code, f"{problem}/inputs.py", "exec"), names)
    found: Callable[[Case], dict[str, Any]] = names.get("inputs", lambda _case: {})
    return found


def _count(spec: Message) -> int:
    """Elements of an argument; a linear layer has its bias behind its weight."""
    shape: list[int] = spec["shape"]
    return math.prod(shape) + (shape[0] if spec["kind"] == "linear" else 0)


def _shaped(kind: str, flat: torch.Tensor, shape: list[int]) -> Any:
    if kind == "linear":
        weight, bias = torch.split(flat, [math.prod(shape), shape[0]])
        return linear(weight.reshape(shape), bias)
    tensor = flat.reshape(shape)
    return [item.clone() for item in tensor] if kind == "tensors" else tensor

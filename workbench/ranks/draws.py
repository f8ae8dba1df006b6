"""Inputs from a secret seed: whole draws for trials, and the few elements that change before every timed call.

Every value is a pure function of (seed, draw number, timed call, argument, rank), so that judge ranks agree on shared
values and on which calls are checked without talking to each other. The seed never leaves the judge.
"""

from __future__ import annotations

import copy
import hashlib
import math
from dataclasses import dataclass
from typing import Any

import torch

from problems.formula import parse
from workbench.ranks.channel import Message
from workbench.ranks.transport import DTYPES

_MIN_CANARIES = 16
_CHECKED_SHARE = 0.1


@dataclass(frozen=True)
class Delta:
    """New values of some elements of one argument: flat indices (int64, unique) and values."""

    argument: int
    indices: torch.Tensor
    values: torch.Tensor


class InputSource:
    """Draws one rank's arguments, as the problem's job (``problems.binding.judge_job``) declares them."""

    def __init__(self, job: Message, seed: str, rank: int) -> None:
        self._inputs: list[Message] = job["inputs"]
        self._symbols: dict[str, Any] = job["symbols"]
        self._seed = bytes.fromhex(seed)
        self._rank = rank

    def draw(self, number: int, trial: int, stock: bool, scale: float) -> list[Any]:
        """All arguments in call order: the published distribution if ``stock``, else the judged one times ``scale``."""
        return [self._argument(place, spec, number, trial, stock, scale) for place, spec in enumerate(self._inputs)]

    def deltas(self, number: int, call: int) -> list[Delta]:
        """What changes before timed call ``call`` of draw ``number``."""
        found = [self._delta(place, spec, number, call) for place, spec in enumerate(self._inputs)]
        return [delta for delta in found if delta is not None]

    def checked(self, number: int, call: int) -> bool:
        """Whether the result of this timed call is compared; the same on all ranks."""
        chance = torch.rand((), generator=self._generator(number, call, "check"))
        return float(chance) < _CHECKED_SHARE

    def _argument(self, place: int, spec: Message, number: int, trial: int, stock: bool, scale: float) -> Any:
        draw = spec["draw"] if stock or spec["judged"] is None else spec["judged"]
        if spec["kind"] != "tensor":
            return copy.deepcopy(self._scalar(draw, trial, number))
        dtype, shape = DTYPES[spec["dtype"]], spec["shape"]
        if draw["only_rank"] not in (None, self._rank):
            return torch.zeros(shape, dtype=dtype)
        generator = self._generator(number, -1, place, shared=draw["shared"])
        factor = scale if spec["scaled"] and not stock else 1.0
        places = torch.arange(math.prod(shape))
        flat = self._values(draw, places, dtype, generator, self._names(trial, number, -1), factor)
        return flat.reshape(shape)

    def _delta(self, place: int, spec: Message, number: int, call: int) -> Delta | None:
        draw = spec["judged"] or spec["draw"]
        count = math.prod(spec["shape"]) if spec["kind"] == "tensor" else 0
        idle = draw["kind"] in ("zeros", "value") or draw["only_rank"] not in (None, self._rank)
        if not count or not spec["canary"] or idle:
            return None
        generator = self._generator(number, call, place, shared=draw["shared"])
        dtype, names = DTYPES[spec["dtype"]], self._names(0, number, call)
        if spec["canary"] >= 1:
            places = torch.arange(count)
            return Delta(place, places, self._values(draw, places, dtype, generator, names, 1.0))
        wanted = min(count, max(_MIN_CANARIES, math.ceil(spec["canary"] * count)))
        indices = torch.unique(torch.randint(count, (wanted,), generator=generator))
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
        drawn = torch.randn if kind == "normal" else torch.rand
        values = drawn(count, generator=generator, dtype=dtype if dtype.is_floating_point else torch.float32)
        scaled: torch.Tensor = values * (self._number(draw["scale"], names) * factor)
        return scaled.to(dtype)

    def _scalar(self, draw: Message, trial: int, number: int) -> Any:
        if draw["kind"] == "formula":
            return self._number(draw["formula"], self._names(trial, number, -1))
        return draw["value"]

    def _number(self, text: str, names: Message) -> Any:
        """A formula's value: a number, or a tensor where it depends on ``i``."""
        return parse(str(text)).evaluate(names)

    def _names(self, trial: int, number: int, call: int) -> Message:
        nonce = torch.randint(1 << 30, (), generator=self._generator(number, call, "nonce"))
        return {**self._symbols, "rank": self._rank, "trial": trial, "nonce": int(nonce)}

    def _generator(self, number: int, call: int, what: int | str, shared: bool = True) -> torch.Generator:
        label = f"{number}/{call}/{what}/{'all' if shared else self._rank}".encode()
        digest = hashlib.blake2b(label, key=self._seed, digest_size=8).digest()
        generator = torch.Generator()
        generator.manual_seed(int.from_bytes(digest, "big") >> 1)
        return generator

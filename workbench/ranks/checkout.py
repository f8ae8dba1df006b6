"""Arguments from a ParallelKernelBench checkout: its generator runs on baseline ranks, the judge takes what it made.

The generator needs a process group (it makes sub-groups), which judges are not in. Its seeds are public and fixed, as
in the benchmark; before timed calls a few elements of its floating tensors change places, so that an old result shows.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from workbench.ranks.channel import Message
from workbench.ranks.draws import Delta, generator_of, is_checked
from workbench.ranks.transport import DTYPES
from workbench.ranks.tree import plain

_MODULE = "pkwb_checkout_inputs"
_FUNCTION = "create_input_tensor"
_SHARE, _LEAST = 1 / 256, 16
_FEW_VALUES = 16
"""Tensors with fewer different values are masks, one-hot codes or constants, which changed places could break."""


def generate(spec: Message, trial: int, device: torch.device) -> tuple[Any, ...]:
    """The arguments that the checkout's generator makes for this rank, each as ``plain`` gives it."""
    rank, world = dist.get_rank(), dist.get_world_size()
    make = getattr(_module(Path(spec["file"])), _FUNCTION)
    shape, dtype = tuple(spec["shape"]), DTYPES[spec["dtype"]]
    made = make(rank, world, spec["number"], shape, dtype, trial=trial, device=device)
    if not isinstance(made, (tuple, list)):
        raise TypeError(f"{_FUNCTION} returned a {type(made).__name__}, not the tuple of arguments")
    return tuple(map(plain, made))


class CheckoutInputs:
    """The judge's view of the generator, with the interface of ``draws.InputSource``."""

    def __init__(self, seed: str, rank: int, ask: Callable[[int], list[Any]]) -> None:
        self._seed = bytes.fromhex(seed)
        self._rank = rank
        self._ask = ask
        self._made: list[Any] = []

    def draw(self, number: int, trial: int, stock: bool, scale: float) -> list[Any]:
        """The generator's arguments of a trial; neither attempt nor scale changes them."""
        self._made = self._ask(trial)
        return self._made

    def deltas(self, number: int, call: int) -> list[Delta]:
        """Elements that take the value of another one of their tensor before timed call ``call``."""
        found = [self._delta(place, value, number, call) for place, value in enumerate(self._made)]
        return [delta for delta in found if delta is not None]

    def checked(self, number: int, call: int) -> bool:
        """Whether the result of this timed call is compared; the same on all ranks."""
        return is_checked(self._seed, number, call)

    def _delta(self, place: int, value: Any, number: int, call: int) -> Delta | None:
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or not _has_many_values(value):
            return None
        flat = value.reshape(-1)
        random = generator_of(self._seed, f"{number}/{call}/{place}/{self._rank}")
        wanted = min(flat.numel(), max(_LEAST, math.ceil(_SHARE * flat.numel())))
        places, sources = (torch.randint(flat.numel(), (wanted,), generator=random) for _ in range(2))
        places = torch.unique(places)
        return Delta(place, places, flat[sources[: len(places)]])


def _has_many_values(tensor: torch.Tensor) -> bool:
    sample = tensor.reshape(-1)[:4096]
    return tensor.is_floating_point() and len(torch.unique(sample.double())) >= _FEW_VALUES


def _module(path: Path) -> Any:
    """The generator's file as a module; what it imports from its own ``utils`` is found beside it."""
    if _MODULE not in sys.modules:
        importlib.import_module("utils").__path__.append(str(path.parent))
        spec = importlib.util.spec_from_file_location(_MODULE, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[_MODULE] = module
    return sys.modules[_MODULE]

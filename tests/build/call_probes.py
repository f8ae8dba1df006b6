"""Calls every function of semantics.cpp with many kinds of arguments and prints what came of each: one JSON list.

Run as a program, with the folder of the built module `semantics`: a fresh process for every build.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch


class Index:
    """Can stand for an int as an index."""

    def __index__(self) -> int:
        return 5


class Whole:
    """Can be made an int."""

    def __int__(self) -> int:
        return 6


class Real:
    """Can be made a float."""

    def __float__(self) -> float:
        return 7.5


def odd_values() -> list[Any]:
    """Values that functions must take or refuse as pybind11 does."""
    tensor = torch.arange(6.0).view(2, 3)
    numbers: list[Any] = [0, 1, -1, True, 1.0, 1.5, 300, 2**31, 2**32, 2**63, 2**64, 1 + 2j]
    numbers += [numpy.int64(3), numpy.float32(3.0), numpy.float64(2.5), numpy.bool_(True), Index(), Whole(), Real()]
    tensors: list[Any] = [tensor, torch.nn.Parameter(tensor), torch.tensor(3), torch.tensor(3.5), torch.tensor(True)]
    texts: list[Any] = [None, "x", "", "h\u00e9", "\udc80", b"x", bytearray(b"x")]
    many: list[Any] = [[], [1], (1, 2), [1.5], [True], [None], [[1], [2]], range(3), iter([1]), {1, 2}, {1: 2}.keys()]
    many += [numpy.array([1, 2]), [tensor], (tensor, tensor), {1: 2}, (i for i in (1, 2)), map(int, [1, 2]), object]
    return numbers + tensors + texts + many


def outcome(function: Callable[..., Any], *args: Any, **named: Any) -> str:
    """The result of a call in words, or class and first sentence of its error; of a refusal the class alone."""
    try:
        return _words(function(*args, **named))
    except Exception as error:
        text = str(error)
        refusal = isinstance(error, TypeError) and "incompatible function arguments" in text
        kinds = [kind.__name__ for kind in type(error).__mro__[:-2]]
        return f"{kinds} {'refused' if refusal else text.split('.  ')[0].rstrip('.')}"


def _words(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{type(value).__name__} {value.dtype} {tuple(value.shape)} {value.device} {value.tolist()}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}[{', '.join(_words(item) for item in value)}]"
    return f"{type(value).__name__} {value!r}"


def _calls(module: Any) -> Iterator[tuple[str, str]]:
    for kind in range(15):
        yield f"fails({kind})", outcome(module.fails, kind)
    tensors = {
        "plain": torch.arange(6.0).view(2, 3),
        "turned": torch.arange(6.0).view(2, 3).t(),
        "part": torch.arange(6.0)[2:],
        "bfloat16": torch.ones(3, dtype=torch.bfloat16),
        "scalar": torch.tensor(2.0),
        "empty": torch.empty(0, 3),
        "sparse": torch.eye(3).to_sparse(),
        "meta": torch.empty(3, device="meta"),
        "many dimensions": torch.zeros([1] * 12),
        "float8": torch.zeros(4, dtype=torch.float8_e4m3fn),
        "complex": torch.zeros(4, dtype=torch.complex64),
    }
    for name, tensor in tensors.items():
        for question in range(21):
            yield f"asks({name}, {question})", outcome(module.asks, tensor, question)
    for question in range(7):
        yield f"asks_nothing({question})", outcome(module.asks_nothing, question)
    for way in range(16):
        yield f"makes({way})", outcome(module.makes, tensors["plain"], way)
    takers = "int8 uint64 int64 unsigned_int float32 float64 boolean string tensors ints floats nested maybe maybe_int"
    for taker in (*takers.split(), "same", "same_again", "four", "two", "dtype", "kept", "defaults"):
        for place, value in enumerate(odd_values()):
            yield f"{taker}({place}: {type(value).__name__})", outcome(getattr(module, taker), value)
    yield from _shapes_of_calls(module, tensors["plain"])


def _shapes_of_calls(module: Any, tensor: torch.Tensor) -> Iterator[tuple[str, str]]:
    yield "named", outcome(module.asks, tensor=tensor, question=1)
    yield "half named", outcome(module.asks, tensor, question=1)
    yield "wrong name", outcome(module.asks, tensor, wrong=1)
    yield "given twice", outcome(module.asks, tensor, tensor=tensor)
    yield "too few", outcome(module.asks, tensor)
    yield "too many", outcome(module.asks, tensor, 1, 2)
    yield "no argument", outcome(module.nothing)
    yield "one too many", outcome(module.nothing, 1)
    yield "unnamed by name", outcome(module.int8, arg0=1)
    yield "all defaults", outcome(module.defaults, tensor)
    yield "some defaults", outcome(module.defaults, tensor, sizes=[4], mode="max")
    yield "default argument", outcome(module.fails)
    for name in ("no_tensor", "words", "maybe_int"):
        yield name, outcome(getattr(module, name))
    parameter = torch.nn.Parameter(tensor)
    yield "same object", str(module.same(parameter) is parameter and module.tensors([tensor])[0] is tensor)
    yield "doc", f"{module.__doc__} {module.fails.__doc__.splitlines()[2:]} {module.fails.__name__}"


def main() -> None:
    """Print a list of pairs: the call, what came of it."""
    sys.path.insert(0, sys.argv[1])
    import semantics

    print(json.dumps([(call, re.sub(r"0x[0-9a-f]+", "0x", came)) for call, came in _calls(semantics)], indent=0))


if __name__ == "__main__":
    main()

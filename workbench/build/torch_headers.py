"""Which of torch's own headers a full build can leave out: most texts name little of what torch/extension.h brings.

They are replaced by empty ones, or by a few of those that they include. More declarations could change the meaning of
a text only by names that it uses, so such texts get them; what needs more does not compile, and gets all headers, too.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from workbench.build.keys import stands_alone
from workbench.build.model import Request, Toolchain
from workbench.build.own_names import is_operator, may_declare, read
from workbench.build.slim.headers import included, provided_by

Without = Literal["modules", "operators"]
"""What is left out: torch's modules for C++ (networks, optimizers, data); also its operators as functions."""

FOLDER = "fewer"
"""Name of the folder with the replaced headers in a job's folder, where compilers look first."""

_MODULES: Mapping[str, tuple[str, ...]] = {
    "torch/data.h": (),
    "torch/jit.h": (),
    "torch/nn.h": (),
    "torch/optim.h": (),
    "torch/serialize.h": (),
    "torch/python.h": (
        "torch/types.h",
        "torch/csrc/Device.h",
        "torch/csrc/Dtype.h",
        "torch/csrc/DynamicTypes.h",
        "torch/csrc/Exceptions.h",
        "torch/csrc/autograd/python_variable.h",
        "torch/csrc/utils/pybind.h",
        "torch/csrc/utils/python_numbers.h",
        "torch/csrc/utils/python_tuples.h",
    ),
}
_OPERATORS: Mapping[str, tuple[str, ...]] = {
    **_MODULES,
    "ATen/Functions.h": (),
    "ATen/NativeFunctions.h": (),
    "ATen/ScalarOps.h": (),
    "ATen/TensorIndexing.h": (),
    "ATen/TensorOperators.h": (),
    "torch/csrc/autograd/generated/variable_factories.h": (),
    "torch/csrc/autograd/variable.h": (),
    "torch/library.h": (),
    "torch/all.h": ("torch/types.h", "torch/cuda.h", "torch/version.h"),
    "torch/python.h": ("torch/types.h", "torch/csrc/Exceptions.h", "torch/csrc/utils/pybind.h"),
}
REPLACED: Mapping[Without, Mapping[str, tuple[str, ...]]] = {"modules": _MODULES, "operators": _OPERATORS}
"""The headers that are replaced, with the headers that stand in their place."""

_WHOLE_NAMESPACE = re.compile(r"\bnamespace\s+(\w+\s*=\s*)?(::\s*)?(torch|at|c10)\b")
"""Taken in, opened or renamed: any name of torch's may mean something else."""
_OF_MODULES = re.compile(r"\btorch\s*::\s*(data|jit|nn|optim|serialize|python|save|load|pickle_\w+|OrderedDict)\b")
_OF_OPERATORS = re.compile(r"\b(autograd|indexing|_ops|native)\s*::|\bTORCH_LIBRARY")
_OF_SYMBOLS = re.compile(r"\boperator\b(?!\s*\(\s*\))|##|\bu?8?[LU]?R\"")
"""Own operators, which could be torch's, names that are put together, and texts that are not looked into."""
_QUALIFIED = re.compile(r"\b(?:at|torch)\s*::\s*(\w+)")


def left_out(request: Request, toolchain: Toolchain) -> Without | None:
    """What the texts of a request have no use for; None where all headers are needed, or that cannot be told."""
    whole = f"{request.cuda}\n{request.cpp}"
    text = read(whole)
    if provided_by("torch/python.h", toolchain.torch_includes) is None or not stands_alone(request, linked=False):
        return None
    named = set(included(whole))
    if _WHOLE_NAMESPACE.search(text) or _OF_MODULES.search(text) or named & _MODULES.keys():
        return None
    if _OF_OPERATORS.search(text) or _OF_SYMBOLS.search(whole) or named & _OPERATORS.keys():
        return "modules"
    return "modules" if any(_operators(text, toolchain)) else "operators"


def with_fewer(toolchain: Toolchain, without: Without | None) -> Toolchain:
    """Tools whose compilers take the replaced headers that were written into their job's folder."""
    if without is None:
        return toolchain
    return dataclasses.replace(toolchain, torch_includes=(f"{FOLDER}/{without}", *toolchain.torch_includes))


def write(without: Without | None, toolchain: Toolchain, place: Path) -> None:
    """Write the replaced headers, those that this torch has, into a job's folder."""
    if without is None:
        return
    for header, instead in REPLACED[without].items():
        if provided_by(header, toolchain.torch_includes) is None:
            continue
        file = place / FOLDER / without / header
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = (f"#include <{one}>\n" for one in instead if provided_by(one, toolchain.torch_includes))
        file.write_text("#pragma once\n" + "".join(lines), encoding="ascii")


def _operators(text: str, toolchain: Toolchain) -> Iterator[str]:
    """Names of torch's operators that a text uses as such, or may have functions of its own by."""
    for name in {*_QUALIFIED.findall(text), *may_declare(text)}:
        if is_operator(name, toolchain.torch_includes):
            yield name

"""Which of torch's headers the slim ones stand for, and a folder of them for one torch."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = "slim"
"""Name of the folder that is written into a job's folder."""

STANDS_FOR: Mapping[str, tuple[str, ...]] = {
    "base": (
        "torch/types.h",
        "torch/all.h",
        "torch/torch.h",
        "ATen/ATen.h",
        "ATen/Tensor.h",
        "ATen/Dispatch.h",
        "ATen/core/Tensor.h",
        "ATen/DeviceGuard.h",
        "c10/core/Device.h",
        "c10/core/DeviceType.h",
        "c10/core/ScalarType.h",
        "c10/core/TensorOptions.h",
        "c10/macros/Macros.h",
        "c10/util/ArrayRef.h",
        "c10/util/BFloat16.h",
        "c10/util/Exception.h",
        "c10/util/Float8_e4m3fn.h",
        "c10/util/Float8_e5m2.h",
        "c10/util/Half.h",
        "c10/util/Optional.h",
        "c10/util/complex.h",
    ),
    "extension": ("torch/extension.h", "torch/python.h", "torch/csrc/utils/pybind.h"),
    "module": ("pybind11/pybind11.h", "pybind11/stl.h"),
    "cuda_error": ("c10/cuda/CUDAException.h", "c10/cuda/CUDAFunctions.h"),
    "cuda_stream": ("c10/cuda/CUDAStream.h",),
    "cuda_guard": ("c10/cuda/CUDAGuard.h",),
    "cuda_checks": ("ATen/cuda/Exceptions.h",),
    "cuda_context": ("ATen/cuda/CUDAContext.h", "ATen/cuda/CUDAContextLight.h"),
}
"""By slim header, without folder and ending: the headers of torch that it stands for."""

NUMBER_TYPES = ("BFloat16", "Half", "Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e5m2", "Float8_e5m2fnuz")
"""Header-only number types that torch must ship: kernels must round as the full build's do."""
COMPLEX = "complex"
"""One more, for sources that name it: its header takes long."""

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_TORCH_FOLDERS = ("torch/", "ATen/", "c10/", "caffe2/", "pybind11/")


@functools.cache
def known() -> Mapping[str, str]:
    """The slim header of each header of torch that has one."""
    return {header: slim for slim, headers in STANDS_FOR.items() for header in headers}


def provided_by(header: str, includes: tuple[str, ...]) -> Path | None:
    """The file of a header in torch's include folders."""
    return next((path for folder in includes if (path := Path(folder, header)).is_file()), None)


def included(text: str) -> list[str]:
    """The headers that a text includes by name."""
    return _INCLUDE.findall(text)


def names_complex(text: str) -> bool:
    """Whether a source uses complex numbers."""
    return COMPLEX in text.lower()


def missing_number_type(text: str, includes: tuple[str, ...]) -> str:
    """The first header-only number type that a source needs and this torch does not ship; empty when it ships all."""
    needed = (*NUMBER_TYPES, COMPLEX) if names_complex(text) else NUMBER_TYPES
    names = (f"torch/headeronly/util/{name}.h" for name in needed)
    return next((name for name in names if provided_by(name, includes) is None), "")


def foreign_header(text: str, includes: tuple[str, ...]) -> str:
    """The first header of torch that a text includes, and that has no slim counterpart or is not in this torch."""
    for header in included(text):
        belongs = header.startswith(_TORCH_FOLDERS)
        slim = header in known() or header.startswith("torch/headeronly/")
        if belongs and not (slim and provided_by(header, includes)):
            return header
    return ""


def write(folder: Path, includes: tuple[str, ...]) -> None:
    """Fill a folder with the slim headers that stand for what torch really has, and a link to its header-only types."""
    for header, slim in known().items():
        if provided_by(header, includes) is not None:
            path = folder / header
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#pragma once\n#include <pkwb/{slim}.h>\n", encoding="utf-8")
    number_type = provided_by("torch/headeronly/util/Half.h", includes)
    link = folder / "torch/headeronly"
    if number_type is not None and not link.is_symlink():
        link.symlink_to(number_type.parent.parent, target_is_directory=True)


@functools.cache
def digest() -> str:
    """Changes with every slim header and with the runtime."""
    whole = hashlib.sha256()
    for path in sorted((*HERE.rglob("*.h"), *HERE.rglob("*.cpp"), *HERE.glob("*.py"))):
        whole.update(path.relative_to(HERE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()[:16]

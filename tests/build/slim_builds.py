"""Builds for tests, without the service: the commands of a slim build, and plain ones with torch's own headers."""

from __future__ import annotations

import functools
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest

from workbench.build import fast
from workbench.build.model import CPP_UNIT, CUDA_UNIT, Request, Toolchain
from workbench.build.toolchain import find_toolchain

STUBS = Path(__file__).parent / "toolkit_stubs"
CUDA_PRELUDE = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
CPP_PRELUDE = "#include <torch/extension.h>\n"


class CompileError(Exception):
    """A compiler refused a text; its output."""


@functools.cache
def tools() -> Toolchain:
    """The compilers and the torch of this machine."""
    return find_toolchain()


def needs_cxx() -> None:
    """Skip where C++ cannot be compiled against torch."""
    if not (tools().cxx and tools().torch_root):
        pytest.skip("needs g++ and torch")


def needs_nvcc() -> None:
    """Skip where CUDA cannot be compiled."""
    needs_cxx()
    if not (tools().nvcc and tools().cuda_home):
        pytest.skip("needs nvcc and CUDA's headers")


def write_units(request: Request, folder: Path) -> None:
    """The job's folder as the service prepares it."""
    fast.write_headers(tools(), folder)
    if request.cuda:
        (folder / CUDA_UNIT).write_text(CUDA_PRELUDE + request.cuda, encoding="utf-8")
    if request.cpp:
        (folder / CPP_UNIT).write_text(CPP_PRELUDE + request.cpp, encoding="utf-8")


def build_slim(request: Request, folder: Path, runtime: Path) -> Path:
    """The library of a request, made in a folder. Raises CompileError."""
    write_units(request, folder)
    if not runtime.exists():
        run(fast.runtime_commands(tools(), str(runtime))[0].argv, folder)
    library = f"{request.name}.so"
    for stage in fast.slim_commands(request, tools(), "90", str(runtime), library):
        for command in stage:
            run(command.argv, folder)
    return folder / library


def compile_slim(request: Request, folder: Path) -> None:
    """Compile the one unit of a request, without linking it. Raises CompileError."""
    write_units(request, folder)
    run(fast.slim_commands(request, tools(), "90", "", "")[0][0].argv, folder)


def real_flags(name: str) -> tuple[str, ...]:
    """What every compilation with torch's own headers needs."""
    includes = (*tools().torch_includes, sysconfig.get_paths()["include"], str(STUBS))
    defines = (f"-DTORCH_EXTENSION_NAME={name}", "-DTORCH_API_INCLUDE_EXTENSION_H")
    return (f"-std=c++{tools().std}", *defines, *(f"-I{folder}" for folder in includes))


def build_real(name: str, cpp: str, folder: Path) -> Path:
    """The library of a C++ text with torch's own headers."""
    (folder / CPP_UNIT).write_text(CPP_PRELUDE + cpp, encoding="utf-8")
    library = folder / f"{name}.so"
    flags = ("-O0", "-fPIC", "-shared", *real_flags(name), CPP_UNIT, "-o", str(library))
    libraries = ("-Wl,--no-as-needed", "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python")
    run((tools().cxx, *flags, f"-L{tools().torch_lib}", *libraries), folder)
    return library


def run(argv: Sequence[str], folder: Path) -> str:
    """Run a compiler in a folder. Raises CompileError with what it said."""
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise CompileError(done.stdout + done.stderr)
    return done.stdout


def python(text: str, *args: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", text, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout

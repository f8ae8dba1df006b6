"""Compiler processes of a slim build: the same text, flags and library as a full build, with small headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from workbench.build.flags import names_architecture
from workbench.build.model import CPP_UNIT, CUDA_UNIT, Command, Request, Toolchain
from workbench.build.own_names import clash, read
from workbench.build.slim import headers, standard
from workbench.build.toolchain import link_flags

VERSION = headers.digest()
"""Changes with every slim header and with the runtime: part of a library's key."""

_INCLUDE = headers.HERE / "include"
_RUNTIME = headers.HERE / "runtime"

_LEFT_TO_FULL: Mapping[str, str] = {
    r"\bstd::(thread|jthread|async)\b|\bpthread_create\b": "threads of its own",
    r"\bgil_scoped_(release|acquire)\b|\bcall_guard\b": "the interpreter lock",
    r"\bTORCH_(LIBRARY\w*|STABLE_ONLY|TARGET_VERSION)\b": "operators in torch's registry",
    r"\bnamespace\s+(torch|at|c10)\b[\s:\w]*\{": "a namespace of torch's",
    r"\boperator\s*[-+*/%&|^<>=!~]+\s*\([^()]*\bTensor\b": "an operator of its own for tensors",
    r"\bPyObject\b|\bPy_\w+|\bPy[A-Z]\w*_\w+|[<\"]Python\.h[>\"]": "Python's C interface",
    r"\b(aoti_torch|torch_call_dispatcher|pkwb)": "names that slim headers keep for themselves",
}
"""What slim headers have no right answer for, as patterns of the text, and in words."""


def obstacle(request: Request, toolchain: Toolchain) -> str:
    """Why a slim build cannot be tried; empty when it can. Cheap: it reads the text and looks for a few files."""
    if not toolchain.torch_includes or not toolchain.cxx:
        return "torch or the C++ compiler was not found"
    if not Path(toolchain.python_include, "Python.h").is_file():
        return "Python.h was not found: install the development files of the ranks' Python"
    text = request.cuda + "\n" + request.cpp
    if missing := headers.missing_number_type(text, toolchain.torch_includes):
        return f"torch {toolchain.torch} has no {missing}"
    if header := headers.foreign_header(text, toolchain.torch_includes):
        return f"it includes {header}"
    if name := clash(read(text), toolchain.torch_includes):
        return f"it calls a function {name} of its own, as torch has one"
    return next((f"it uses {what}" for pattern, what in _LEFT_TO_FULL.items() if re.search(pattern, text)), "")


def write_headers(toolchain: Toolchain, folder: Path) -> None:
    """Write the slim headers for this torch into a job's folder, where the commands look for them."""
    headers.write(folder / headers.FOLDER, toolchain.torch_includes)


def runtime_key(toolchain: Toolchain) -> str:
    """What the compiled runtime depends on."""
    parts = (VERSION, toolchain.soabi, toolchain.python_include, toolchain.cxx, toolchain.cxx_version)
    return "\n".join((*parts, toolchain.torch, str(toolchain.std), str(toolchain.cxx11_abi)))


def runtime_commands(toolchain: Toolchain, out: str) -> tuple[Command, ...]:
    """Compile the one unit that knows Python to the object file ``out``."""
    argv = (
        *(toolchain.cxx, "-O2", *_host_flags(toolchain), f"-I{toolchain.python_include}"),
        *("-c", str(_RUNTIME / "runtime.cpp"), "-o", out),
    )
    return (Command(argv=argv, output=out),)


def slim_commands(
    request: Request, toolchain: Toolchain, arch: str, runtime: str, out: str
) -> tuple[tuple[Command, ...], ...]:
    """Stages of a build in a job's folder; commands of one stage run at the same time, the last one makes ``out``.

    ``arch`` is a compute capability such as ``90``, used where the request names none; ``runtime`` the compiled one.
    """
    units = []
    if request.cuda:
        units.append(_cuda_unit(request, toolchain, arch))
    if request.cpp:
        units.append(_cpp_unit(request, toolchain))
    return (tuple(units), (_link(request, toolchain, [unit.output for unit in units], runtime, out),))


def _cuda_unit(request: Request, toolchain: Toolchain, arch: str) -> Command:
    architecture = () if names_architecture(request.cuda_flags) else (f"-gencode=arch=compute_{arch},code=sm_{arch}",)
    argv = (
        *(toolchain.nvcc, "-c", CUDA_UNIT, "-o", "cuda.o", "-MMD", "-MF", "cuda.cu.d", "-Xptxas=-v"),
        *_defines(request, toolchain),
        *(*_includes(request), *_standard(request.cuda_flags, toolchain), *toolchain.nvcc_flags, *architecture),
        *("--compiler-options=-fPIC,-fvisibility=hidden", *request.cuda_flags),
    )
    return Command(argv=argv, output="cuda.o")


def _cpp_unit(request: Request, toolchain: Toolchain) -> Command:
    toolkit = (f"-I{toolchain.cuda_home}/include",) if request.cuda else ()
    argv = (
        *(toolchain.cxx, "-c", CPP_UNIT, "-o", "main.o", "-MMD", "-MF", "main.cpp.d"),
        *_defines(request, toolchain),
        *(*_includes(request), *toolkit, *_standard(request.cpp_flags, toolchain)),
        *("-fPIC", "-fvisibility=hidden", *request.cpp_flags),
    )
    return Command(argv=argv, output="main.o")


def _link(request: Request, toolchain: Toolchain, objects: list[str], runtime: str, out: str) -> Command:
    cuda = bool(request.cuda)
    libraries = ["c10", "torch_cpu", "torch", "torch_python"]
    if cuda and toolchain.torch_cuda:
        libraries += ["c10_cuda", "torch_cuda"]
    toolkit = [f"-L{toolchain.cuda_home}/lib64", "-lcudart", f"-Wl,-rpath,{toolchain.cuda_home}/lib64"] if cuda else []
    argv = (
        *(toolchain.cxx, "-shared", *objects, runtime, f"-L{toolchain.torch_lib}", "-Wl,--no-as-needed"),
        *(*(f"-l{name}" for name in libraries), *toolkit, *request.ld_flags),
        *(*link_flags(toolchain), "-o", out),
    )
    return Command(argv=argv, output=out)


def _defines(request: Request, toolchain: Toolchain) -> tuple[str, ...]:
    text = request.cuda + request.cpp
    more = ["-DPKWB_COMPLEX"] if headers.names_complex(text) else []
    if re.search(r"\bcublas(?!Handle_t\b)\w|\bCUBLAS_", text):
        more.append("-DPKWB_CUBLAS")
    if request.includes or not standard.is_small(text):
        more.append("-DPKWB_WHOLE_STANDARD")
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(toolchain.cxx11_abi)}"
    return (f"-DTORCH_EXTENSION_NAME={request.name}", "-DTORCH_API_INCLUDE_EXTENSION_H", abi, *more)


def _includes(request: Request) -> tuple[str, ...]:
    return (f"-I{headers.FOLDER}", f"-I{_INCLUDE}", *(f"-I{folder}" for folder in request.includes))


def _standard(flags: tuple[str, ...], toolchain: Toolchain) -> tuple[str, ...]:
    return () if any(flag.startswith(("-std=", "--std=")) for flag in flags) else (f"-std=c++{toolchain.std}",)


def _host_flags(toolchain: Toolchain) -> tuple[str, ...]:
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(toolchain.cxx11_abi)}"
    return (f"-std=c++{toolchain.std}", "-fPIC", "-fvisibility=hidden", "-w", abi, f"-I{_INCLUDE}", f"-I{_RUNTIME}")

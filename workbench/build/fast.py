"""Compiler processes of a slim build: the same text, flags and library as a full build, with small headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from workbench.build.flags import names_architecture
from workbench.build.model import CPP_UNIT, CUDA_UNIT, Command, Request, Toolchain
from workbench.build.slim import headers

VERSION = headers.digest()
"""Changes with every slim header and with the runtime: part of a library's key."""

_INCLUDE = headers.HERE / "include"
_RUNTIME = headers.HERE / "runtime"

_LEFT_TO_FULL: Mapping[str, str] = {
    r"\bstd::(thread|jthread|async)\b|\bpthread_create\b": "threads of its own",
    r"\bgil_scoped_(release|acquire)\b|\bcall_guard\b": "the interpreter lock",
    r"\bTORCH_(LIBRARY\w*|STABLE_ONLY|TARGET_VERSION)\b": "operators in torch's registry",
    r"\bPyObject\b|\bPy_\w+|\bPy[A-Z]\w*_\w+|[<\"]Python\.h[>\"]": "Python's C interface",
    r"\b(aoti_torch|torch_call_dispatcher|pkwb)": "names that slim headers keep for themselves",
}
"""What slim headers have no right answer for, as patterns of the text, and in words."""


_SMALL_STANDARD = frozenset(
    """
    abs advance apply array back_inserter begin bool_constant cbegin ceil cend clamp conditional conditional_t copy copy_n
    cos count decay_t declval distance enable_if enable_if_t end equal exception exp fabs false_type fill fill_n find
    floor fmax fmin forward get index_sequence initializer_list int16_t int32_t int64_t int8_t integral_constant
    invalid_argument is_arithmetic_v is_convertible_v is_floating_point is_floating_point_v is_integral is_integral_v
    is_pointer_v is_same is_same_v is_signed_v is_unsigned_v isfinite isinf isnan log log2 logic_error lround make_optional
    make_index_sequence make_pair make_tuple max max_element memcmp memcpy memset min min_element minmax move next nullopt
    nullopt_t numeric_limits optional ostringstream out_of_range pair pow ptrdiff_t remove_const_t remove_cv_t
    remove_reference_t reverse rint round runtime_error sin size_t sort sqrt string string_view stringstream swap tanh tie
    to_string transform true_type trunc tuple uint16_t uint32_t uint64_t uint8_t uintptr_t vector void_t
    """.split()
)
"""Names of the standard library that the small set of its headers has."""


def obstacle(request: Request, toolchain: Toolchain) -> str:
    """Why a slim build cannot be tried; empty when it can. Cheap: it reads the text and looks for a few files."""
    if not toolchain.torch_includes or not toolchain.cxx:
        return "torch or the C++ compiler was not found"
    if not Path(toolchain.python_include, "Python.h").is_file():
        return "Python.h was not found: install the development files of the ranks' Python"
    if missing := headers.missing_number_types(toolchain.torch_includes):
        return f"torch {toolchain.torch} has no {missing}"
    text = request.cuda + "\n" + request.cpp
    if header := headers.foreign_header(text, toolchain.torch_includes):
        return f"it includes {header}"
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


def syntax_command(request: Request, toolchain: Toolchain, arch: str) -> Command | None:
    """Parse the CUDA text as host code, without making code of it; None without CUDA text."""
    if not request.cuda:
        return None
    unit = _cuda_unit(request, toolchain, arch)
    words = [word for word in unit.argv if word not in ("-c", "-MMD", "-Xptxas=-v")]
    for flag in ("-o", "-MF"):
        place = words.index(flag)
        del words[place : place + 2]
    return Command(argv=(*words, "--cuda", "-o", "cuda.ii"), output="cuda.ii")


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
    libraries = ["c10", "torch_cpu", "torch"]
    if cuda and toolchain.torch_cuda:
        libraries += ["c10_cuda", "torch_cuda"]
    toolkit = [f"-L{toolchain.cuda_home}/lib64", "-lcudart", f"-Wl,-rpath,{toolchain.cuda_home}/lib64"] if cuda else []
    argv = (
        *(toolchain.cxx, "-shared", *objects, runtime, f"-L{toolchain.torch_lib}", "-Wl,--no-as-needed"),
        *(*(f"-l{name}" for name in libraries), *toolkit, *request.ld_flags, "-o", out),
    )
    return Command(argv=argv, output=out)


def _defines(request: Request, toolchain: Toolchain) -> tuple[str, ...]:
    text = request.cuda + request.cpp
    more = ["-DPKWB_COMPLEX"] if re.search(r"complex", text, re.IGNORECASE) else []
    if "using namespace std" in text or not _SMALL_STANDARD.issuperset(re.findall(r"\bstd::(\w+)", text)):
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

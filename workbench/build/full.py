"""The full build: what torch's own build of an extension does, for one architecture and without an empty unit."""

from __future__ import annotations

from pathlib import Path

from workbench.build.flags import names_architecture
from workbench.build.model import CPP_UNIT, CUDA_UNIT, Command, Request, Toolchain
from workbench.build.toolchain import link_flags

IMPLICIT = {
    CUDA_UNIT: ("torch/types.h", "cuda.h", "cuda_runtime.h"),
    CPP_UNIT: ("torch/extension.h",),
}
"""Headers that torch puts in front of a unit's text."""
_ROOM_FOR_HEADERS = "--param=ggc-min-heapsize=1500000"
"""KB of torch's headers that g++ takes in before it looks for memory to free: a tenth of its time, and 0.5 GB more."""
_STAND_IN = Path(__file__).parent / "stand_in"
"""For a CPU build of torch: the one header of its CUDA part that it lacks, so that CUDA text can be compiled."""


def unit_text(unit: str, text: str) -> str:
    """A unit's file: torch's implicit headers, then the text, whose lines count from 1 in messages."""
    includes = "".join(f"#include <{header}>\n" for header in IMPLICIT[unit])
    return f'{includes}#line 1 "{unit}"\n{text}\n'


def full_commands(
    request: Request, toolchain: Toolchain, arch: str, out: str, header: str = ""
) -> tuple[tuple[Command, ...], ...]:
    """Stages of commands that make the library ``out``; those of one stage may run at the same time.

    Without a CUDA build of torch CUDA text is compiled and not linked. ``header`` is a file that includes
    torch/extension.h and lies beside its precompiled form; empty for none.
    """
    compiled = []
    if request.cuda:
        compiled.append(_cuda_command(request, toolchain, arch))
    if request.cpp:
        compiled.append(_cpp_command(request, toolchain, header))
    if not toolchain.links(request):
        return (tuple(compiled),)
    return tuple(compiled), (_link_command(request, toolchain, [command.output for command in compiled], out),)


def precompiled_header_command(toolchain: Toolchain, request: Request, source: str, out: str) -> Command:
    """Compiles ``source``, which includes torch/extension.h, once for all C++ units with these flags."""
    argv = (toolchain.cxx, *_nameless(_cpp_flags(request, toolchain)), "-x", "c++-header", source, "-o", out)
    return Command(argv=argv, output=out)


def uses_precompiled_command(toolchain: Toolchain, request: Request, header: str) -> Command:
    """Has the compiler say which headers a C++ unit reads; a line ``! FILE`` stands for a precompiled one."""
    flags = ("-include", header, *_cpp_flags(request, toolchain))
    return Command(argv=(toolchain.cxx, *flags, "-H", "-fsyntax-only", CPP_UNIT), output="")


def _cuda_command(request: Request, toolchain: Toolchain, arch: str) -> Command:
    output = "cuda.o"
    own_arch = () if names_architecture(request.cuda_flags) else (f"-gencode=arch=compute_{arch},code=sm_{arch}",)
    standard = () if any(flag.startswith("-std=") for flag in request.cuda_flags) else (f"-std=c++{toolchain.std}",)
    argv = (
        toolchain.nvcc,
        *_common(request, toolchain),
        *toolchain.nvcc_flags,
        *own_arch,
        f"--compiler-options=-fPIC,{_ROOM_FOR_HEADERS}",
        *request.cuda_flags,
        *standard,
        *("-Xptxas=-v", "-MMD", "-MF", f"{CUDA_UNIT}.d"),
        *("-c", CUDA_UNIT, "-o", output),
    )
    return Command(argv=argv, output=output)


def _cpp_command(request: Request, toolchain: Toolchain, header: str) -> Command:
    output = "main.o"
    early = ("-include", header) if header else ()
    argv = (toolchain.cxx, *early, *_cpp_flags(request, toolchain), *("-MMD", "-MF", f"{CPP_UNIT}.d"))
    return Command(argv=(*argv, "-c", CPP_UNIT, "-o", output), output=output)


def _cpp_flags(request: Request, toolchain: Toolchain) -> tuple[str, ...]:
    return (*_common(request, toolchain), "-fPIC", _ROOM_FOR_HEADERS, f"-std=c++{toolchain.std}", *request.cpp_flags)


def _nameless(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Flags without the module's name, which torch's headers do not know: with it each module would need its own."""
    return tuple(flag for flag in flags if not flag.startswith("-DTORCH_EXTENSION_NAME="))


def _common(request: Request, toolchain: Toolchain) -> tuple[str, ...]:
    cuda = (f"{toolchain.cuda_home}/include",) if request.cuda and toolchain.cuda_home != "/usr" else ()
    stand_in = (str(_STAND_IN),) if request.cuda and not toolchain.torch_cuda else ()
    system = (*toolchain.torch_includes, *cuda, toolchain.python_include, *stand_in)
    return (
        f"-DTORCH_EXTENSION_NAME={request.name}",
        "-DTORCH_API_INCLUDE_EXTENSION_H",
        *(f"-I{folder}" for folder in request.includes),
        *(word for folder in system for word in ("-isystem", folder)),
    )


def _link_command(request: Request, toolchain: Toolchain, objects: list[str], out: str) -> Command:
    libraries = ["c10", "torch_cpu", "torch", "torch_python"]
    folders = [toolchain.torch_lib]
    if request.cuda:
        libraries += ["c10_cuda", "torch_cuda", "cudart"]
        folders += [f"{toolchain.cuda_home}/lib64"]
    argv = (
        *(toolchain.cxx, *objects, "-shared", *request.ld_flags),
        *(f"-L{folder}" for folder in folders),
        *(f"-l{library}" for library in libraries),
        *(*link_flags(toolchain), "-o", out),
    )
    return Command(argv=argv, output=out)

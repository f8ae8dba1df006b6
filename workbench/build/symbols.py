"""Names that a library lacks: what its text declares and uses, and neither the text nor any library defines.

The linker leaves such names to the loader, which refuses the library on every rank. A name counts as lacking only where
no library that a rank has loaded, or would load with it, can define it.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.build.elf import Elf, NotElf
from workbench.build.jobs import run_command
from workbench.build.model import CPP_UNIT, CUDA_UNIT, Command, Finding, Request, Toolchain
from workbench.build.names import declared_at, plain_name
from workbench.ranks.built import undefined_words

_OF_PYTHON = re.compile(r"_?Py")
"""Python's own functions, which its executable may hold."""
_OF_TORCH = re.compile(r"_Z(T[VTIS])?N[rVK]*[RO]?(2at|3c10|4c10d|5torch|6caffe2)")
_OF_DRIVERS = {"libcuda.so.1": "cu", "libnvidia-ml.so.1": "nvml"}
"""Libraries that machines without a GPU lack, and how the names in them begin."""
_SYSTEM = (
    *("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"),
    *("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"),
)
_DEMANGLE_S = 10.0
_MOST = 20


def lacking(library: Path, request: Request, toolchain: Toolchain) -> list[str]:
    """The names, as the linker has them, that keep a library from being loaded. Blocking; reads some tens of files.

    Empty where that cannot be told. Names that the request's text does not mention are left to the ranks.
    """
    text = f"{request.cuda}\n{request.cpp}"
    try:
        wanted = [name for name in Elf(library).lacking() if not _OF_PYTHON.match(name) and _mentions(text, name)]
    except (OSError, NotElf):
        return []
    return _nowhere(wanted, library, request, toolchain) if wanted else []


async def findings_of(names: Sequence[str], request: Request, place: Path) -> tuple[Finding, ...]:
    """An error for each of the names at the line that declares it; ``place`` is a folder to run a tool in."""
    readable = await _demangled(names[:_MOST], place)
    return tuple(_finding(name, shown, request) for name, shown in zip(names, readable))


def _nowhere(names: list[str], library: Path, request: Request, toolchain: Toolchain) -> list[str]:
    """Those of the names that no library defines."""
    left, absent = list(names), set[str]()
    if request.cuda and not toolchain.torch_cuda:  # what a CUDA build of torch brings along is not here
        left, absent = [name for name in left if not _OF_TORCH.match(name)], {"libtorch_cuda.so"}
    for provider, missing in _providers(library, request, toolchain):
        absent |= missing
        left = [name for name in left if provider is None or not provider.defines(name)]
        if not left:
            return []
    own = tuple(f"lib{flag[2:]}." for flag in request.ld_flags if flag.startswith("-l"))
    if any(name.startswith(own) for name in absent):
        return []
    return [name for name in left if name.startswith("_Z") or not _may_be_in(name, absent)]


def _may_be_in(name: str, absent: set[str]) -> bool:
    """Whether a C function may belong to a library that was not found."""
    return any(file not in _OF_DRIVERS or name.startswith(_OF_DRIVERS[file]) for file in absent)


def _providers(library: Path, request: Request, toolchain: Toolchain) -> Iterator[tuple[Elf | None, set[str]]]:
    """Libraries that a rank has, or loads with this one, and the names of such as were not found."""
    roots = [library, *Path(toolchain.torch_lib).glob("*.so*"), Path(toolchain.python).resolve()]
    folders = _folders(request, toolchain)
    seen: set[Path] = set()
    while roots:
        file = roots.pop(0)
        if file in seen:
            continue
        seen.add(file)
        try:
            elf = Elf(file)
            names, own = elf.needed()
            elf.defines("")
        except (OSError, NotElf):
            yield None, {file.name}
            continue
        beside = [Path(re.sub(r"\$ORIGIN|\$\{ORIGIN\}", str(file.parent), folder)) for folder in own]
        found = {name: _located(name, [*beside, *folders]) for name in names}
        roots += [path for path in found.values() if path is not None]
        yield (elf if file != library else None), {name for name, path in found.items() if path is None}


def _folders(request: Request, toolchain: Toolchain) -> list[Path]:
    """Where libraries are looked for, beside the folders that they name themselves."""
    given = [flag[2:] for flag in request.ld_flags if flag.startswith("-L")]
    given += [path for flag in request.ld_flags if "-rpath" in flag for path in re.split("[,=]", flag)[2:]]
    packages = Path(toolchain.torch_root).parent / "nvidia"
    python = Path(toolchain.python).resolve().parent.parent / "lib"
    found = [*given, toolchain.torch_lib, f"{toolchain.cuda_home}/lib64", str(python)]
    return [*map(Path, found), *packages.glob("*/lib"), *map(Path, _SYSTEM)]


def _located(name: str, folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        with contextlib.suppress(OSError, ValueError):
            if (folder / name).is_file():
                return (folder / name).resolve()
    return None


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(plain_name(name))}\b", text) is not None


def _finding(name: str, shown: str, request: Request) -> Finding:
    message = undefined_words(shown)
    for unit, text in ((CPP_UNIT, request.cpp), (CUDA_UNIT, request.cuda)):
        if line := declared_at(plain_name(name), text):
            return Finding(severity="error", message=message, unit=unit, line=line)
    return Finding(severity="error", message=message)


async def _demangled(names: Sequence[str], place: Path) -> list[str]:
    """The names as they are written in C++; as they are where there is no tool for that."""
    tool = shutil.which("c++filt")
    if not tool or not names:
        return list(names)
    done = await run_command(Command(argv=(tool, *names), output=""), place, _DEMANGLE_S)
    lines = done.output.splitlines()
    return [line.replace("pkwb::", "at::") for line in lines] if done.ok and len(lines) == len(names) else list(names)

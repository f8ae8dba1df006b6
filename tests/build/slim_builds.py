"""Builds for tests, without the service: the commands of a slim and of a full build, run in a folder."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from workbench.build import fast
from workbench.build.arch import choose_arch
from workbench.build.full import full_commands, unit_text
from workbench.build.model import CPP_UNIT, CUDA_UNIT, Command, Request, Toolchain
from workbench.build.toolchain import find_toolchain

STUBS = Path(__file__).parent / "toolkit_stubs"


class CompileError(Exception):
    """A compiler refused a text; its output."""


@functools.cache
def tools() -> Toolchain:
    """The compilers and the torch of this machine."""
    return find_toolchain()


@functools.cache
def arch() -> str:
    """What CUDA text is compiled for."""
    return choose_arch("")


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
    for unit, text in ((CUDA_UNIT, request.cuda), (CPP_UNIT, request.cpp)):
        if text:
            (folder / unit).write_text(unit_text(unit, text), encoding="utf-8")


def compile_command(request: Request, *, full: bool = False) -> tuple[str, ...]:
    """The compiler process of a request's one unit."""
    stages = full_commands(request, tools(), arch(), "k.so") if full else _slim_stages(request, "k.so", "runtime.o")
    return stages[0][0].argv


def compile_only(request: Request, folder: Path, *, full: bool = False) -> None:
    """Compile the one unit of a request, without linking it. Raises CompileError."""
    write_units(request, folder)
    run(compile_command(request, full=full), folder)


def build_slim(request: Request, folder: Path, runtime: Path) -> Path:
    """The library of a request, made in a folder. Raises CompileError."""
    write_units(request, folder)
    if not runtime.exists():
        run(fast.runtime_commands(tools(), str(runtime))[0].argv, folder)
    library = f"{request.name}.so"
    return _made(_slim_stages(request, library, str(runtime)), folder, library)


def build_full(request: Request, folder: Path) -> Path:
    """The same with torch's own headers."""
    write_units(request, folder)
    library = f"{request.name}.so"
    return _made(full_commands(request, tools(), arch(), library), folder, library)


def _slim_stages(request: Request, library: str, runtime: str) -> tuple[tuple[Command, ...], ...]:
    return fast.slim_commands(request, tools(), arch(), runtime, library)


def _made(stages: tuple[tuple[Command, ...], ...], folder: Path, library: str) -> Path:
    for stage in stages:
        for command in stage:
            run(command.argv, folder)
    return folder / library


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

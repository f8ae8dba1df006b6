"""Compilers of our own for tests: small scripts that do what the text that they are given says."""

from __future__ import annotations

from pathlib import Path

from workbench.build.model import Toolchain

_SCRIPT = """#!/bin/sh
here={here}
[ "$1" = --version ] && {{ echo "Cuda compilation tools, release {release}, V{release}.88"; exit 0; }}
case "$*" in *--dryrun*|-print-*) exit 0;; esac
echo "$*" >> "$here/calls"
out=; unit=
while [ $# -gt 0 ]; do
  case "$1" in -o) out="$2"; shift;; *.cu|*.cpp) unit="$1";; esac
  shift
done
if [ -n "$unit" ] && grep -q HANG "$unit"; then
  sleep 1000 &
  echo $! > "$here/child"
  mv "$here/child" "$here/hangs"
  wait
fi
if [ -n "$unit" ] && grep -q MEMORY "$unit"; then
  echo "nvcc error   : 'cicc' died due to signal 9 (Kill signal)"; exit 9
fi
if [ -n "$unit" ] && grep -q BROKEN "$unit"; then
  echo "cuda.cu(1): error: identifier \\"BROKEN\\" is undefined"; exit 2
fi
[ -n "$out" ] && {{ cat $unit > "$out"; echo "$here" >> "$out"; }}
exit 0
"""


def compiler(folder: Path, name: str = "nvcc", release: str = "13.0") -> Path:
    """An executable that stands for a compiler.

    It makes the file after ``-o``. A unit that says HANG makes it run for ever with a child, whose process id is in
    the file ``hangs``; MEMORY makes it fail as nvcc does without memory, BROKEN with an error in line 1. Each call is
    a line of the file ``calls``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(_SCRIPT.format(here=folder, release=release))
    program.chmod(0o755)
    return program


def calls(folder: Path) -> list[str]:
    """The calls of the compiler in a folder, but those that ask for its version and its files."""
    file = folder / "calls"
    return file.read_text().splitlines() if file.exists() else []


def toolchain(folder: Path, **more: str) -> Toolchain:
    """Tools that consist of this compiler and of a torch with CUDA that is not there."""
    program = str(compiler(folder))
    found = {"nvcc": program, "nvcc_version": "13.0.88", "cxx": program, "torch": "2.13.0", "torch_cuda": "13.0"}
    return Toolchain(**{**found, "torch_root": "/no/torch", "python": "python3", **more})  # type: ignore[arg-type]

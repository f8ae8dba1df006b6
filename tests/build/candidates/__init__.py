"""Candidates of many kinds for the build service: CUDA text in files beside this one, Python text in solutions.py."""

from __future__ import annotations

from pathlib import Path

from tests.build.candidates.solutions import IMPORTS, LINKED, SOLUTIONS

_HERE = Path(__file__).parent


def cuda_texts() -> dict[str, str]:
    """The CUDA text of each candidate by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(_HERE.glob("*.cu"))}


def problems() -> dict[str, int]:
    """The problem that each candidate solves, by name."""
    return {name: problem for name, (problem, _) in SOLUTIONS.items()}


def candidates() -> dict[str, str]:
    """The whole Python text of each candidate by name."""
    return {name: _whole(name, text) for name, text in cuda_texts().items()}


def _whole(name: str, cuda: str) -> str:
    flags = f", extra_ldflags={LINKED[name]!r}" if name in LINKED else ""
    compiled = f'extension = compile_cuda_extension("candidate_{name}", CUDA_SOURCE{flags})\n'
    return f'{IMPORTS}\nCUDA_SOURCE = r"""\n{cuda}"""\n{compiled}\n{SOLUTIONS[name][1]}'

"""Errors of compilers that run inside ranks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flow.sitting import Sitting
from workbench.events import Diagnostic

TRITON = '''\
import inspect


class CompilationError(Exception):
    """As Triton raises it: the kernel's lines up to the error, a caret, the cause."""


def add_kernel(x_ptr, n, BLOCK):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x_ptr + offset, mask=mask)


LINES = inspect.getsource(add_kernel).rstrip() + "\\n" + " " * 28 + "^\\nNameError('offset is not defined')"


def solution(tensor):
    raise CompilationError("at 4:28:\\n" + LINES)
'''
TORCH = """\
def solution(tensor):
    raise RuntimeError(
        "Error building extension 'k': [1/2] c++ -MMD " + "-I/x " * 900 + "-c k.cpp -o k.o\\nFAILED: k.o\\n"
        "/home/me/k.cpp:3:5: error: 'g' was not declared in this scope\\nninja: build stopped: subcommand failed.\\n"
    )
"""
NVRTC = '''\
class CompileError(SyntaxError):
    pass


SOURCE = """
__global__ void k(float* x) {
  x[0] = y;
}
"""


def solution(tensor):
    raise CompileError("kernel.cu(3): error: identifier 'y' is undefined", (__file__, 7, 10, "  x[0] = y;"))
'''


@pytest.fixture(scope="module")
def sitting() -> Iterator[Sitting]:
    """One sitting on two CPU ranks."""
    found = Sitting("1", limit=20.0)
    yield found
    found.close()


CASES = {
    "Triton": (TRITON, 11, 29, "NameError('offset is not defined')"),
    "NVRTC": (NVRTC, 7, 10, ": identifier 'y' is undefined"),
    "PyTorch's own build": (TORCH, 2, 0, "'g' was not declared in this scope (in /home/me/k.cpp, line 3)"),
}


@pytest.mark.parametrize("case", CASES)
def test_compilers_in_ranks(case: str, sitting: Sitting) -> None:
    """What a compiler refuses while the kernel is called is a build error, told once, at the user's line."""
    text, line, column, words = CASES[case]
    verdict = sitting.judge(text)
    assert (verdict.status, words in verdict.reason) == ("build-error", True), verdict.reason
    shown = sitting.of(Diagnostic, verdict.attempt)
    assert [(item.line, item.column, words in item.message) for item in shown] == [(line, column, True)]


def test_ambiguous_kernel_is_told_at_its_call(sitting: Sitting) -> None:
    """Where the file holds the shown lines twice, the line of the call is told and none is guessed."""
    kernel = TRITON[TRITON.index("def add_kernel") : TRITON.index("LINES")]
    verdict = sitting.judge(TRITON + "\n\n" + kernel)
    assert verdict.status == "build-error"
    assert [item.line for item in sitting.of(Diagnostic, verdict.attempt)] == [18]

"""Compilers' findings in the user's own file."""

from __future__ import annotations

from tests.flow.sitting import source
from workbench.build.model import Finding
from workbench.build.plan import look
from workbench.flow.findings import diagnostic_of

TEXT = '''\
from utils.cuda_helpers import compile_cuda_extension

SRC = r"""
__global__ void scale(float* x) {}
__global__ void scale(float* x) {}
"""
compile_cuda_extension("scale", SRC)
'''


def told(message: str, unit: str = "cuda.cu") -> str:
    """What the user reads of a message about line 3 of the CUDA text, which is line 5 of the file."""
    planned = look(TEXT).planned[0]
    finding = Finding(severity="error", message=message, unit=unit, line=3)
    return diagnostic_of(finding, planned.request, planned, source(TEXT)).message


def test_line_of_an_earlier_definition() -> None:
    """Two kernels of one name: the error names the line of the first in the user's file, not in the compiler's text."""
    words = 'function "scale" has already been defined (previous definition at line {})'
    assert told(words.format(2)) == words.format(4)
    assert told("declared at line 90") == "declared at line 90 of cuda.cu"


def test_line_of_another_file() -> None:
    """Lines of headers stay as they are."""
    words = 'declared at line 2 of "/x/mine.h"'
    assert told(words) == words
    assert told("declared at line 2", "/x/mine.h").startswith("declared at line 2 of /x/mine.h")

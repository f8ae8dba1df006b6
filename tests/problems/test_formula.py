"""The formula language of problem.toml."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.formula import parse
from tests.program import RANKS_PYTHON, ROOT
from workbench.errors import FormulaError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * (P - 1) / P * M", 12.0),
        ("-M // 3 + 7 % 4", 0),
        ("min(P, 1, 9)", 1),
        ("max(M, P * 5) - ceil(7 / 2)", 16),
        ("smallest(32, 161, 32, P)", 32),
        ("smallest(30, 161, 32, P)", 32),
        ("1e-3", 0.001),
        ("24 if P <= 4 else 48", 24),
        ("24 if P < 4 else 48 if M == 8 else 96", 48),
        ("sqrt(M * 2) + log2(M)", 7.0),
        ("divisor(P * 3, 2, 6)", 2),
        ("divisor(P * 3, 6, 2)", 6),
        ("divisor(7, 2, 6)", 1),
        ("divisor(P, 2, P // 2)", 2),
        ("divisor(1, 2, 0)", 1),
    ],
)
def test_value(text: str, value: float) -> None:
    """Every operator and function gives the value that arithmetic gives."""
    assert parse(text).evaluate({"P": 4, "M": 8}) == value


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(1, 50))
def test_whole_numbers_divide_downwards(a: int, b: int, c: int) -> None:
    """// and % round downwards for negative numbers too, as in Python."""
    got = parse("(a - b) // c * c + (a - b) % c").evaluate({"a": a, "b": b, "c": c})
    assert got == a - b


def test_symbols_are_listed() -> None:
    """A formula says which symbols it needs; function names are none of them."""
    assert parse("max(M, 2) * rank").symbols == {"M", "rank"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "M +",
        "M ** 2",
        "__import__('os')",
        "M.real",
        "M[0]",
        "'text'",
        "True",
        "1 < M < 2",
        "M is N",
        "M if N",
        "M and N",
        "lambda: 1",
        "min(M)",
        "min",
        "ceil(M, N)",
        "max(M, N, default=1)",
        "min(*M, N)",
        "mni(M, N)",
        "[M]",
        "~M",
        "1j",
        "M; N",
        "(" * 200 + "M" + ")" * 200,
        "+".join(["M"] * 150),
        "-" * 60 + "M",
        "M" * 500,
    ],
)
def test_refused(text: str) -> None:
    """Anything outside the language is refused with an error that quotes the formula."""
    with pytest.raises(FormulaError, match="formula"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("M / (P - P)", "'M / (P - P)': division by zero"),
        ("M % 0", "'M % 0': division by zero"),
        ("itemsiz * 2", "did you mean 'itemsize'"),
        ("sqrt(-P)", "'sqrt(-P)': cannot be computed"),
        ("smallest(1, 2, 1, 2)", "none of 1024 values from 1 on makes 2*h + 1 divisible by 2"),
    ],
)
def test_evaluation_errors(text: str, message: str) -> None:
    """What cannot be computed is said, with the formula and the nearest symbol."""
    with pytest.raises(FormulaError) as error:
        parse(text).evaluate({"M": 8, "P": 4, "itemsize": 2})
    assert message in str(error.value)


def test_tensors_elementwise() -> None:
    """The same formulas work elementwise on tensors, whole numbers staying whole."""
    script = """
import torch
from problems.formula import parse
i = torch.arange(-3, 5)
def same(text, wanted):
    got = parse(text).evaluate({"i": i, "n": 3, "j": i.flip(0)})
    assert got.tolist() == wanted, (text, got)
same("i % n", [x % 3 for x in range(-3, 5)])
same("i // n", [x // 3 for x in range(-3, 5)])
same("min(i, n)", [min(x, 3) for x in range(-3, 5)])
same("max(0, i, 1 - n)", [max(0, x) for x in range(-3, 5)])
same("min(i, j) * 2", [2 * min(x, 1 - x) for x in range(-3, 5)])
same("ceil(i / 2)", [-1, -1, 0, 0, 1, 1, 2, 2])
same("1 if i < n else 0", [1, 1, 1, 1, 1, 1, 0, 0])
same("i if i % 2 == 0 else 7", [7, -2, 7, 0, 7, 2, 7, 4])
same("i if n > 2 else j", i.tolist())
assert parse("i // n").evaluate({"i": i, "n": 3}).dtype == torch.int64
"""
    subprocess.run([RANKS_PYTHON, "-c", script], check=True, cwd=ROOT, timeout=60)


def test_needs_the_standard_library_only() -> None:
    """Formulas work under an interpreter without any installed package."""
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from problems.formula import parse; parse('M + 1')"
    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True, timeout=60)

"""Reference text that imports shared pieces, made to stand alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from problems import inline
from problems.inline import inlined
from problems.loader import catalogue, load_problem
from workbench.errors import ProblemError

ARITHMETIC = '''\
"""Shared arithmetic."""

from __future__ import annotations

import math
import os.path
from collections.abc import Sequence

from problems.common.bases import ONE, Base

# Scale of everything,
# in units.
SCALE = math.tau
"""What it is for."""
LEFT, RIGHT = ONE, 2


def never_used() -> str:
    return os.path.sep


def total(values: Sequence[float]) -> float:
    """The sum, scaled."""
    # why: nobody knows
    return sum(values) * _scale() + LEFT


def _scale() -> float:
    return SCALE / math.tau


class Special(Base):
    pass
'''
BASES = """\
from __future__ import annotations

ONE = 1


class Base:
    one = ONE
"""
REFERENCE = '''\
"""What it computes."""

from __future__ import annotations

from collections.abc import Callable

from problems.common.arithmetic import Special, total


def solution(x: float, then: Callable[[float], float] = abs) -> float:
    """The result."""
    return then(total([x, Special.one]))
'''
EXPECTED = '''\
"""What it computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

ONE = 1


class Base:
    one = ONE


# Scale of everything,
# in units.
SCALE = math.tau
"""What it is for."""
LEFT, RIGHT = ONE, 2


def total(values: Sequence[float]) -> float:
    """The sum, scaled."""
    # why: nobody knows
    return sum(values) * _scale() + LEFT


def _scale() -> float:
    return SCALE / math.tau


class Special(Base):
    pass


def solution(x: float, then: Callable[[float], float] = abs) -> float:
    """The result."""
    return then(total([x, Special.one]))
'''


@pytest.fixture(autouse=True)
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of shared modules that takes the place of the built-in one."""
    (tmp_path / "arithmetic.py").write_text(ARITHMETIC)
    (tmp_path / "bases.py").write_text(BASES)
    monkeypatch.setattr(inline, "FOLDER", tmp_path)
    return tmp_path


def test_what_is_used_comes_along() -> None:
    """Shared pieces and all that they use, from other shared modules too, stand between imports and reference."""
    assert inlined(REFERENCE) == EXPECTED
    names: dict[str, object] = {"__name__": "candidate"}
    exec(compile(EXPECTED, "reference.py", "exec"), names)
    solution = names["solution"]
    assert callable(solution)
    assert solution(2.0) == 4.0


@pytest.mark.parametrize(
    "text", ["import torch\n\n\nx = 1\n", "", "from problems.common.x import (", "# problems.common\n"]
)
def test_text_that_imports_nothing_shared(text: str) -> None:
    """Text without a shared import keeps every line; broken text is left for the ranks to report."""
    assert inlined(text) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from problems.common.arithmetic import totl", r"arithmetic.py has no 'totl'; it has: LEFT, RIGHT, .*total"),
        ("from problems.common.algebra import x", "no problems/common/algebra.py; there are: arithmetic, bases"),
        ("from problems.common import arithmetic", "write 'from problems.common.MODULE import NAME'"),
        ("import problems.common.arithmetic", "write 'from problems.common.MODULE import NAME'"),
        ("from problems.common.arithmetic import total as t", "without 'as'"),
        ("from problems.common.arithmetic import *", r"'import \*' cannot be used"),
        ("def f():\n    from problems.common.arithmetic import total", "among the imports at the top"),
        ("from problems.common.arithmetic import total\n_scale = 3", "'_scale' is used twice"),
        ("from problems.common.arithmetic import total\ndef math(): pass", "'math' is used twice"),
        ("from cmath import tau as math\nfrom problems.common.arithmetic import total", "'math' is imported with two"),
    ],
)
def test_what_cannot_be_inlined(text: str, message: str) -> None:
    """Unknown names, names with two meanings and other forms of import are refused with what to write."""
    with pytest.raises(ProblemError, match=message):
        inlined(text)


def test_long_import_lines_are_wrapped(shared: Path) -> None:
    """Merged imports stay within the line length."""
    names = [f"a_rather_long_name_{number}" for number in range(8)]
    (shared / "many.py").write_text(f"from elsewhere import {', '.join(names)}\ndef f(): return {', '.join(names)}\n")
    text = inlined("from problems.common.many import f\n")
    assert text.startswith(f"from elsewhere import (\n    {names[0]},\n    {names[1]},\n")
    assert max(map(len, text.split("\n\n\n")[0].splitlines())) < 120


def test_built_in_references_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No reference of the catalogue needs pkwb's own packages."""
    monkeypatch.undo()
    for entry in catalogue():
        text = load_problem(entry.folder).reference_source()
        compile(text, entry.stem, "exec")
        assert "problems.common" not in text

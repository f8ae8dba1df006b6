"""The result does not depend on the chunks: it is that of problem 82."""

from __future__ import annotations

from tests.problems.cases.p082 import INAPPLICABLE, expected

__all__ = ["INAPPLICABLE", "expected"]

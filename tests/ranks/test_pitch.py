"""The pitch of small kernels: what is measured, and that it is known before a source runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from workbench.ranks.pitch import measure_pitch
from workbench.ranks.timing import Timed


class Calls:
    """A timer whose calls take what the test says."""

    def __init__(self, *ns: int) -> None:
        self._ns = iter(ns)
        self.patience_ns: list[int] = []

    def time(self, solution: Callable[[], object], arguments: Sequence[Any], *, patience_ns: int) -> tuple[Any, Timed]:
        """Make the call."""
        self.patience_ns.append(patience_ns)
        return solution(*arguments), Timed(next(self._ns))


def test_it_is_the_median_over_rows_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of 300 kernels are timed behind the gate; the first, which loads them, does not count."""
    monkeypatch.setattr(torch, "zeros", lambda count, device: torch.ones(count))
    calls = Calls(9_000_000, 600_000, 630_000, 600_300, 700_000, 599_000)
    assert measure_pitch(calls, torch.device("cuda", 0)) == 2001  # type: ignore[arg-type]
    assert min(calls.patience_ns) >= 10_000_000


def test_processors_have_none() -> None:
    """CPU ranks start no kernels, and make no calls for it."""
    assert measure_pitch(Calls(), torch.device("cpu")) == 0  # type: ignore[arg-type]

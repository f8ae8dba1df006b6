"""The pitch of small kernels: which rows count, and that CPU ranks make none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from workbench.ranks import candidate
from workbench.ranks.pitch import _ROWS, measure_pitch
from workbench.ranks.timing import Timed

PEAK = 1980


class Calls:
    """A timer whose calls are as the test says, the first ones and then all others."""

    def __init__(self, *first: Timed, then: Timed) -> None:
        self._seen = iter((*first, *repeat(then, 1000)))
        self.patience_ns: list[int] = []

    def time(self, solution: Callable[[], object], arguments: Sequence[Any], *, patience_ns: int) -> tuple[Any, Timed]:
        """Make the call."""
        self.patience_ns.append(patience_ns)
        return solution(*arguments), next(self._seen)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> torch.device:
    """A device that tensors can be asked for here."""
    monkeypatch.setattr(torch, "zeros", lambda count, device: torch.ones(count))
    return torch.device("cuda", 0)


def row(us: float, mhz: int = PEAK, held: bool = False) -> Timed:
    """A row of a hundred kernels."""
    return Timed(round(us * 1e3), mhz=mhz, held=held)


def test_rows_at_a_lower_clock_do_not_count(gpu: torch.device) -> None:
    """A GPU that comes from rest starts kernels late; that is no trait of its process."""
    rising = [row(900 - 10 * call, mhz=345 + 20 * call) for call in range(70)]
    assert measure_pitch(Calls(*rising, then=row(200)), gpu, PEAK) == 2000  # type: ignore[arg-type]


def test_rows_that_others_disturbed_do_not_count(gpu: torch.device) -> None:
    """Where somebody else has the GPU in two calls of three, or a host came late, the others tell the pitch."""
    disturbed = [row(200 if call % 3 == 0 else 350) for call in range(_ROWS)]
    late = [row(120, held=True)] * 40
    assert measure_pitch(Calls(*late, *disturbed, then=row(350)), gpu, PEAK) == 2000  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("then", "most_mhz"), [(row(200, mhz=1200), PEAK), (row(200, mhz=0), PEAK), (row(200), 0)],
    ids=["held down", "no gate that measures", "peak not known"],
)  # fmt: skip
def test_without_the_highest_clock_nothing_is_known(gpu: torch.device, then: Timed, most_mhz: int) -> None:
    """A clock that is held down, or that nobody measured, leaves the pitch open."""
    assert measure_pitch(Calls(then=then), gpu, most_mhz) == 0  # type: ignore[arg-type]


def test_all_ranks_make_as_many_rows(gpu: torch.device) -> None:
    """Ranks begin every row together, so that none may stop before the others, whatever it sees."""
    made = []
    for then in (row(200), row(200, mhz=345)):
        calls = Calls(then=then)
        measure_pitch(calls, gpu, PEAK)  # type: ignore[arg-type]
        made.append(len(calls.patience_ns))
    assert made == [_ROWS, _ROWS]
    assert min(calls.patience_ns) >= 10_000_000


def test_processors_have_none() -> None:
    """CPU ranks start no kernels, and make no calls for it."""
    assert measure_pitch(Calls(then=row(1)), torch.device("cpu"), 0) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(("asked", "told"), [(True, 1900), (False, 0)])
def test_ranks_measure_it_where_they_are_asked_to(asked: bool, told: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that will not be timed stand by at once, without a pitch."""
    said: list[dict[str, Any]] = []
    control = SimpleNamespace(send=said.append, receive=lambda: None)
    place = SimpleNamespace(device="cpu", gpu=0, threads=1, rank=0, world=1, store="", slots=None, pitch=asked)
    device = SimpleNamespace(set_up=lambda *_: None, most_mhz=lambda: PEAK, tensor_device=torch.device("cpu"))
    monkeypatch.setattr(candidate, "make_device", lambda _name: device)
    monkeypatch.setattr(candidate, "init_group", lambda *_: None)
    monkeypatch.setattr(candidate, "Timer", lambda *_: None)
    monkeypatch.setattr(candidate, "_first_collective", lambda *_: None)
    monkeypatch.setattr(candidate, "measure_pitch", lambda *_: 1900)
    candidate.CandidateRank(place, control, *[SimpleNamespace()] * 3).main()  # type: ignore[arg-type]
    assert [message["pitch_ns"] for message in said] == [told]

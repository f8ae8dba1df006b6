"""What an attempt's figures are held against: the links on paper, what was measured, and the floor."""

from __future__ import annotations

import dataclasses

import pytest

from problems.binding import bind
from problems.loader import find_problem
from tests import machines
from tests.flow.sitting import PATH
from tests.nvml import FakeNvml, put_in_place
from workbench.events import Bandwidth, Ratio, Spread, TimingProgress
from workbench.flow.figures import Yardstick, bandwidth_event, find_yardstick
from workbench.judge.bandwidth import Peak
from workbench.target import Target
from workbench.topology.catalogue import find_system
from workbench.topology.placing import place

PEAK = Peak(gbps=300.0, label="NCCL all_reduce, 2 ranks", measured=1.0, how="by hand")


def target(name: str, world: int, device: str = "cuda") -> Target:
    """A problem at its default size."""
    problem = find_problem(name)
    binding = bind(problem, "default", world, "bfloat16")
    return Target(problem=problem, binding=binding, backend="pytorch", device=device, path=PATH)


def taking(ms: float) -> TimingProgress:
    """A candidate whose call takes this long, beside a reference that takes twice as long."""
    fast, slow = (Spread(median=one, p10=one, p90=one) for one in (ms, 2 * ms))
    return TimingProgress(
        samples=100,
        total=100,
        candidate_ms=fast,
        reference_ms=slow,
        speedup=Ratio(median=2.0, low=1.9, high=2.1),
        rank_ms=(ms, ms),
        skew=0.0,
        flags=(),
    )


def measured(of: Target, held: Yardstick, ms: float) -> Bandwidth:
    """The bandwidth of a candidate that takes ``ms``."""
    found = bandwidth_event(of, taking(ms), held)
    assert found is not None
    return found


def on(monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml, of: Target) -> Yardstick:
    """What is found on a machine."""
    put_in_place(monkeypatch, nvml)
    return find_yardstick(of, PEAK)


def test_shares_of_both_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 MiB in 9.32 us on two H200s: 225 GB/s, half of the 450 of their links, three quarters of the measured 300."""
    of = target("1", 2)
    found = measured(of, on(monkeypatch, machines.hopper(2), of), 2 * 2**20 / 225e9 * 1e3)

    assert found.gbps == pytest.approx(225)
    assert (found.nominal_gbps, found.nominal_share) == (450, pytest.approx(0.5))
    assert found.nominal_label == "NVLink, 18 × 25 = 450 GB/s one way"
    assert (found.peak_gbps, found.share, found.label) == (300, pytest.approx(0.75), "NCCL all_reduce, 2 ranks")
    assert [(one.rank, one.nominal_share) for one in found.ranks] == [(rank, pytest.approx(0.5)) for rank in (0, 1)]


def test_links_in_a_mesh_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a mesh a rank's links are those to all other ranks: of four A100s two have 100 GB/s, four 300."""
    for world, gbps in ((2, 100), (4, 300)):
        of = target("1", world)
        assert measured(of, on(monkeypatch, machines.mesh(), of), 1.0).nominal_gbps == gbps


def test_ranks_are_held_against_their_own_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the root alone receives, it has the rate that is shown; the others send their own part."""
    of = target("1", 4)
    held = on(monkeypatch, machines.hopper(4), of)
    monkeypatch.setattr("workbench.flow.figures.figure_by_rank", lambda binding, name: [3e6, 1e6, 1e6, 0.0])
    found = measured(of, held, 0.01)

    assert [one.gbps for one in found.ranks] == pytest.approx([300, 100, 100, 0])
    assert found.gbps == pytest.approx(300)
    assert (found.ranks[3].share, found.ranks[3].nominal_share) == (None, None)


def test_another_system_changes_the_floor_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a what-if system the floor is that system's, while shares are of the links that the ranks ran on."""
    of = dataclasses.replace(target("1", 2), what_if=place(find_system("mi300x"), 2))
    held = on(monkeypatch, machines.hopper(2), of)

    assert held.floor is not None
    assert held.floor.what_if
    assert measured(of, held, 1.0).nominal_gbps == 450


def test_processors_have_no_rate_on_paper() -> None:
    """CPU ranks are held against the rate that was measured between them, and nothing else."""
    of = target("1", 2, "cpu")
    found = measured(of, find_yardstick(of, dataclasses.replace(PEAK, gbps=3.0)), 1.0)

    assert (found.nominal_gbps, found.nominal_share, found.nominal_label) == (None, None, "")
    assert found.share == pytest.approx(found.gbps / 3)
    assert found.floor is not None


def test_links_that_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without NVML there is neither a floor nor a share of the links; what was measured still stands."""
    of = target("1", 2)
    held = on(monkeypatch, machines.driverless(), of)

    assert (held.floor, held.ports) == (None, ())
    assert measured(of, held, 1.0).nominal_share is None
    assert measured(of, held, 1.0).share is not None


def test_nothing_to_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem that needs no byte of other ranks has no share of anything."""
    of = target("39", 2)
    found = measured(of, on(monkeypatch, machines.hopper(2), of), 1.0)

    assert (found.gbps, found.share, found.nominal_share) == (0, None, None)

"""The floor in attempts on real ranks: told with the bandwidth, and a limit only where it is a physical one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from problems.binding import bind
from problems.loader import find_problem
from tests import machines
from tests.flow.candidates import GOOD
from tests.flow.sitting import PATH, Sitting
from tests.nvml import put_in_place
from workbench.events import Bandwidth, Floor
from workbench.flow.figures import Yardstick, find_yardstick
from workbench.target import Target
from workbench.topology.catalogue import find_system
from workbench.topology.placing import place

SLOW = """
import time

import torch
import torch.distributed as dist


def solution(tensor: torch.Tensor) -> torch.Tensor:
    time.sleep(0.1)
    out = tensor.clone()
    dist.all_reduce(out)
    return out
"""
LIMIT = Floor(ms=80.0, binding="link", terms_ms={"link": 80.0}, topology="2 × a GPU", wire_ms=80.0, wire="2 × a GPU")


def test_cpu_ranks_have_a_floor_that_is_no_limit() -> None:
    """A verdict on CPU ranks has the floor by the measured rate of their link, and nothing is suspected by it."""
    sitting = Sitting("1", samples=20)
    try:
        verdict = sitting.judge(GOOD)
        live = sitting.of(Bandwidth, verdict.attempt)
    finally:
        sitting.close()

    assert verdict.status == "ok"
    assert verdict.bandwidth is not None
    floor = verdict.bandwidth.floor
    assert floor is not None
    assert (floor.binding, floor.measured, floor.what_if, floor.wire_ms) == ("link", True, False, 0.0)
    assert floor.ms == floor.terms_ms["link"]
    assert all(event.floor == floor for event in live)


def test_floors_of_other_systems_are_no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A what-if system gives a floor and its name; times are limited by the links of the machine that runs, as ever."""
    problem = find_problem("1")
    binding = bind(problem, "default", 2, "bfloat16")
    target = Target(problem=problem, binding=binding, backend="pytorch", device="cpu", path=PATH)
    asked = dataclasses.replace(target, what_if=place(find_system("dgx-a100"), 2))
    on_cpus = find_yardstick(asked, None).floor
    put_in_place(monkeypatch, machines.hopper(2))
    on_gpus = find_yardstick(dataclasses.replace(asked, device="cuda"), None).floor

    assert on_cpus is not None
    assert on_gpus is not None
    assert (on_cpus.topology, on_cpus.what_if, on_cpus.wire_ms) == ("NVIDIA DGX A100 (80 GB)", True, 0.0)
    assert (on_gpus.topology, on_gpus.what_if, on_gpus.ms) == (on_cpus.topology, True, on_cpus.ms)
    assert on_gpus.wire_ms == pytest.approx(2 * 2**20 / 513.02e9 * 1e3)
    assert on_gpus.wire == "2,097,152 bytes / (450 by links + 63.02 by PCIe) GB/s, rank 0; 2 × H200"


def test_a_time_below_the_links_is_suspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine whose links need longer than a candidate takes, its verdict is suspect and shows both times."""
    (tmp_path / "reference.py").write_text(SLOW)
    monkeypatch.setattr("workbench.flow.engine.find_yardstick", lambda target, peak: Yardstick(peak=peak, floor=LIMIT))
    sitting = Sitting(dataclasses.replace(find_problem("1"), folder=tmp_path), limit=60, trials=1, samples=10)
    try:
        slow, fast = sitting.judge(SLOW), sitting.judge(GOOD)
    finally:
        sitting.close()

    assert slow.status == "ok"
    assert fast.status == "suspect"
    assert "faster than the links" in fast.reason
    assert "take 80 ms on this machine's links (2 × a GPU)" in fast.reason
    assert fast.speedup is None

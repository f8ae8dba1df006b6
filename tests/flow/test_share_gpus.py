"""Ranks that share GPUs: results are judged, nothing is timed. Here they are CPU ranks that are told the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.candidates import GOOD
from tests.flow.sitting import Sitting
from workbench.commands.solutions import Result, summary_lines
from workbench.events import Bandwidth, Log, PhaseChanged, RankVerdict, TimingProgress, Verdict, to_json
from workbench.report import verdict_lines
from workbench.target import SharedGpus

ENVIRONMENT = """
import os

import torch.distributed as dist

NAMES = ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "NCCL_HOSTID", "NCCL_SOCKET_IFNAME")


def solution(tensor):
    print(" ".join(os.environ.get(name, "-") for name in NAMES), flush=True)
    out = tensor.clone()
    dist.all_reduce(out)
    return out
"""


@pytest.fixture
def sharing() -> Iterator[Sitting]:
    """Three ranks that share two GPUs, with samples asked for."""
    made = Sitting("1", world=3, shared=SharedGpus(2, "2 × H200"), samples=20, trials=1)
    yield made
    made.close()


def printed(sitting: Sitting) -> list[str]:
    """What each rank says of its environment, by rank."""
    attempt = sitting.judge(ENVIRONMENT).attempt
    logs = sorted(sitting.of(Log, attempt), key=lambda log: log.rank)
    return [log.text.splitlines()[0] for log in logs]


def test_nothing_is_timed(sharing: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    """A right candidate is ok and has no time, speedup, bandwidth or floor; neither is the link's peak measured."""

    async def measured(*_: object) -> None:
        raise AssertionError("the peak was measured")

    monkeypatch.setattr("workbench.flow.engine.link_peak", measured)
    verdict = sharing.judge(GOOD)

    assert verdict.status == "ok"
    assert (verdict.speedup, verdict.candidate_ms, verdict.bandwidth, verdict.first_call_ms) == (None,) * 4
    assert not [event for kind in (TimingProgress, Bandwidth) for event in sharing.of(kind, 1)]
    assert "time" not in {event.phase for event in sharing.of(PhaseChanged, 1)}
    assert {event.call_ms for event in sharing.of(RankVerdict, 1)} == {None}


def test_why_is_said(sharing: Sitting) -> None:
    """Report and JSON of a right candidate say why it has no times; a wrong one is told what is wrong."""
    good = json.loads(to_json(sharing.judge(GOOD)))
    wrong = json.loads(to_json(sharing.judge(GOOD.replace("return", "out += 1\n    return"))))

    assert good["not_timed"] == "3 ranks share 2 GPUs"
    assert good["environment"]["shared_gpus"] == "2 × H200"
    assert "speedup    not timed: 3 ranks share 2 GPUs" in verdict_lines(good)
    assert "not timed: 3 ranks share 2 GPUs" in summary_lines([Result(Path("folder/1_allreduce_mine.py"), good)])[1]
    assert wrong["status"] == "wrong"
    assert not any("not timed" in line for line in verdict_lines(wrong))


def test_each_rank_is_a_host_of_its_own(sharing: Sitting) -> None:
    """NCCL takes ranks that share a GPU for those of different hosts, on loopback; a rank's local number is its GPU."""
    assert printed(sharing) == ["0 2 pkwb-0 lo", "1 2 pkwb-1 lo", "0 2 pkwb-2 lo"]


def test_other_ranks_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each rank has a GPU of its own, NCCL is told nothing, and what the user set for it stays."""
    monkeypatch.delenv("NCCL_HOSTID", raising=False)
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "eth7")
    sitting = Sitting("1", trials=1)
    try:
        assert printed(sitting) == ["0 2 - eth7", "1 2 - eth7"]
    finally:
        sitting.close()


def test_verdicts_of_old_sessions_have_no_reason() -> None:
    """A verdict that was kept before there were reasons is still reported."""
    old = json.loads(to_json(Verdict(status="ok", problem="1_allreduce", reason="", ranks=())))
    del old["not_timed"]

    assert verdict_lines(old) == ["1_allreduce  ok"]

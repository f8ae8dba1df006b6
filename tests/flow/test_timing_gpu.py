"""Timed calls on machines with GPUs: the gate, work on other streams, stragglers, cold caches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flow.candidates import GOOD, with_end, with_middle, without
from tests.flow.sitting import Sitting
from tests.program import RANKS_PYTHON
from workbench.devices import torch_cuda, visible_gpus
from workbench.events import Verdict

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(visible_gpus() < 1, reason="needs an NVIDIA GPU"),
    pytest.mark.skipif(visible_gpus() >= 1 and not torch_cuda(RANKS_PYTHON), reason="the ranks' torch is a CPU build"),
]
two_gpus = pytest.mark.skipif(visible_gpus() < 2, reason="needs two NVIDIA GPUs")

SIDE_STREAM = without(
    "stream = torch.cuda.Stream()\n"
    "def solution(tensor):\n"
    "    with torch.cuda.stream(stream):\n"
    "        out = tensor.clone()\n"
    "    torch.cuda.current_stream().wait_stream(stream)\n"
    "    dist.all_reduce(out)\n"
    "    return out\n"
)
HONEST_STREAM = SIDE_STREAM.replace(
    "    with torch", "    stream.wait_stream(torch.cuda.current_stream())\n    with torch", 1
)
SPIN_CYCLES = 2_000_000


@pytest.fixture(scope="module")
def one() -> Iterator[Sitting]:
    """One sitting on one GPU."""
    made = Sitting("1", 1, limit=60, samples=40, trials=1, device="cuda")
    yield made
    made.close()


def judged(sitting: Sitting, text: str) -> Verdict:
    """The verdict of a candidate that is right."""
    verdict = sitting.judge(text)
    assert verdict.status == "ok", verdict.reason
    return verdict


def test_calls_wait_behind_the_gate(one: Sitting) -> None:
    """Forty small kernels are queued before the first one runs: their launches do not count, and are told apart."""
    chain = without(
        "def solution(tensor):\n    out = tensor.clone()\n    small = torch.zeros(8, device=tensor.device)\n"
        "    for _ in range(40):\n        small.add_(1)\n    dist.all_reduce(out)\n    return out\n"
    )
    verdict = judged(one, chain)
    assert verdict.candidate_ms is not None
    assert verdict.launch_ms is not None
    assert "launch-bound (candidate)" in verdict.flags
    assert verdict.candidate_ms.median < verdict.launch_ms.candidate
    assert not any(flag.startswith(("host-aligned", "blocks-on-device")) for flag in verdict.flags)


def test_the_clock_is_plausible(one: Sitting) -> None:
    """The multiprocessors' clock lies within what GPUs have, and figures are cold where nothing else was asked for."""
    verdict = judged(one, GOOD)
    assert verdict.clock_mhz is not None
    assert 500 < verdict.clock_mhz < 4000
    assert verdict.cache == "cold"


def test_a_side_stream_that_does_not_wait_is_wrong(one: Sitting) -> None:
    """Work on another stream that does not wait for its inputs reads old values while the gate is shut."""
    assert judged(one, HONEST_STREAM).status == "ok"
    verdict = one.judge(SIDE_STREAM)
    assert (verdict.status, "timed call" in verdict.reason) == ("wrong", True)


def test_a_call_that_waits_for_its_device_is_named(one: Sitting) -> None:
    """A synchronisation within the call ends the gate's patience, in every call."""
    verdict = judged(one, with_end("torch.cuda.synchronize()\nreturn out"))
    assert "blocks-on-device (candidate)" in verdict.flags


@two_gpus
def test_a_straggling_rank_shows() -> None:
    """A rank whose GPU spins before it returns makes the figure and the skew, and its own time says which it is."""
    sitting = Sitting("1", 2, limit=60, samples=40, trials=1, device="cuda")
    try:
        honest = judged(sitting, GOOD)
        late = judged(sitting, with_end(f"if rank == 1:\n    torch.cuda._sleep({SPIN_CYCLES})\nreturn out"))
        both = judged(sitting, with_middle(f"if rank == 1:\n    torch.cuda._sleep({SPIN_CYCLES})"))
    finally:
        sitting.close()
    assert honest.candidate_ms is not None
    assert late.candidate_ms is not None
    assert both.candidate_ms is not None
    assert late.skew is not None
    times = [rank.time_ms or 0.0 for rank in late.ranks]
    assert late.candidate_ms.median > 2 * honest.candidate_ms.median
    assert both.candidate_ms.median > 2 * honest.candidate_ms.median
    assert times[1] > 2 * times[0]
    assert late.skew > 0.5
    assert "skewed" in late.flags


def test_cold_reads_take_longer_than_warm_ones() -> None:
    """Reading 16 MB that the L2 still holds is faster than reading them after the cache was filled."""
    reads = without(
        "data = torch.ones(4 << 20, device='cuda')\n"
        "def solution(tensor):\n    out = tensor.clone()\n    data.sum()\n    dist.all_reduce(out)\n    return out\n"
    )
    found = {}
    for cache in ("cold", "warm"):
        sitting = Sitting("1", 1, limit=60, samples=40, trials=1, device="cuda", cache=cache)
        try:
            found[cache] = judged(sitting, reads)
        finally:
            sitting.close()
    cold, warm = found["cold"], found["warm"]
    assert (cold.cache, warm.cache) == ("cold", "warm")
    assert cold.candidate_ms is not None
    assert warm.candidate_ms is not None
    assert cold.candidate_ms.median > warm.candidate_ms.median

"""Measuring the links of CPU ranks, for real."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from tests.program import RANKS_PYTHON
from workbench.config import RanksSettings, Settings
from workbench.errors import RanksError, UsageError
from workbench.flow import links
from workbench.flow.links import LinkSet, Mechanism, block_counts, measure_links, sizes
from workbench.judge.links import LinkRate, LinkReport
from workbench.ranks.channel import Message

KIB = 1 << 10


def measure(world: int, largest: int = 8 * KIB) -> LinkReport:
    """Measure CPU ranks up to a small message."""
    settings = Settings(ranks=RanksSettings(world=world, python=RANKS_PYTHON))
    return asyncio.run(measure_links(settings, "cpu", largest))


def test_two_ranks() -> None:
    """Gloo and shared memory are measured one way and both ways, at every size, with the right data at the end."""
    report = measure(2, largest=40 * KIB)
    found = {(rate.mechanism, rate.two_way): [] for rate in report.rates}  # type: dict[tuple[str, bool], list[int]]
    for rate in report.rates:
        found[rate.mechanism, rate.two_way].append(rate.bytes)
    ways = [("gloo all_reduce", False)]
    ways += [(name, two_way) for name in ("gloo send/recv", "shared memory") for two_way in (False, True)]
    assert found == {way: [2 * KIB, 8 * KIB, 32 * KIB, 40 * KIB] for way in ways}
    assert report.verified
    assert all(rate.gbps > 0 and rate.blocks is None for rate in report.rates)
    assert report.left_out == ()


def test_three_ranks() -> None:
    """With more ranks the collective is among all of them, and single messages still go between two."""
    report = measure(3)
    assert {rate.mechanism for rate in report.rates} == {"gloo send/recv", "shared memory", "gloo all_reduce"}
    assert report.verified
    rate = next(rate for rate in report.rates if rate.mechanism == "gloo all_reduce")
    assert rate.gbps == pytest.approx(rate.bytes / rate.us / 1e3 * 4 / 3)


def test_one_rank_has_no_link() -> None:
    """One rank is refused with what to do."""
    with pytest.raises(UsageError, match="--ranks 2"):
        measure(1)


def test_messages_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that would fill this machine's memory are refused with the most that fits; unasked, they stay below."""
    monkeypatch.setattr(links, "free_memory", lambda: 1 << 30)
    with pytest.raises(UsageError, match=r"0\.268 GB between 2 ranks do not fit .* at most 128M"):
        measure(2, largest=256 << 20)
    assert [links._fitting("cpu", world, 0) >> 20 for world in (2, 4)] == [128, 64]
    assert links._fitting("cuda", 2, 4 << 30) == 4 << 30
    monkeypatch.setattr(links, "free_memory", lambda: None)
    assert links._fitting("cpu", 2, 0) == 256 << 20


class Answering:
    """Two ranks of a set that answer with times of two calls, in ns."""

    def __init__(self, *ns: list[int]) -> None:
        self._ns = ns

    async def all(self, request: Message, limit: float) -> list[Message]:
        """As link ranks do; the data are right."""
        assert request["inner"] > 1
        return [{"ns": ns, "verified": True} for ns in self._ns]


def test_a_message_takes_as_long_as_its_slowest_rank() -> None:
    """Median over calls of the slowest rank, shared between the messages of a call; both ways count both directions."""
    bench = links._Bench(Settings(), "cuda", 8 * KIB, lambda text: None)
    ranks: Any = Answering([20_000, 90_000, 50_000], [60_000, 10_000, 70_000])
    copy = Mechanism(name="copy engine", blocks=0, two_way=True, collective=False)
    found = [asyncio.run(bench._rate(ranks, copy, 8 * KIB, 0, two_way)) for two_way in (False, True)]

    us = 70 / links._MOST_IN_A_CALL
    assert [rate.us for rate in found] == pytest.approx([us, us])
    assert [rate.gbps for rate in found] == pytest.approx([8 * KIB / us / 1e3, 2 * 8 * KIB / us / 1e3])


def test_missing_torch() -> None:
    """Ranks that cannot start are an error that names the interpreter."""
    settings = Settings(ranks=RanksSettings(world=2, python="/bin/false"))
    with pytest.raises(RanksError, match="/bin/false"):
        asyncio.run(measure_links(settings, "cpu", 8 * KIB))


async def _deadly(
    self: object, ranks: LinkSet, mechanism: Mechanism, size: int, blocks: int, two_way: bool
) -> LinkRate:
    """Ask for what no rank knows, in place of one mechanism's first message."""
    wanted = dataclasses.replace(mechanism, name="carrier pigeon") if mechanism.name == "gloo send/recv" else mechanism
    return await _RATE(self, ranks, wanted, size, blocks, two_way)  # type: ignore[arg-type]


_RATE = links._Bench._rate


def test_a_failing_mechanism_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is left out with its reason, and the others are measured with new ranks."""
    monkeypatch.setattr(links._Bench, "_rate", _deadly)
    report = measure(2)
    assert {rate.mechanism for rate in report.rates} == {"gloo all_reduce", "shared memory"}
    (left,) = report.left_out
    assert left.mechanism == "gloo send/recv"
    assert "carrier pigeon" in left.why
    assert "link rank 0" in left.why


def test_sizes_and_blocks() -> None:
    """Messages grow fourfold up to the largest; kernels are tried with fewer blocks, by powers of two."""
    assert sizes(1 << 30)[0] == 2 * KIB
    assert sizes(1 << 30)[-2:] == [512 << 20, 1 << 30]
    assert sizes(2 * KIB) == [2 * KIB]
    assert block_counts(132) == [1, 2, 4, 8, 16, 32, 64, 128]
    assert block_counts(0) == []


def test_ranks_without_a_gpu_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be measured, the error holds what the ranks said before they died."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    settings = Settings(ranks=RanksSettings(world=2, python=RANKS_PYTHON))
    with pytest.raises(RanksError, match=r"transfers between two GPUs: .*\((AssertionError|RuntimeError): .+\)"):
        asyncio.run(measure_links(settings, "cuda", 8 * KIB))

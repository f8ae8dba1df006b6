"""Bandwidth figures against cases worked out by hand, and the cache of measured peaks."""

from __future__ import annotations

import pytest

from workbench.errors import UsageError
from workbench.files import cache_dir
from workbench.judge import bandwidth
from workbench.judge.bandwidth import Peak, PeakKey

PEAK = Peak(gbps=3.2, label="gloo all-reduce, 2 ranks (CPU)", measured=1.7e9, how="16 MiB, median of 20 calls")
KEY = PeakKey(device="cpu", world=2, torch="2.13.0", machine="box x86_64")


@pytest.mark.parametrize(
    ("op", "world", "factor"),
    [
        ("all_reduce", 2, 1.0),
        ("all_reduce", 4, 1.5),
        ("all_reduce", 8, 1.75),
        ("all_gather", 4, 0.75),
        ("reduce_scatter", 2, 0.5),
        ("all_to_all", 8, 0.875),
        ("gather", 4, 0.75),
        ("scatter", 4, 0.75),
        ("broadcast", 4, 1.0),
        ("reduce", 8, 1.0),
        ("all_reduce", 1, 0.0),
        ("all_gather", 1, 0.0),
    ],
)
def test_factor_by_hand(op: bandwidth.CollectiveOp, world: int, factor: float) -> None:
    """busbw follows nccl-tests, so that figures compare with published ones."""
    assert bandwidth.busbw_factor(op, world) == pytest.approx(factor)


def test_all_reduce_of_a_gigabyte() -> None:
    """1 GB in 10 ms over 4 ranks: algbw 100 GB/s, busbw 150 GB/s, a third of 450."""
    assert bandwidth.algbw(1e9, 0.01) == pytest.approx(100)
    assert bandwidth.busbw("all_reduce", 1e9, 0.01, 4) == pytest.approx(150)
    assert bandwidth.share(150, 450) == pytest.approx(1 / 3)


def test_effective_bandwidth_and_missing_figures() -> None:
    """Needed bytes over time; no share without a peak, and no figure without a time."""
    assert bandwidth.effective(2.5e9, 0.5) == pytest.approx(5)
    assert bandwidth.effective(2.5e9, 0.0) == 0
    assert bandwidth.share(5, None) is None


def test_peak_is_kept_per_machine_device_world_and_torch() -> None:
    """A measured peak is used again for the same ranks, and for no others."""
    bandwidth.store_peak(KEY, PEAK)
    assert bandwidth.load_peak(KEY) == PEAK
    others = (
        PeakKey(device="cuda", world=2, torch="2.13.0", machine="box x86_64"),
        PeakKey(device="cpu", world=4, torch="2.13.0", machine="box x86_64"),
        PeakKey(device="cpu", world=2, torch="2.12.0", machine="box x86_64"),
        PeakKey(device="cpu", world=2, torch="2.13.0", machine="other x86_64"),
        PeakKey(device="cpu", world=2, torch="2.13.0"),
    )
    assert [bandwidth.load_peak(key) for key in others] == [None] * len(others)


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        '{"peak": 1}',
        '{"peak": {"gbps": 0, "label": "", "measured": 0, "how": ""}}',
        '{"peak": {"gbps": Infinity, "label": "", "measured": 0, "how": ""}}',
        '{"peak": {"gbps": 3, "label": "", "measured": "today", "how": ""}}',
    ],
)
def test_damaged_cache_is_measured_anew(damage: str) -> None:
    """A damaged cache file counts as none."""
    bandwidth.store_peak(KEY, PEAK)
    next((cache_dir() / "peaks").iterdir()).write_text(damage)
    assert bandwidth.load_peak(KEY) is None


def test_unwritable_cache_says_so() -> None:
    """A cache folder that cannot be made is named in the message."""
    cache_dir().write_text("a file is in the way")
    with pytest.raises(UsageError, match=r"cannot create .*peaks"):
        bandwidth.store_peak(KEY, PEAK)


def test_newest_peak_of_this_machine() -> None:
    """Before ranks are up, the newest peak measured here is shown, and never another machine's."""
    assert bandwidth.find_peak("cpu", 2) is None
    bandwidth.store_peak(KEY, PEAK)
    assert bandwidth.find_peak("cpu", 2) is None
    older, newer = (Peak(gbps=rate, label="", measured=when, how="") for rate, when in ((2.0, 10.0), (3.0, 20.0)))
    bandwidth.store_peak(PeakKey(device="cpu", world=2, torch="2.13.0"), newer)
    bandwidth.store_peak(PeakKey(device="cpu", world=2, torch="2.12.0"), older)
    assert bandwidth.find_peak("cpu", 2) == newer
    assert bandwidth.find_peak("cpu", 4) is None

"""Ceilings out of measured link rates, and what is kept of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.rates import MIB, rate, report
from workbench.judge.bandwidth import Peak, PeakKey, load_peak, store_peak
from workbench.judge.links import (
    ceilings,
    find_ceilings,
    mechanism_ceilings,
    store_ceilings,
)


def test_ceilings_are_the_best_of_large_messages() -> None:
    """Neither a small message out of a cache nor data that arrived damaged makes a ceiling."""
    best = rate("copy engine", 392)
    both = rate("copy engine", 700, two_way=True)
    others = [
        rate("copy engine", 900, 2 * MIB),
        rate("copy engine", 380, 512 * MIB),
        rate("copy engine", 950, verified=False),
    ]
    assert ceilings([*others, best, both]) == (best, both)
    assert ceilings([rate("shared memory", 50, 2 * MIB)]) == ceilings([]) == ()


def test_loads_and_stores_share_a_ceiling() -> None:
    """A topology's ceilings are by mechanism: the better of loads and stores, one way."""
    found = [
        rate("register load", 369),
        rate("register store", 380),
        rate("bulk load", 363),
        rate("nccl all_reduce", 299),
    ]
    assert mechanism_ceilings([*found, rate("bulk load", 600, two_way=True)]) == {"register": 380, "bulk copy": 363}


def test_ceilings_are_kept_beside_the_peak() -> None:
    """Ceilings and the collectives' peak of the same ranks are in one record; neither removes the other."""
    key, peak = PeakKey(device="cuda", world=2, torch="2.13.0"), Peak(gbps=299, label="NCCL", measured=1.0, how="")
    store_peak(key, peak)
    store_ceilings(report(rate("copy engine", 392)))
    assert find_ceilings("cuda", 2) == (rate("copy engine", 392),)
    store_peak(key, dataclasses.replace(peak, gbps=300))
    assert find_ceilings("cuda", 2) == (rate("copy engine", 392),)
    peak_now = load_peak(key)
    assert peak_now is not None
    assert peak_now.gbps == 300


def test_newest_ceilings_count() -> None:
    """After an update of torch the newer measurement counts; other devices and ranks have none."""
    store_ceilings(report(rate("copy engine", 392), measured=20.0))
    store_ceilings(report(rate("copy engine", 100), measured=10.0, torch="2.12.0"))
    assert [found.gbps for found in find_ceilings("cuda", 2)] == [392]
    assert find_ceilings("cpu", 2) == find_ceilings("cuda", 4) == ()
    assert [found.gbps for found in find_ceilings("cuda")] == [392]


@pytest.mark.parametrize("gbps", ["NaN", "-3", "Infinity", '"392"', "null"])
def test_ceilings_that_are_no_rates_count_as_none(gbps: str) -> None:
    """A figure that cannot be a rate is left out of what is kept."""
    path: Path = store_ceilings(report(rate("copy engine", 392)))
    path.write_text(path.read_text().replace('"gbps": 392', f'"gbps": {gbps}'))
    assert find_ceilings("cuda") == ()


@pytest.mark.parametrize("damage", ["[]", '{"measured": 1}', '{"measured": 1, "ceilings": [{"gbps": 1}]}', "null"])
def test_damaged_ceilings_count_as_none(damage: str) -> None:
    """A damaged record is as good as none."""
    path: Path = store_ceilings(report(rate("copy engine", 392)))
    head = path.read_text().partition('"links"')[0]
    path.write_text(f'{head}"links": {damage}}}')
    assert find_ceilings("cuda", 2) == ()

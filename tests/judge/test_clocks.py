"""The judge's clock against the ranks': from when on a claim is too short to be believed."""

from __future__ import annotations

import pytest

from workbench.judge.clocks import claims_too_little, results_too_late, shortest_tenth

US = 1000


@pytest.mark.parametrize(
    ("claimed", "waited", "usual", "hidden", "expected"),
    [
        (100, [1000] * 10, [200] * 10, 0, True),
        (160, [1000] * 10, [200] * 10, 0, False),
        (1, [410] * 10, [10] * 10, 0, True),
        (1, [390] * 10, [10] * 10, 0, False),
        (1, [3900] * 10, [2000] * 10, 0, False),
        (1, [1000] * 10, [200] * 10, 600, False),
        (1, [300] * 2 + [5000] * 8, [100] * 10, 0, False),
        (1, [300] + [5000] * 9, [100] * 10, 0, True),
        (1, [5000] * 10, [100] * 9 + [10**6], 0, True),
        (1, [], [100], 0, False),
        (1, [5000], [], 0, False),
    ],
    ids=[
        "a sixth of the rest", "a quarter of it", "beyond 0.4 ms", "below 0.4 ms", "below twice the usual",
        "explained by launches", "a fifth short", "a tenth short", "one slow look", "no waits", "no reference",
    ],
)  # fmt: skip
def test_claims_against_the_judges_clock(
    claimed: int, waited: list[int], usual: list[int], hidden: int, expected: bool
) -> None:
    """Less than a quarter of what is left of the wait, after twice the usual overhead and launches, is too little."""
    waits, usuals = ([us * US for us in values] for values in (waited, usual))
    assert claims_too_little(claimed * US, waits, usuals, hidden * US) is expected


@pytest.mark.parametrize(("count", "expected"), [(4, False), (5, True)])
def test_a_few_slow_fetches_prove_nothing(count: int, expected: bool) -> None:
    """Results that are slow to fetch are held against a candidate only where at least five were, every time."""
    assert results_too_late(US, [5000 * US] * count, [100 * US] * count) is expected
    assert not results_too_late(US, [5000 * US] * count + [200 * US], [100 * US] * count)


def test_the_shortest_tenth() -> None:
    """One of ten values may be shorter by chance; of fewer than ten none is left out."""
    assert shortest_tenth([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]) == 1
    assert shortest_tenth([5, 3]) == 3

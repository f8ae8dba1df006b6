"""What changes in the inputs before each timed call, and which calls are checked."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from tests.ranks.drawing import OTHER_SEED, argument, draw, source


@pytest.mark.parametrize(("canary", "most"), [(0.1, 100), (0.0001, 16), (0.5, 500)])
def test_canaries_are_a_share_of_the_elements(canary: float, most: int) -> None:
    """Before a timed call a random share of the elements changes, at least a handful, each at most once."""
    (delta,) = source(argument(canary=canary)).deltas(1, 1)
    assert len(delta.indices) == most
    assert len(set(delta.indices.tolist())) == len(delta.indices)
    assert 0 <= int(delta.indices.min()) <= int(delta.indices.max()) < 1000
    assert delta.values.shape == delta.indices.shape
    assert delta.values.dtype == torch.float32


def test_canaries_move_from_call_to_call() -> None:
    """Each timed call of each draw changes other elements to other values."""
    calls = [source(argument()).deltas(*at)[0] for at in ((1, 1), (1, 2), (2, 1))]
    for before, after in itertools.pairwise(calls):
        assert not torch.equal(before.indices, after.indices)
        assert not torch.equal(before.values[:50], after.values[:50])


def test_canaries_reach_every_element() -> None:
    """No element, the first and the last among them, stays as it is in all calls, whatever the share."""
    chances = source(argument(shape=[997], canary=0.1))
    reached = torch.cat([chances.deltas(1, call)[0].indices for call in range(300)])
    assert torch.unique(reached).tolist() == list(range(997))


def test_small_tensors_change_as_a_whole_or_in_part() -> None:
    """A tensor with fewer elements than the least number of canaries never gets an index outside it."""
    (delta,) = source(argument(shape=[3], canary=0.1)).deltas(1, 1)
    assert set(delta.indices.tolist()) <= {0, 1, 2}
    assert source(argument(shape=[0])).deltas(1, 1) == []


@pytest.mark.parametrize(
    "spec",
    [
        argument(canary=0),
        argument(draw(kind="zeros")),
        argument(kind="int", draw=draw(kind="formula", formula="trial")),
        argument(kind="none", draw=draw(kind="value")),
    ],
    ids=["no canary", "zeros", "number", "none"],
)
def test_some_arguments_never_change(spec: dict[str, Any]) -> None:
    """Constant tensors and plain arguments are left alone between timed calls."""
    assert source(spec).deltas(1, 1) == []


def test_whole_rewrites_follow_the_formula() -> None:
    """With a canary share of 1, a timed call's tensor is the formula's value for that call's nonce, everywhere."""
    spec = argument(draw(kind="formula", formula="(i + nonce) % 1000"), dtype="int64", canary=1)
    (delta,) = source(spec).deltas(1, 4)
    assert torch.equal(delta.indices, torch.arange(1000))
    assert delta.values.sort().values.tolist() == list(range(1000))
    start = int(delta.values[0])
    assert torch.equal(delta.values, (torch.arange(1000) + start) % 1000)


def test_partial_rewrites_of_formulas_use_their_own_index() -> None:
    """A changed element of a formula gets the value of its own place."""
    spec = argument(draw(kind="formula", formula="i"), dtype="int64", canary=0.1)
    (delta,) = source(spec).deltas(1, 4)
    assert torch.equal(delta.values, delta.indices)


def test_the_same_calls_are_checked_on_all_ranks() -> None:
    """About one timed call in ten is compared, the same ones on every rank, not foreseeable without the seed."""
    picks = [[source(rank=rank).checked(1, call) for call in range(1000)] for rank in range(2)]
    assert picks[0] == picks[1]
    assert 60 < sum(picks[0]) < 140
    others = [source(seed=OTHER_SEED).checked(1, call) for call in range(1000)]
    assert others != picks[0]

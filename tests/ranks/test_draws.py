"""Inputs from the secret seed: the same for the same question, different for any other, and of the declared form."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from tests.ranks.drawing import OTHER_SEED, SEED, argument, draw, one, source
from workbench.ranks.groups import GroupOf


def test_the_same_question_has_the_same_answer() -> None:
    """Judges that never talk to each other draw the same values for the same seed, draw and argument."""
    assert torch.equal(one(argument()), one(argument()))
    first, second = (source(argument()).deltas(3, 7)[0] for _ in range(2))
    assert torch.equal(first.indices, second.indices)
    assert torch.equal(first.values, second.values)


@pytest.mark.parametrize("change", [{"number": 2}, {"rank": 1}, {"seed": OTHER_SEED}], ids=str)
def test_draws_differ(change: dict[str, Any]) -> None:
    """Another draw number, rank or seed has other values everywhere but by chance."""
    same = one(argument()) == one(argument(), **change)
    assert same.float().mean() < 0.01


def test_arguments_of_one_call_differ() -> None:
    """Two arguments of one form do not get the same values."""
    first, second = source(argument(), argument()).draw(1, 0, False, 1.0)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("kind", ["normal", "uniform", "randint"])
def test_shared_values_are_the_same_on_all_ranks(kind: str) -> None:
    """A shared input is one tensor for all ranks, before timed calls too; an input of its own differs."""
    for shared, same in ((True, "0"), (False, "rank")):
        spec = argument(draw(kind=kind, high="1000", same=same))
        values = [one(spec, rank=rank) for rank in range(3)]
        deltas = [source(spec, rank=rank).deltas(1, 5)[0] for rank in range(3)]
        for other in (1, 2):
            assert torch.equal(values[0], values[other]) == shared
            assert torch.equal(deltas[0].indices, deltas[other].indices) == shared


def test_distributions_are_the_declared_ones() -> None:
    """Normal values have mean 0 and spread 1, uniform ones lie in [0, 1), integers from low up to high - 1."""
    size = {"shape": [100_000]}
    normal = one(argument(draw(), **size))
    assert abs(float(normal.mean())) < 0.02
    assert abs(float(normal.std()) - 1) < 0.02
    uniform = one(argument(draw(kind="uniform"), **size))
    assert 0 <= float(uniform.min()) < float(uniform.max()) < 1
    integers = one(argument(draw(kind="randint", low="-P", high="P"), dtype="int64", **size))
    assert integers.unique().tolist() == list(range(-4, 4))


def test_scale_may_depend_on_the_index() -> None:
    """The factor of a draw is a formula; with ``i`` in it, each element has its own, in timed calls too."""
    spec = argument(draw(kind="uniform", scale="i // 100"), canary=0.5)
    values = one(spec)
    base = one(argument(draw(kind="uniform")))
    assert torch.allclose(values, base * torch.arange(10.0).unsqueeze(1))
    (delta,) = source(spec).deltas(1, 0)
    assert torch.all(delta.values <= delta.indices // 100)
    assert torch.all(delta.values[delta.indices >= 100] > 0)


def test_input_scale_reaches_scaled_inputs_of_judged_trials() -> None:
    """A trial's scale multiplies inputs that allow it, and never the published values."""
    for scaled, stock, factor in ((True, False, 1e3), (False, False, 1.0), (True, True, 1.0)):
        spec = argument(draw(), scaled=scaled)
        assert torch.allclose(one(spec, scale=1e3, stock=stock), one(spec, stock=stock) * factor)


def test_published_values_are_used_for_stock_trials_only() -> None:
    """The published distribution and the judged one are told apart; without a judged one the published serves both."""
    spec = argument(draw(kind="zeros"), draw=draw(kind="formula", formula="rank + 1"))
    assert torch.equal(one(spec, rank=2, stock=True), torch.full((10, 100), 3.0))
    assert torch.equal(one(spec, rank=2), torch.zeros(10, 100))
    assert torch.equal(one(argument(draw=spec["draw"]), rank=2), torch.full((10, 100), 3.0))


def test_only_rank_leaves_zeros_elsewhere() -> None:
    """An input of one rank is zero on the others and stays so before timed calls."""
    spec = argument(draw(only_rank=1))
    assert not torch.any(one(spec, rank=0))
    assert torch.all(one(spec, rank=1) != 0)
    assert source(spec, rank=0).deltas(1, 1) == []
    assert len(source(spec, rank=1).deltas(1, 1)) == 1


def test_formulas_see_index_rank_and_trial() -> None:
    """A formula draw knows the flat index, the rank, the trial and the problem's symbols."""
    spec = argument(draw(kind="formula", formula="1000 * rank + 100 * trial + i % P"), dtype="int64", shape=[2, 3])
    assert one(spec, rank=3, trial=2).tolist() == [[3200, 3201, 3202], [3203, 3200, 3201]]


def test_nonce_is_one_secret_number_for_all_ranks() -> None:
    """The nonce of a draw is the same on all ranks and arguments, and another for each draw, timed call and seed."""
    spec = argument(draw(kind="formula", formula="nonce"), dtype="int64", shape=[1], canary=1)

    def nonces(number: int, seed: str = SEED) -> set[int]:
        return {
            int(value)
            for rank in range(4)
            for value in source(spec, spec, rank=rank, seed=seed).draw(number, 0, False, 1.0)
        }

    def timed(call: int) -> set[int]:
        return {int(source(spec, rank=rank).deltas(1, call)[0].values) for rank in range(4)}

    every = [nonces(1), nonces(2), nonces(1, OTHER_SEED), timed(0), timed(1)]
    assert all(len(found) == 1 for found in every)
    assert len(set().union(*every)) == len(every)


def test_plain_arguments_are_passed_as_they_are() -> None:
    """A literal arrives unchanged, as a copy that a candidate may not spoil; a formula gives a number."""
    spec = argument(kind="list", draw=draw(kind="value", value=[10, 5]))
    first = one(spec)
    first.append(7)
    assert one(spec) == [10, 5]
    assert one(argument(kind="none", draw=draw(kind="value"))) is None
    assert one(argument(kind="int", draw=draw(kind="formula", formula="1 + trial % 7")), trial=9) == 3


def test_uniform_values_stay_between_their_bounds() -> None:
    """A uniform draw with bounds fills the range between them."""
    values = one(argument(draw(kind="uniform", low="-1 / P", high="3 / P"), shape=[1000]))
    assert -0.25 <= float(values.min()) < -0.2
    assert 0.7 < float(values.max()) < 0.75


@pytest.mark.parametrize(("rank", "members"), [(0, (0, 1)), (3, (2, 3))])
def test_groups_are_told_by_their_members(rank: int, members: tuple[int, ...]) -> None:
    """A group holds the ranks for which the formula has the same value; where `when` is 0 there is none."""
    spec = argument(draw(kind="group", formula="rank // 2"), kind="group", shape=[])
    assert one(spec, rank=rank) == GroupOf(members)
    assert one(argument(draw(kind="group", formula="0", when="P - 4"), kind="group", shape=[])) is None


CODE = """
def inputs(case):
    both = case.normal("a", 3, same=0), case.normal("a", 3)
    return {"x1": both[case.stock] + case.trial, "x2": case.drawn["x0"] * case.size.M}
"""


def test_code_makes_arguments_from_secret_numbers() -> None:
    """An inputs.py sees the declared arguments, the symbols and the trial, and draws what ranks share or not."""
    specs = [argument(), argument(draw(kind="code")), argument(draw(kind="code"))]

    def drawn(rank: int, stock: bool = False, trial: int = 0, seed: str = SEED) -> list[Any]:
        return source(*specs, rank=rank, seed=seed, code=CODE).draw(1, trial, stock, 1.0)

    first, other = drawn(0), drawn(1)
    assert torch.equal(first[1], other[1])
    assert torch.equal(first[2], first[0] * 10)
    assert torch.equal(drawn(0, trial=2)[1], first[1] + 2)
    assert not torch.equal(drawn(0, stock=True)[1], drawn(1, stock=True)[1])
    assert not torch.equal(drawn(0, seed=OTHER_SEED)[1], first[1])
    assert [delta.argument for delta in source(*specs, code=CODE).deltas(1, 0)] == [0]

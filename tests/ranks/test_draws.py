"""Inputs from the secret seed: the same for the same question, different for any other, and of the declared form."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from problems.binding import bind, judge_job, obstacles
from problems.loader import catalogue, load_problem

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from workbench.ranks.arguments import Arguments
from workbench.ranks.draws import InputSource
from workbench.ranks.groups import GroupOf
from workbench.ranks.tree import leaves, plain

SEED, OTHER_SEED = "0123456789abcdef" * 2, "f" * 32
PLAIN: dict[str, Any] = {
    "kind": "normal",
    "formula": "",
    "low": "0",
    "high": "",
    "scale": "1",
    "same": "rank",
    "when": "1",
    "only_rank": None,
    "value": None,
}


def draw(**changes: Any) -> dict[str, Any]:
    return {**PLAIN, **changes}


def argument(judged: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """One argument of a job: by default a normal float32 tensor of 1000 elements."""
    published = changes.pop("draw", draw())
    used = judged or published
    return {
        "name": "x",
        "kind": "tensor",
        "shape": [10, 100],
        "dtype": "float32",
        "draw": published,
        "judged": used,
        "refresh": used,
        "canary": 0.1,
        "mutates": "none",
        "scaled": False,
        "value": None,
        **changes,
    }


def source(*arguments: dict[str, Any], rank: int = 0, seed: str = SEED, code: str = "") -> InputSource:
    symbols = {"P": 4, "M": 10, "N": 100, "itemsize": 4}
    job = {"inputs": [{**spec, "name": f"x{i}"} for i, spec in enumerate(arguments)], "symbols": symbols}
    return InputSource({**job, "problem": "x", "world": 4, "dtype": "float32", "inputs_code": code}, seed, rank)


def one(
    spec: dict[str, Any],
    rank: int = 0,
    number: int = 1,
    trial: int = 0,
    stock: bool = False,
    scale: float = 1.0,
    seed: str = SEED,
) -> Any:
    """The only argument of a job with this argument alone."""
    return source(spec, rank=rank, seed=seed).draw(number, trial, stock, scale)[0]


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


def test_arguments_take_the_changes_and_nothing_else() -> None:
    """Writing a call's changes into the arguments changes those elements only."""
    spec = argument()
    inputs = source(spec)
    (base,) = inputs.draw(1, 0, False, 1.0)
    given = Arguments([("plain", base)], [], torch.device("cpu"))
    (delta,) = inputs.deltas(1, 1)
    given.refresh([delta])
    expected = base.reshape(-1).clone()
    expected[delta.indices] = delta.values
    assert torch.equal(given.values[0], expected.reshape(10, 100))
    assert not torch.equal(given.values[0], base)


def test_mutable_arguments_are_restored_before_every_call() -> None:
    """What a call did to an argument that it may overwrite is undone, and changes between calls stay."""
    inputs = source(argument(mutates="may"))
    (base,) = inputs.draw(1, 0, False, 1.0)
    given = Arguments([("plain", base)], [0], torch.device("cpu"))
    expected = base.reshape(-1).clone()
    for call in range(3):
        (delta,) = inputs.deltas(1, call)
        given.refresh([delta])
        expected[delta.indices] = delta.values
        assert torch.equal(given.values[0].reshape(-1), expected)
        given.values[0].zero_()


def test_results_in_an_arguments_memory_are_found() -> None:
    """A result that is a view of an argument is named; a copy, and tensors without elements, are not."""
    values = (torch.ones(4), 3, torch.ones(2, 2), torch.ones(0))
    given = Arguments([("plain", value) for value in values], [], torch.device("cpu"))
    first, _, second, empty = given.values
    assert given.overlaps(second[1:]) == [2]
    assert given.overlaps((torch.ones(4), {"a": [first.view(2, 2).T]})) == [0]
    assert given.overlaps((first.clone(), torch.ones(0), empty, None, 3)) == []


def test_lists_of_tensors_change_and_come_back_as_a_whole() -> None:
    """Changes are counted over all tensors of a list, and an entry that a call replaced is put back."""
    inputs = source(argument(kind="tensors", shape=[3, 4], mutates="must", canary=1.0))
    (base,) = inputs.draw(1, 0, False, 1.0)
    given = Arguments([plain(base)], [0], torch.device("cpu"))
    (delta,) = inputs.deltas(1, 0)
    for _call in range(2):
        given.refresh([delta])
        (values,) = given.values
        assert isinstance(values, list)
        assert torch.equal(torch.cat(values), delta.values)
        values[0].zero_()
        values[2] = torch.ones(4)
        assert [leaf.tolist() for leaf in given.after()[0]][0::2] == [[0] * 4, [1] * 4]


def test_linear_layers_arrive_as_layers() -> None:
    """A linear layer has weight and bias of the declared form, and changes reach both."""
    inputs = source(argument(kind="linear", shape=[5, 3], canary=1.0))
    (base,) = inputs.draw(1, 0, False, 1.0)
    given = Arguments([plain(base)], [], torch.device("cpu"))
    layer = given.values[0]
    assert isinstance(layer, torch.nn.Linear)
    assert (tuple(layer.weight.shape), tuple(layer.bias.shape)) == ((5, 3), (5,))
    assert torch.equal(layer.weight, base.weight)
    (delta,) = inputs.deltas(1, 0)
    given.refresh([delta])
    assert torch.equal(torch.cat([layer.weight.flatten(), layer.bias]), delta.values)


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


PROBLEMS = [load_problem(entry.folder) for entry in catalogue()]


@pytest.mark.parametrize("world", [1, 2, 4])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.stem)
def test_jobs_of_all_problems_draw_what_they_declare(problem: Any, world: int) -> None:
    """Every problem's inputs can be drawn on every rank at every scale, with the declared shapes and dtypes, finite."""
    if obstacles(problem, "smoke", problem.dtypes[0])[world]:
        return  # it cannot run on so many ranks, and says so
    for dtype in problem.dtypes:
        binding = bind(problem, "smoke", world, dtype)
        for rank in range(world):
            job = judge_job(binding, rank)
            inputs = InputSource(job, SEED, rank)
            for trial, (stock, scale) in enumerate([(True, 1.0), *((False, scale) for scale in job["scales"])]):
                drawn = inputs.draw(trial, trial, stock, scale)
                assert len(drawn) == len(problem.arguments)
                for spec, value in zip(job["inputs"], drawn):
                    check_value(spec, value)
            for delta in inputs.deltas(1, 1):
                check_delta(job["inputs"][delta.argument], delta.indices, delta.values)


def check_value(spec: dict[str, Any], value: Any) -> None:
    tensors = leaves(value)
    assert bool(tensors) == (spec["kind"] in ("tensor", "tensors", "linear", "sparse"))
    for tensor in tensors:
        assert tensor.is_contiguous() or spec["draw"]["kind"] == "code"
        assert bool(tensor.isfinite().all())
        assert tensor.dtype == getattr(torch, spec["dtype"]) or spec["kind"] == "sparse"
    # Only code makes shapes that the trial decides.
    if spec["kind"] == "tensor" and spec["judged"]["kind"] != "code":
        assert list(value.shape) == spec["shape"]
    if spec["kind"] == "tensors":
        assert [spec["shape"][1:]] * spec["shape"][0] == [list(tensor.shape) for tensor in value]
    if spec["kind"] == "linear":
        assert [list(tensor.shape) for tensor in tensors] == [spec["shape"], spec["shape"][:1]]


def check_delta(spec: dict[str, Any], indices: torch.Tensor, values: torch.Tensor) -> None:
    assert indices.dtype == torch.int64
    bias = spec["shape"][0] if spec["kind"] == "linear" else 0
    assert int(indices.max()) < math.prod(spec["shape"]) + bias
    assert values.dtype == getattr(torch, spec["dtype"])


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.stem)
def test_every_timed_call_of_every_problem_has_new_inputs(problem: Any) -> None:
    """On some rank at least one argument changes from call to call, so that an old result shows."""
    jobs = [judge_job(bind(problem, "smoke", 2, problem.dtypes[0]), rank) for rank in range(2)]
    changes = [InputSource(job, SEED, rank).deltas(1, call) for rank, job in enumerate(jobs) for call in range(3)]
    assert all(changes[:3]) or all(changes[3:])

"""A problem in words: rules, shapes, and the ranks that it needs."""

from __future__ import annotations

import dataclasses

import pytest

from problems.binding import bind
from problems.model import Draw, Input, Output, Problem, Tolerance
from problems.wording import argument, communicates_from, compared, comparisons, signature, worlds
from tests.widgets.script import make_problem


def problem(**changes: object) -> Problem:
    """The hand-made all-reduce with changes."""
    return dataclasses.replace(make_problem(), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (Output(name="out", shape=("M",)), "within the tolerance, |got - ref| <= 0.02 * rms(ref) + 0.02 * |ref|"),
        (Output(name="out", shape=("M",), dtype="int64"), "every bit the same"),
        (Output(name="out", shape=("M",), compare="exact"), "every bit the same"),
        (Output(name="out", shape=("M",), dtype="int64", compare="set"), "the same elements in any order"),
        (Output(name="n", kind="int", shape=()), "every bit the same"),
    ],
)
def test_rule_of_a_result(output: Output, words: str) -> None:
    """Each part of the result says how it is compared; whole numbers never have a tolerance."""
    assert compared(bind(problem(outputs=(output,)), "smoke", 2, "bfloat16"), output) == words


def test_own_tolerance_and_share() -> None:
    """A tolerance of the result's own and the share that may miss it are said."""
    own = Tolerance(rms={"bfloat16": 0.5}, rel={"bfloat16": 0.0})
    output = Output(name="out", shape=("M",), tolerance=own, share=0.01)
    words = compared(bind(problem(outputs=(output,)), "smoke", 2, "bfloat16"), output)

    assert words.endswith("<= 0.5 * rms(ref) + 0 * |ref|; a share of 0.01 may miss it")


def test_results_that_are_compared_alike_stand_together() -> None:
    """Names with the same rule share one line."""
    outputs = tuple(
        Output(name=name, shape=("M",), dtype=dtype) for name, dtype in zip("abc", ("int32", "int64", "dtype"))
    )
    names = [names for names, _ in comparisons(bind(problem(outputs=outputs), "smoke", 2, "bfloat16"))]

    assert names == ["a, b", "c"]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (Input(name="x", kind="tensor", shape=("rank + 1",), draw=Draw(kind="normal")), "(rank + 1,) = (1,) on rank 0"),
        (Input(name="x", kind="tensors", shape=("3", "M"), draw=Draw(kind="normal")), "bfloat16, list of tensors"),
        (Input(name="x", kind="float", draw=Draw(kind="value", value=0.5)), "float = 0.5"),
        (Input(name="x", kind="int", draw=Draw(kind="formula", formula="1 + trial")), "int = 1 + trial"),
        (Input(name="x", kind="int", draw=Draw(kind="formula", formula="2 * M")), "int = 2 * M = 256"),
        (Input(name="x", kind="group", draw=Draw(kind="group", formula="rank // 2")), "ranks with the same rank // 2"),
    ],
)
def test_arguments(item: Input, words: str) -> None:
    """Every kind of argument says what it is, and ranks are told apart where they differ."""
    assert words in argument(bind(problem(inputs=(item,)), "smoke", 2, "bfloat16"), item)


def test_possible_ranks() -> None:
    """World sizes that do not divide are told with the reason, those with the same reason together."""
    possible, reasons = worlds(problem(requires=("M % P",)), "smoke", "bfloat16")

    assert possible == [1, 2, 4, 8]
    assert reasons == [("128 % P must be 0", [3, 5, 6, 7])]


def test_least_ranks_that_communicate() -> None:
    """The first possible world size on which bytes have to move; none where no formula ever asks for any."""
    figures = make_problem().figures
    late = dataclasses.replace(figures, needed_bytes="max(0, P - 3)")
    never = dataclasses.replace(figures, needed_bytes="0")

    assert communicates_from(problem(), "smoke", "bfloat16") == 2
    assert communicates_from(problem(figures=late, requires=("M % P",)), "smoke", "bfloat16") == 4
    assert communicates_from(problem(figures=never), "smoke", "bfloat16") is None


def test_signature_without_a_reference() -> None:
    """Where the reference cannot be read, the names of the arguments are shown."""
    assert signature(problem()) == "solution(tensor)"

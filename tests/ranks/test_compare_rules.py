"""Comparison by the rules that a problem may ask for: exact, set, between, lookup, allclose, a share."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from tests.ranks.comparing import CLOSE, EXACT, INF, NAN, SET, f64
from workbench.ranks.compare import Difference, Rule, compare

pytestmark = pytest.mark.usefixtures("chunk")


@pytest.mark.parametrize(
    ("want", "got"),
    [
        (torch.tensor([1, 2, 3]), torch.tensor([1, 2, 4])),
        (torch.tensor([1000, 2000, 3000]), torch.tensor([1000, 2000, 3001])),
        (torch.tensor([True, False, True]), torch.tensor([True, False, False])),
        (torch.tensor([0, 0, 255], dtype=torch.uint8), torch.tensor([0, 0, 0], dtype=torch.uint8)),
        (torch.tensor([0, 0, 0]), torch.tensor([0, 0, -(2**63)])),
        (torch.tensor([0, 0, 2**63 - 1]), torch.tensor([0, 0, -(2**63)])),
        (torch.tensor([0, 0, 2**60]), torch.tensor([0, 0, 2**60 + 1])),
    ],
    ids=["small", "within the float tolerance", "bool", "unsigned", "lowest", "far apart", "alike in float64"],
)
def test_integers_are_exact(want: torch.Tensor, got: torch.Tensor) -> None:
    """One integer or bool that differs is wrong, however loose the tolerance and however large the numbers."""
    found = compare(want, got, [CLOSE])
    assert (found.first_bad, found.ratio) == ("out[2]", INF)
    assert found.max_abs >= 0
    assert compare(want, want.clone(), [CLOSE]) == Difference()


def test_exact_floats_must_be_equal() -> None:
    """Where a problem only moves data, the smallest change of one element is wrong."""
    want = torch.tensor([1.0, 2.0, 3.0])
    found = compare(want, torch.nextafter(want, torch.tensor(9.0)).where(want == 2, want), [EXACT])
    assert found.first_bad == "out[1]"
    assert compare(f64(0.0), f64(-0.0), [EXACT]).passes


def test_sets_ignore_order_and_count_copies() -> None:
    """Under the set rule the order is free, but every value must come as often as in the reference."""
    assert compare(f64(3, 1, 2, 2), f64(2, 3, 2, 1), [SET]) == Difference()
    assert compare(torch.tensor([[5, 1], [3, 1]]), torch.tensor([[1, 1], [5, 3]]), [SET]) == Difference()
    found = compare(torch.tensor([5, 1, 1]), torch.tensor([5, 5, 1]), [SET])
    assert (found.expected, found.got) == ("1", "5")
    assert not compare(f64(3, 1, 2, 2), f64(3, 3, 1, 2), [SET]).passes


def test_each_part_has_its_own_rule() -> None:
    """With a rule for each part of the result, each is judged by its own."""
    want, got = (f64(1, 1), f64(1, 1)), (f64(1, 1.05), f64(1, 1.05))
    assert compare(want, got, [CLOSE, CLOSE]).passes
    assert compare(want, got, [CLOSE, EXACT]).first_bad == "out[1][1]"
    assert compare({"a": want[0], "b": want[1]}, {"a": got[0], "b": got[1]}, [EXACT, CLOSE]).first_bad == "out[0][1]"


def test_a_share_of_the_elements_may_miss() -> None:
    """As many elements as the share allows may be off, however far; the next one is wrong, and so is any non-finite."""
    rule = Rule("close", rms=0.0, rel=0.01, share=0.1)
    want = torch.ones(20, dtype=torch.float64)
    got = want.clone()
    got[3], got[7] = 50.0, -8.0
    found = compare(want, got, [rule])
    assert found.passes
    assert found.ratio == 0
    assert found.max_abs == 49
    got[9] = 1.02
    assert not compare(want, got, [rule]).passes
    assert compare(want, got, [rule]).ratio == pytest.approx(2.0)
    got = want.clone()
    got[3] = math.nan
    assert not compare(want, got, [rule]).passes


def test_between_bounds() -> None:
    """Everything between the bounds is right; beyond them the tolerance begins."""
    rule, bounds = Rule("between", rms=0.0, rel=0.1), [(f64(1, 1), f64(3, 1))]
    for value, passes in ((1, True), (3, True), (3.29, True), (3.4, False), (0.89, False)):
        assert compare(f64(2, 1), f64(value, 1), [rule], bounds).passes == passes, value
    whole = torch.tensor
    ranks = [(whole([1, 4]), whole([3, 4]))]
    assert compare(whole([1, 4]), whole([3, 4]), [rule], ranks).passes
    assert compare(whole([1, 4]), whole([3, 5]), [rule], ranks).first_bad == "out[1]"


def test_bounds_never_exclude_the_reference() -> None:
    """The reference's own value is right, wherever the bounds lie."""
    rule = Rule("between", rms=0.0, rel=0.0)
    assert compare(f64(5), f64(5), [rule], [(f64(1), f64(3))]).passes
    assert not compare(f64(2), f64(NAN), [rule], [(f64(1), f64(3))]).passes


@pytest.mark.parametrize(
    ("labels", "passes"),
    [
        ([7, 8, 9], True),
        ([7, 9, 8], True),
        ([7, 8, 5], True),
        ([8, 7, 9], False),
        ([7, 8, 8], False),
        ([7, 8, 4], False),
        ([7, 8, -1], False),
    ],
)
def test_labels_of_equal_values_may_change_places(labels: list[int], passes: bool) -> None:
    """A label that a pair holds with the place's value is right, once for each pair; one of another value is not."""
    rules = [Rule("close", rms=0.0, rel=0.01), Rule("lookup", rms=0.0, rel=0.01)]
    values = f64(3, 2, 2).reshape(1, 3)
    pairs = (f64(3, 2, 2, 2, 1).reshape(1, 5), torch.tensor([[7, 8, 9, 5, 4]]))
    found = compare((values, torch.tensor([[7, 8, 9]])), (values, torch.tensor([labels])), rules, [None, pairs])
    assert found.passes == passes


def test_allclose_has_an_absolute_part_for_every_dtype() -> None:
    """The rule of a checkout: |got - ref| <= rms + rel * |ref|, whatever the size of the rest, whole numbers too."""
    rule = Rule("allclose", rms=0.01, rel=0.01)
    assert compare(f64(0, 1000), f64(0.0099, 1010), [rule]).passes
    assert compare(f64(0, 1000), f64(0.011, 1000), [rule]).first_bad == "out[0]"
    assert compare(f64(0, 1000), f64(0, 1010.1), [rule]).first_bad == "out[1]"
    assert compare(torch.tensor([500]), torch.tensor([505]), [rule]).passes
    assert not compare(torch.tensor([500]), torch.tensor([506]), [rule]).passes
    assert compare(torch.tensor([1.0], dtype=torch.bfloat16), torch.tensor([1.005]), [rule]).passes

"""Comparison of results in several parts and of every form, and where the first bad element is."""

from __future__ import annotations

import os
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from tests.ranks.comparing import CLOSE, f64
from workbench.ranks.compare import Difference, Mismatch, compare, mismatch
from workbench.ranks.shared import Region, shared_fd
from workbench.ranks.transport import pack

pytestmark = pytest.mark.usefixtures("chunk")


def test_first_bad_index_is_the_first_in_memory_order() -> None:
    """The place shown is the first bad element of the first bad tensor, as a full index."""
    want = torch.zeros(2, 3, 4, dtype=torch.float64) + 1
    got = want.clone()
    got[1, 2, 3] = got[0, 2, 1] = 7
    assert compare(want, got, [CLOSE]).first_bad == "out[0, 2, 1]"
    assert compare(f64(1).reshape(()), f64(9).reshape(()), [CLOSE]).first_bad == "out"


def test_views_are_compared_by_value() -> None:
    """A transposed result has its index in the result's own shape."""
    want = torch.ones(3, 2, dtype=torch.float64)
    got = torch.ones(2, 3, dtype=torch.float64).T
    got[2, 0] = 5
    assert compare(want, got, [CLOSE]).first_bad == "out[2, 0]"


def test_complex_numbers_are_compared_by_part() -> None:
    """A wrong imaginary part is found, at the index of its number."""
    want = torch.tensor([1 + 1j, 2 + 2j, 3 + 3j])
    assert compare(want, want.clone(), [CLOSE]) == Difference()
    found = compare(want, torch.tensor([1 + 1j, 2 + 2j, 3 + 9j]), [CLOSE])
    assert (found.first_bad, found.max_abs, found.max_rel) == ("out[2]", 6.0, 2.0)
    assert found.got == "3+9j"
    assert compare(want, want.conj().resolve_conj().conj(), [CLOSE]).passes


def test_sequences_name_the_part() -> None:
    """In a result of several tensors, the label says which; a result of one needs no number."""
    good, bad = f64(1, 1), f64(1, 9)
    assert compare((good, good), (good, bad), [CLOSE]).first_bad == "out[1][1]"
    assert compare((good,), (bad,), [CLOSE]).first_bad == "out[1]"
    assert compare({"a": good, "b": (good, good)}, {"a": good, "b": (good, bad)}, [CLOSE]).first_bad == "out[1][1][1]"


def test_differences_of_parts_add_up() -> None:
    """Errors are the largest of all parts, the first bad element stays the first."""
    found = compare((f64(1, 1), f64(10), f64(1)), (f64(1, 3), f64(70), f64(1)), [CLOSE])
    assert (found.first_bad, found.max_abs, found.max_rel) == ("out[0][1]", 60.0, 6.0)


@pytest.mark.parametrize(
    ("want", "got", "passes"),
    [
        (1.0, 1.1, True),
        (1.0, 1.2, False),
        (3, 3, True),
        (3, 4, False),
        ("max", "max", True),
        ("max", "min", False),
        (None, None, True),
        (True, False, False),
    ],
)
def test_plain_values_are_compared_too(want: Any, got: Any, passes: bool) -> None:
    """Floats have the tolerance, all other plain values must be equal."""
    found = compare((want,), (got,), [CLOSE])
    assert found.passes == passes
    assert bool(found.first_bad) != passes


def headers(*values: Any) -> list[Any]:
    region = Region(shared_fd("test"))
    try:
        return [pack(value, region)[0] for value in values]
    finally:
        os.close(region.fd)


@pytest.mark.parametrize(
    ("want", "got", "expected"),
    [
        (torch.ones(2), torch.ones(2), None),
        ([torch.ones(2)], (torch.ones(2),), None),
        (torch.ones(2), torch.ones(3), Mismatch("out has shape [3], the reference [2]", "shape")),
        (torch.ones(2), torch.ones(2, 1), Mismatch("out has shape [2, 1], the reference [2]", "shape")),
        (torch.ones(2), torch.ones(2).half(), Mismatch("out has dtype float16, the reference float32")),
        (torch.ones(2), torch.ones(3).half(), Mismatch("out has dtype float16, the reference float32")),
        (torch.ones(2), None, Mismatch("out is None, the reference returns float32[2]")),
        (torch.ones(2), 1.5, Mismatch("out is float, the reference returns float32[2]")),
        (torch.ones(2), (torch.ones(2),), Mismatch("out is (float32[2]), the reference returns float32[2]")),
        ((1, 2), (1, 2, 3), Mismatch("out has 3 parts, the reference returns 2")),
        ((1, 2), (1, 2.0), Mismatch("out[1] is float, the reference returns int")),
        ({"a": 1}, {"b": 1}, Mismatch("out has the keys ['b'], the reference ['a']")),
        (1, True, Mismatch("out is bool, the reference returns int")),
    ],
)
def test_form_differences_are_put_in_words(want: Any, got: Any, expected: Mismatch | None) -> None:
    """Structure, count, dtype and shape are checked before any value, and the message names both sides."""
    assert mismatch(*headers(want, got)) == expected


def test_worse_mismatch_is_named_first() -> None:
    """A dtype that differs in a later part counts before a length that differs in an earlier one."""
    found = mismatch(*headers((torch.ones(2), torch.ones(2)), (torch.ones(3), torch.ones(2).half())))
    assert found == Mismatch("out[1] has dtype float16, the reference float32")


@pytest.mark.parametrize(
    ("place", "near"),
    [
        ((0, 0), "out[0, 0:3]: expected 0, 1, 2; got -99, 1, 2"),
        ((1, 3), "out[1, 1:6]: expected 7, 8, 9, 10, 11; got 7, 8, -99, 10, 11"),
        ((3, 5), "out[3, 3:6]: expected 21, 22, 23; got 21, 22, -99"),
    ],
)
def test_neighbours_of_the_first_bad_element(place: tuple[int, int], near: str) -> None:
    """Up to two elements of the row on each side are told, so that an offset or a stride can be recognised."""
    want = torch.arange(24.0).reshape(4, 6)
    got = want.clone()
    got[place] = -99
    assert compare(want, got, [CLOSE]).near == near


def test_neighbours_of_a_single_number() -> None:
    """A number without neighbours has none."""
    assert compare(torch.tensor(1.0), torch.tensor(2.0), [CLOSE]).near == ""

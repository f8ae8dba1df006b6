"""Comparison with the reference: the tolerance by hand, what exact means, non-finite values, first bad index."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from workbench.ranks import compare as module
from workbench.ranks.compare import Difference, Mismatch, Rule, compare, mismatch, use_threads
from workbench.ranks.shared import Region, shared_fd
from workbench.ranks.transport import pack

NAN, INF = math.nan, math.inf
CLOSE = Rule("close", rms=0.1, rel=0.01)
STRICT = Rule("close", rms=0.0, rel=0.0)
EXACT = Rule("exact", rms=0.1, rel=0.01)
SET = Rule("set", rms=0.1, rel=0.01)


@pytest.fixture(
    params=[(1, 1), (3, 1), (3, 4), (1 << 22, 4)],
    ids=["chunks of 1", "chunks of 3", "chunks of 3 on threads", "one chunk"],
    autouse=True,
)
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every fact of this file holds wherever the borders between chunks fall, and whoever compares them."""
    size, threads = request.param
    monkeypatch.setattr(module, "_CHUNK", size)
    before = torch.get_num_threads()
    use_threads(threads)
    yield
    use_threads(1)
    torch.set_num_threads(before)


def f64(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_tolerance_is_rms_plus_relative_part() -> None:
    """Reference (3, 4, 0, 0) has rms 2.5: at 0.1 and 0.01 the elements may be off by 0.28, 0.29, 0.25 and 0.25."""
    want = f64(3, 4, 0, 0)
    allowed = f64(0.28, 0.29, 0.25, 0.25)
    assert compare(want, want + 0.999 * allowed, [CLOSE]).passes
    assert compare(want, want - 0.999 * allowed, [CLOSE]).passes
    for place in range(4):
        got = want.clone()
        got[place] += 1.001 * allowed[place]
        found = compare(want, got, [CLOSE])
        assert found.first_bad == f"out[{place}]"
        assert found.ratio == pytest.approx(1.001)
        assert found.max_abs == pytest.approx(1.001 * float(allowed[place]))


def test_errors_are_reported_by_hand_figures() -> None:
    """Absolute and relative error are the largest of any element; the values shown are those of the first bad one."""
    found = compare(f64(1, 2, 4), f64(1, 3, 5), [CLOSE])
    assert (found.max_abs, found.max_rel) == (1.0, 0.5)
    assert (found.first_bad, found.expected, found.got) == ("out[1]", "2", "3")
    assert found.ratio == pytest.approx(1 / (0.1 * math.sqrt(7) + 0.02))


def test_equal_values_have_no_error() -> None:
    """A result that is the reference's has zero errors, at zero tolerance too."""
    for value in (f64(0, -0.0, 1e-300), f64(), torch.zeros(0, 3), torch.tensor(7), torch.tensor(True)):
        assert compare(value, value.clone(), [STRICT]) == Difference()


def test_error_where_the_reference_is_zero_is_infinitely_large() -> None:
    """Relative to a reference of 0 any error is infinite, and still passes within the absolute part."""
    found = compare(f64(0, 1), f64(1e-3, 1), [CLOSE])
    assert found.passes
    assert found.max_rel == INF


def test_zero_reference_allows_nothing() -> None:
    """An all-zero reference has rms 0, so any other value is wrong."""
    found = compare(f64(0, 0), f64(0, 1e-300), [CLOSE])
    assert (found.first_bad, found.ratio) == ("out[1]", INF)


def test_rms_is_taken_over_finite_values_only() -> None:
    """An infinity in the reference does not make every other error tolerable."""
    want = f64(1, INF, 1, NAN)
    assert compare(want, f64(1.1, INF, 1, NAN), [CLOSE]).passes
    found = compare(want, f64(1.2, INF, 1, NAN), [CLOSE])
    assert found.first_bad == "out[0]"
    assert found.ratio == pytest.approx(0.2 / 0.11)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float8_e5m2])
def test_low_precision_is_compared_in_float64(dtype: torch.dtype) -> None:
    """Differences of narrow dtypes are not lost to their own rounding."""
    want, got = torch.tensor([256.0, 0.0]).to(dtype), torch.tensor([256.0, 0.5]).to(dtype)
    rms = 256 / math.sqrt(2)
    found = compare(want, got, [Rule("close", rms=0.45 / rms, rel=0.0)])
    assert found.first_bad == "out[1]"
    assert found.ratio == pytest.approx(0.5 / 0.45)
    assert compare(want, got, [Rule("close", rms=0.55 / rms, rel=0.0)]).passes


@pytest.mark.parametrize(
    ("want", "got", "bad"),
    [
        ((1, NAN), (1, NAN), ""),
        ((1, INF), (1, INF), ""),
        ((1, -INF), (1, -INF), ""),
        ((1, NAN), (1, 5), "out[1]"),
        ((1, 5), (1, NAN), "out[1]"),
        ((INF, 1), (1, 1), "out[0]"),
        ((1, 1), (INF, 1), "out[0]"),
        ((INF, 1), (-INF, 1), "out[0]"),
        ((INF, 1), (NAN, 1), "out[0]"),
        ((NAN, 1), (INF, 1), "out[0]"),
        ((NAN, 1, 1), (1, NAN, 1), "out[0]"),
    ],
)
@pytest.mark.parametrize("rule", [CLOSE, EXACT], ids=["close", "exact"])
def test_non_finite_values_must_be_the_references_own(
    want: tuple[float, ...], got: tuple[float, ...], bad: str, rule: Rule
) -> None:
    """NaN and infinities pass in the reference's places only, with the reference's sign."""
    found = compare(f64(*want), f64(*got), [rule])
    assert found.first_bad == bad
    assert (found.max_abs, found.ratio) == ((INF, INF) if bad else (0, 0))


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


def test_first_bad_index_is_the_first_in_memory_order() -> None:
    """The place shown is the first bad element of the first bad tensor, as a full index."""
    want = torch.zeros(2, 3, 4, dtype=torch.float64) + 1
    got = want.clone()
    got[1, 2, 3] = got[0, 2, 1] = 7
    assert compare(want, got, [CLOSE]).first_bad == "out[0, 2, 1]"
    assert compare(f64(1).reshape(()), f64(9).reshape(()), [CLOSE]).first_bad == "out"


def test_large_results_are_compared_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than one chunk goes to the threads that a judge was given, and to no more; one chunk stays where it is."""
    seen: set[str] = set()
    plain = module._compare_chunk

    def noted(*sides: torch.Tensor, **limits: Any) -> Any:
        seen.add(threading.current_thread().name)
        return plain(*sides, **limits)

    monkeypatch.setattr(module, "_compare_chunk", noted)
    monkeypatch.setattr(module, "_CHUNK", 10)
    use_threads(3)
    want = torch.arange(300, dtype=torch.float64)
    assert compare(want, want + 0.01, [CLOSE]).passes
    assert threading.main_thread().name not in seen
    assert 1 <= len(seen) <= 3
    seen.clear()
    assert not compare(want[:10], want[:10] + 9, [CLOSE]).passes
    assert seen == {threading.main_thread().name}


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


numbers = st.floats(-1e6, 1e6) | st.sampled_from([0.0, NAN, INF, -INF])


@given(pairs=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8))
@settings(deadline=None)
def test_comparison_follows_its_formula(pairs: list[tuple[float, float]]) -> None:
    """Element by element, the verdict is that of the formula written out in plain Python."""
    finite = [want for want, _ in pairs if math.isfinite(want)]
    rms = math.sqrt(sum(want * want for want in finite) / len(finite)) if finite else 0.0

    def passes(want: float, got: float) -> bool:
        if not (math.isfinite(want) and math.isfinite(got)):
            return want == got or (math.isnan(want) and math.isnan(got))
        error, allowed = abs(want - got), 0.1 * rms + 0.01 * abs(want)
        assume(error == 0 or not math.isclose(error, allowed, rel_tol=1e-9))
        return error <= allowed

    bad = next((place for place, pair in enumerate(pairs) if not passes(*pair)), None)
    found = compare(f64(*(want for want, _ in pairs)), f64(*(got for _, got in pairs)), [CLOSE])
    assert found.first_bad == ("" if bad is None else f"out[{bad}]")


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


@pytest.mark.parametrize("rel", [0.0, 1e-2])
def test_the_usual_case_is_judged_like_any_other(rel: float) -> None:
    """The quick way for finite values finds the errors, ratios and first bad element that the general way finds."""
    generator = torch.Generator().manual_seed(5)
    want = torch.randn(1000, generator=generator, dtype=torch.float64)
    want[::97] = 0.0
    for noise in (0.0, 1e-3, 1.0):
        have = want + noise * torch.randn(1000, generator=generator, dtype=torch.float64)
        have[::50] = want[::50]
        quick, general = module._compare_finite(want, have, (1e-2, rel)), module._compare_any(want, have, (1e-2, rel))
        assert quick is not None
        assert torch.allclose(quick.ratios, general.ratios, rtol=1e-12, atol=0)
        assert (quick.max_abs, quick.max_rel, quick.bad) == (general.max_abs, general.max_rel, general.bad)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_the_usual_case_leaves_out_what_is_not_finite(value: float) -> None:
    """One value that is not finite is left to the general way, on either side."""
    fine, bad = torch.zeros(3, dtype=torch.float64), torch.tensor([0.0, value, 0.0], dtype=torch.float64)
    assert module._compare_finite(fine, bad, (1.0, 1.0)) is None
    assert module._compare_finite(bad, fine, (1.0, 1.0)) is None
    assert module._compare_finite(bad, bad, (1.0, 1.0)) is None


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

"""Comparison with the reference: the tolerance by hand and by its formula, non-finite values, the quick way."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from tests.ranks.comparing import CLOSE, EXACT, INF, NAN, STRICT, f64
from workbench.ranks import compare as module
from workbench.ranks.compare import Difference, Rule, compare, use_threads

pytestmark = pytest.mark.usefixtures("chunk")


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


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_the_same_bytes_are_other_values_in_another_dtype(dtype: torch.dtype) -> None:
    """Where a result of any dtype is taken its values count: 1.0 and the number with the same bytes differ."""
    want = torch.tensor([1.0, 2.0]).view(dtype)
    got = want.view(torch.float32 if dtype is torch.int32 else torch.int32)
    rule = Rule("allclose", rms=0.1, rel=0.01)
    assert compare(want, got, [rule]).first_bad == "out[0]"
    assert compare(want, want.double(), [rule]).passes


def _filled(dtype: torch.dtype, count: int, offset: int) -> torch.Tensor:
    memory = torch.arange(64, dtype=torch.uint8).repeat(8).view(dtype) if dtype is not torch.bool else torch.ones(512)
    return memory.to(dtype).clone()[offset : offset + count]


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int16, torch.bfloat16, torch.float32, torch.int64])
@pytest.mark.parametrize(("count", "offset"), [(0, 0), (1, 0), (7, 0), (8, 0), (19, 0), (19, 1), (16, 3)])
def test_the_same_bytes_are_told_whatever_the_length(dtype: torch.dtype, count: int, offset: int) -> None:
    """Results equal to the bit are the same wherever they begin; one other byte changes that."""
    want = _filled(dtype, count, offset)
    have = want.clone()
    assert module._same_bits(want, have)
    assert count == 0 or not module._same_bits(want, have[:-1])
    for place in {0, count // 2, count - 1} if count else ():
        other = have.clone()
        other.view(torch.uint8)[place * other.itemsize] ^= 1
        assert not module._same_bits(want, other)


@pytest.mark.parametrize("count", [0, 1, 6])
def test_the_same_bytes_are_told_whatever_the_stride(count: int) -> None:
    """Results that repeat one element in memory, or take every other one, compare by their elements."""
    base = torch.arange(64, dtype=torch.int16)
    for want in (base[5].expand(count), base[: 2 * count : 2], base[3 : 3 + 2 * count : 2]):
        assert module._same_bits(want, want.clone(memory_format=torch.contiguous_format))
        assert count == 0 or not module._same_bits(want, want + 1)


def test_a_not_a_number_of_the_references_own_is_right_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference's own result needs no look at its elements, not-a-numbers among them; zeros of either sign do."""
    looked: list[int] = []
    each_chunk = module._each_chunk
    monkeypatch.setattr(module, "_each_chunk", lambda *args: looked.append(1) or each_chunk(*args))
    want = f64(NAN, INF, -INF, 0.0, 5.0)
    assert compare(want, want.clone(), [CLOSE]).passes
    assert looked == []
    assert compare(want, f64(NAN, INF, -INF, -0.0, 5.0), [CLOSE]).passes
    assert looked == [1]

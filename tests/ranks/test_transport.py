"""Values between ranks and judge: what travels comes back unchanged, and a hostile header never does harm."""

from __future__ import annotations

import copy
import gc
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from workbench.ranks.channel import decode, encode
from workbench.ranks.shared import Region, shared_fd
from workbench.ranks.transport import DTYPES, PayloadError, pack, structure, unpack

READABLE_ERRORS = (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError)
"""What the judge takes for a breach of the contract; anything else would count as pkwb's own failure."""


@pytest.fixture
def region() -> Iterator[Region]:
    """Empty shared memory."""
    made = Region(shared_fd("test"))
    yield made
    os.close(made.fd)


def over_the_wire(header: Any) -> Any:
    """The header as the other process reads it: through JSON."""
    return decode(encode({"header": header})[4:])["header"]


def travelled(value: Any, region: Region) -> Any:
    """A value after its way through a region, seen through a map of its own."""
    header, _end = pack(value, region)
    return unpack(over_the_wire(header), Region(region.fd))


def same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have one dtype, one shape and the same bytes."""
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    raw = [side.contiguous().reshape(-1).view(torch.uint8) for side in (one, other)]
    return torch.equal(*raw)


@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 0, 2), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_every_dtype_comes_back_bit_for_bit(region: Region, name: str, shape: tuple[int, ...]) -> None:
    """A tensor of any dtype, also without dimensions or elements, arrives with the bytes that it had."""
    dtype = DTYPES[name]
    top = 2 if dtype == torch.bool else 120
    raw = torch.randint(0, top, (math.prod(shape) * dtype.itemsize,), dtype=torch.uint8)
    value = raw.view(dtype).reshape(shape) if raw.numel() else torch.empty(shape, dtype=dtype)
    assert same_bytes(travelled(value, region), value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(12.0).reshape(3, 4).T,
        lambda: torch.arange(12.0)[::5],
        lambda: torch.arange(3.0).expand(4, 3),
        lambda: torch.tensor([1 + 2j, 3 - 4j]).conj(),
        lambda: torch.tensor([1 + 2j, 3 - 4j]).conj().imag,
        lambda: torch.arange(4.0, requires_grad=True),
        lambda: torch.nn.Parameter(torch.ones(2)),
        lambda: torch.tensor([math.nan, math.inf, -math.inf, -0.0]),
    ],
    ids=["transposed", "strided", "expanded", "conjugated", "negated", "with gradient", "parameter", "non-finite"],
)
def test_views_arrive_as_their_values(region: Region, make: Callable[[], torch.Tensor]) -> None:
    """A view, a lazily conjugated or negated tensor or one with a gradient arrives as the values that it stands for."""
    value = make()
    plain = value.detach().resolve_conj().resolve_neg().contiguous()
    assert same_bytes(travelled(value, region), plain)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**80), 2**80), st.text(max_size=20), st.floats(allow_nan=False)
)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


@given(value=trees)
@settings(deadline=None)
def test_numbers_and_containers_come_back(value: Any) -> None:
    """Numbers, strings, None and nested tuples and dicts of them arrive as they were, types included."""
    region = Region(shared_fd("test"))
    try:
        arrived = travelled(value, region)
    finally:
        os.close(region.fd)
    assert repr(arrived) == repr(value)


def test_tensors_of_one_result_do_not_overlap(region: Region) -> None:
    """A result of several tensors, some in a dict, arrives with every tensor whole."""
    value = (torch.arange(7), {"a": torch.ones(3, dtype=torch.bfloat16), "b": [torch.full((2, 2), 5.0), 3]})
    ints, named = travelled(value, region)
    assert torch.equal(ints, torch.arange(7))
    assert torch.equal(named["a"], torch.ones(3, dtype=torch.bfloat16))
    assert torch.equal(named["b"][0], torch.full((2, 2), 5.0))
    assert named["b"][1] == 3


def test_a_second_value_goes_behind_the_first(region: Region) -> None:
    """Result and arguments share one region: packing from an offset leaves what lies before it alone."""
    first, end = pack(torch.arange(100), region)
    second, _end = pack(torch.zeros(5000), region, end)
    assert torch.equal(unpack(first, region), torch.arange(100))
    assert torch.equal(unpack(second, region), torch.zeros(5000))


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (object, "object"),
        (lambda: {1, 2}, "set"),
        (lambda: torch.ones(3).to_sparse(), "sparse"),
        (lambda: torch.empty(3, device="meta"), "meta"),
        (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "no plain bytes"),
        (lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "qint8"),
        (lambda: [1] * 10_001, "more than 10000 parts"),
        (lambda: nested(65), "nested more than 64 deep"),
        (endless, "nested more than 64 deep"),
    ],
    ids=["object", "set", "sparse", "meta", "nested", "quantized", "too many", "too deep", "endless"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_cannot_travel_is_said(region: Region, make: Callable[[], Any], words: str) -> None:
    """A result that is no plain value is refused with words for it."""
    with pytest.raises(PayloadError, match=words):
        pack(make(), region)


def test_a_tensor_that_still_has_to_be_waited_for_is_refused(region: Region) -> None:
    """A tensor subclass, such as a collective's promise of a result, does not pass for its values."""

    class Promise(torch.Tensor):
        pass

    with pytest.raises(PayloadError, match=r"a Promise where a plain torch\.Tensor is due"):
        pack(torch.ones(2).as_subclass(Promise), region)


def header_of(**changes: Any) -> dict[str, Any]:
    return {"t": "tensor", "dtype": "float32", "shape": [4], "at": 0, **changes}


@pytest.mark.parametrize(
    "header",
    [
        None,
        [],
        7,
        {},
        {"t": "pickle", "v": "x"},
        {"t": []},
        {"t": "int", "v": True},
        {"t": "int", "v": 1.5},
        {"t": "float", "v": 1.5},
        {"t": "float", "v": "1" * 64},
        {"t": "float", "v": "one"},
        {"t": "sequence", "items": {"a": 1}},
        {"t": "dict", "keys": ["a"], "items": []},
        {"t": "dict", "keys": [1], "items": [{"t": "None"}]},
        header_of(dtype="object"),
        header_of(dtype=None),
        header_of(shape=[-1]),
        header_of(shape=[True]),
        header_of(shape=[1.0]),
        header_of(shape="4"),
        header_of(shape=[1] * 65),
        header_of(shape=[2**40]),
        header_of(shape=[2**62, 2**62]),
        header_of(shape=[0, 2**62, 2**62]),
        header_of(shape=[10**4000, 10**4000]),
        header_of(at=-64),
        header_of(at=1),
        header_of(at=64.0),
        header_of(at=True),
        header_of(at=4096),
        header_of(at=2**70),
        header_of(at=4096 - 64, shape=[17]),
        {"t": "sequence", "items": [{"t": "None"}] * 10_001},
    ],
    ids=lambda header: str(header)[:50],
)
def test_malformed_headers_are_refused(region: Region, header: Any) -> None:
    """A header that lies about kind, dtype, shape, place or length is an error, not a read outside the memory."""
    region.ensure(4096)
    with pytest.raises(ValueError, match=r"malformed|shared memory|could not convert"):
        unpack(header, region)


@pytest.mark.parametrize("depth", [65, 400, 5000])
def test_deep_headers_are_refused(region: Region, depth: int) -> None:
    """A header nested without end is refused before it uses up the stack."""
    header: dict[str, Any] = {"t": "None"}
    for _ in range(depth):
        header = {"t": "sequence", "items": [header]}
    with pytest.raises(PayloadError, match="malformed"):
        unpack(header, region)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
hostile_values = json_values | st.sampled_from(
    ["tensor", "sequence", "dict", "float", "int", "bool", "bfloat16", "complex128", 0, 64, 4032, 4096, 2**31, 2**63]
)


def nodes_of(header: Any) -> list[tuple[Any, Any]]:
    """All places (container, key) in a JSON value."""
    pairs = header.items() if isinstance(header, dict) else enumerate(header) if isinstance(header, list) else ()
    return [place for key, item in list(pairs) for place in [(header, key), *nodes_of(item)]]


def check_inside(value: Any, base: int, size: int) -> None:
    """All tensors of a value lie within the mapped bytes."""
    if isinstance(value, torch.Tensor):
        if value.numel():
            start = value.data_ptr() - base
            assert 0 <= start <= start + value.numel() * value.element_size() <= size
    elif isinstance(value, (tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            check_inside(item, base, size)


@given(data=st.data())
@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_mutated_headers_never_read_outside_the_region(data: st.DataObject) -> None:
    """Whatever a rank makes of its header: it is refused in a known way, or its tensors lie inside the region."""
    region = Region(shared_fd("test"))
    try:
        value = (torch.arange(64), {"x": torch.ones(8, 8, dtype=torch.bfloat16), "y": [torch.tensor(1.5), 2, "s"]})
        header = json.loads(json.dumps(pack(value, region)[0]))
        region.ensure(region.size)  # all of it in one map, so that every tensor's place can be told from one address
        for _ in range(data.draw(st.integers(1, 4))):
            places = nodes_of(header)
            if places:
                holder, key = data.draw(st.sampled_from(places))
                holder[key] = copy.deepcopy(data.draw(hostile_values))
        try:
            found = unpack(header, region)
        except READABLE_ERRORS:
            return
        assert region.map is not None
        base = torch.frombuffer(region.map, dtype=torch.uint8).data_ptr()
        check_inside(found, base, region.size)
    finally:
        os.close(region.fd)


def test_structure_reads_like_a_type(region: Region) -> None:
    """Messages name a result's form in short words."""
    header, _end = pack((torch.ones(4, 8, dtype=torch.bfloat16), {"n": 3}), region)
    assert structure(header) == "(bfloat16[4, 8], {n: int})"


def test_results_of_many_calls_need_no_more_descriptors(region: Region) -> None:
    """The region grows with the largest result, and reading it again and again opens nothing new."""
    assert travelled(torch.arange(10), region).numel() == 10
    gc.collect()
    before = len(list(Path("/dev/fd").iterdir()))
    for count in (10, 100_000, 10, 50_000):
        assert travelled(torch.arange(count), region).numel() == count
    gc.collect()
    assert len(list(Path("/dev/fd").iterdir())) == before
    assert region.size < 2 * 100_000 * 8

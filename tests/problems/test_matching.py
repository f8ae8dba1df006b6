"""Finding a problem by what people type."""

from __future__ import annotations

from pathlib import Path

import pytest

from problems.loader import Entry
from problems.matching import closest, matching


def entry(stem: str, group: str, parallelism: str, *collectives: str) -> Entry:
    """A line of a catalogue."""
    number = int(stem.partition("_")[0])
    return Entry(number, stem, f"Title of {number}", group, (parallelism,), Path("/nowhere"), collectives)


ENTRIES = [
    entry("4_reduce", "collective", "collective", "reduce"),
    entry("7_reducescatter", "collective", "collective", "reduce_scatter_tensor"),
    entry("8_alltoall", "collective", "collective", "all_to_all_single"),
    entry("27_moe_all2all_primitive", "moe", "EP", "all_to_all_single"),
    entry("31_fused_moe_fwd", "moe", "EP", "all_to_all_single"),
    entry("42_zero2_optimizer_shard_grad", "optimizer", "ZeRO", "broadcast", "all_gather_into_tensor"),
    entry("54_ring_attention", "context-parallel", "CP", "send_recv"),
]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("42", [42]),
        ("problem_42", [42]),
        ("#42", [42]),
        ("4", [4, 42]),
        ("moe", [27, 31]),
        ("all_to_all", [8, 27, 31]),
        ("all to all", [8, 27, 31]),
        ("All-Gather", [42]),
        ("moe fwd", [31]),
        ("ep primitive", [27]),
        ("rng attn", [54]),
        ("54_ring", [54]),
        ("title of 7", [7]),
        ("2", [27, 42]),
        ("nothing like it", []),
        ("  ", [4, 7, 8, 27, 31, 42, 54]),
        ("-", [4, 7, 8, 27, 31, 42, 54]),
    ],
)
def test_matching(text: str, numbers: list[int]) -> None:
    """Number, name, group, parallelism and collective are found, whole or in part, however they are written."""
    assert [found.number for found in matching(ENTRIES, text)] == numbers


@pytest.mark.parametrize(("text", "number"), [("4", 4), ("reduce", 4), ("scatter", 7), ("moe", 27), ("ring", 54)])
def test_closest(text: str, number: int) -> None:
    """The number itself comes before longer ones, the beginning of a name before its inside."""
    found = closest(ENTRIES, text)
    assert found is not None
    assert found.number == number


def test_nothing_is_closest() -> None:
    """Where nothing fits, nothing is offered."""
    assert closest(ENTRIES, "nothing like it") is None

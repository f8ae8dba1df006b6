"""How an unusual way of timing is named beside its figures."""

from __future__ import annotations

import pytest

from workbench.judge.manner import begins_cold, manner


@pytest.mark.parametrize(
    ("protocol", "graph", "cold", "device", "words"),
    [
        ("pkwb", False, True, "cuda", ""),
        ("pkwb", False, False, "cpu", ""),
        ("pkwb", True, True, "cuda", "graph"),
        ("pkwb", False, False, "cuda", "warm cache"),
        ("pkwb", True, False, "cuda", "graph warm cache"),
        ("pkwb", False, True, "cpu", "cold cache"),
        ("pkb", False, False, "cuda", "protocol pkb"),
    ],
)
def test_only_what_is_unusual_is_named(protocol: str, graph: bool, cold: bool, device: str, words: str) -> None:
    """The usual way has no name; every other one is named, so that unlike times are not compared unawares."""
    assert manner(protocol, graph, cold, device) == words


@pytest.mark.parametrize(
    ("cache", "device", "cold"),
    [("auto", "cuda", True), ("auto", "cpu", False), ("warm", "cuda", False), ("cold", "cpu", True)],
)
def test_which_caches_are_cold(cache: str, device: str, cold: bool) -> None:
    """Where nothing else is asked for, GPUs begin cold and processors warm."""
    assert begins_cold(cache, device) is cold

"""Inputs of jobs that are made for a test."""

from __future__ import annotations

from typing import Any

from workbench.ranks.draws import InputSource

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

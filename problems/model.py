"""What a problem is: plain frozen data, read from ``problem.toml`` by :mod:`problems.loader`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Effect = Literal["none", "may", "must"]
"""Mutation of an argument: forbidden, allowed and not compared, or part of the result and compared."""
Compare = Literal["close", "exact", "set"]
CollectiveOp = Literal[
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather", "scatter"
]


@dataclass(frozen=True, kw_only=True)
class Draw:
    """How the values of one input are made on each rank.

    ``kind``: ``normal`` (mean 0, std 1), ``uniform`` [0, 1), ``randint`` [low, high), ``zeros``, ``formula``
    (elementwise; ``i`` is the flat index, ``rank``, ``P``, ``trial``, ``nonce`` - a secret random integer per trial and
    timed call, the same on all ranks - and every symbol of the problem may be used), ``value`` (a literal that is
    passed as it is).
    """

    kind: Literal["normal", "uniform", "randint", "zeros", "formula", "value"]
    formula: str = ""
    low: str = "0"
    high: str = ""
    scale: str = "1"
    """Factor on normal and uniform values, a formula of the same symbols (``i`` too)."""
    shared: bool = False
    """The same values on every rank."""
    only_rank: int | None = None
    """Other ranks get zeros."""
    value: Any = None


@dataclass(frozen=True, kw_only=True)
class Input:
    """One argument of ``solution``, in call order."""

    name: str
    kind: Literal["tensor", "int", "float", "bool", "string", "list", "none", "group"]
    shape: tuple[str, ...] = ()
    """Formula per dimension; ``rank`` may be used where ranks differ."""
    elsewhere: tuple[str, ...] | None = None
    """Shape on every rank but 0, where the number of dimensions differs; None = ``shape`` everywhere."""
    dtype: str = "dtype"
    """A torch dtype name, or ``dtype`` for the run's own."""
    draw: Draw
    """PKB's published distribution."""
    judged: Draw | None = None
    """The distribution of judged trials; ``draw`` where there is none."""
    canary: float = 1 / 256
    """Share of elements rewritten before each timed call (at least 16 elements); 0 = never, 1 = all."""
    mutates: Effect = "none"
    scaled: bool = False
    """Whether the trial's input scale (1e-3, 1, 1e3) multiplies this input's judged values."""
    default: bool = False
    """Not passed by PKB's generator: ``solution`` has a default for it and pkwb does not pass it either."""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Output:
    """One tensor of the result, for people and for the byte counts; the judge compares with the reference itself."""

    name: str
    shape: tuple[str, ...]
    """Formula per dimension; empty for a scalar, ``data`` for a length that only the data decide."""
    elsewhere: tuple[str, ...] | None = None
    """Shape on every rank but 0, where it differs."""
    dtype: str = "dtype"


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """|got - ref| <= rms * rms(ref) + rel * |ref|, in float64, per dtype name of the run. Integers are exact."""

    rms: Mapping[str, float]
    rel: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Formulas, per rank (the busiest one where ranks differ), in bytes and operations."""

    needed_bytes: str
    reference_bytes: str
    flops: str
    hbm_bytes: str
    data_dependent: bool = False


@dataclass(frozen=True, kw_only=True)
class Collective:
    """A pure collective: its busbw convention. ``bytes`` is S of nccl-tests, ``op`` picks the factor."""

    op: CollectiveOp
    bytes: str


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem as its folder declares it."""

    number: int
    stem: str
    title: str
    group: str
    parallelism: tuple[str, ...]
    origin: str
    statement: str
    algorithm: str
    notes: str
    folder: Path
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    symbols: Mapping[str, str]
    """Derived symbols in order; each formula may use M, N, P, itemsize and those before it."""
    sizes: Mapping[str, Mapping[str, int]]
    """``smoke``, ``default``, ``large``: base symbols (M, N, others) by name. ``default`` is PKB's."""
    dtypes: tuple[str, ...]
    compare: Compare
    tolerance: Tolerance
    figures: Figures
    collective: Collective | None = None
    requires: tuple[str, ...] = ()
    """Formulas that must be 0 for a world size to be possible, for example ``512 % P``."""
    scales: tuple[float, ...] = (1.0,)
    """Input scales of the judged trials."""
    returns_input: bool = False
    """The result may be an argument itself on some rank."""
    collectives: tuple[str, ...] = ()
    """Names of the collectives that the reference calls."""

    @property
    def reference_path(self) -> Path:
        """The file that holds the reference's ``solution``."""
        return self.folder / "reference.py"

    @property
    def arguments(self) -> list[str]:
        """Names of the arguments that are passed, in call order: those without a default of their own."""
        return [item.name for item in self.inputs if not item.default]

    def reference_source(self) -> str:
        """The text of the reference's file."""
        return self.reference_path.read_text(encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Binding:
    """A problem at one size, world size and dtype: every symbol has a number."""

    problem: Problem
    size: str
    world: int
    dtype: str
    symbols: Mapping[str, int | float] = field(default_factory=dict)

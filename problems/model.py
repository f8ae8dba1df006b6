"""What a problem is: plain frozen data, read from ``problem.toml`` by :mod:`problems.loader`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from problems.inline import inlined

Effect = Literal["none", "may", "must"]
"""Mutation of an argument: forbidden, allowed and not compared, or part of the result and compared."""
Compare = Literal["close", "exact", "set", "between", "lookup", "allclose"]
"""How an output is compared.

``close``: within the tolerance. ``allclose``: the same with ``rms`` as absolute part, for whole numbers and other
dtypes too. ``exact``: equal. ``set``: equal as sorted lists. ``between``: within bounds that ``alternatives``
gives, plus the tolerance. ``lookup``: labels of the output before it; each (value, label) must be one of the pairs that
``alternatives`` gives for its row, none used twice.
"""
InputKind = Literal[
    "tensor", "tensors", "linear", "int", "float", "bool", "string", "list", "size", "none", "group", "sparse", "any"
]
"""``tensors`` is a list of equal tensors (the first dimension counts them); ``linear`` is a ``torch.nn.Linear`` with
bias, its shape (out, in); ``sparse`` a coalesced COO tensor; ``size`` a ``torch.Size``; ``group`` a process group."""
OutputKind = Literal["tensor", "tensors", "int", "size", "none", "any"]
CollectiveOp = Literal[
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather", "scatter"
]


@dataclass(frozen=True)
class Entry:
    """One line of the catalogue."""

    number: int
    stem: str
    title: str
    group: str
    parallelism: tuple[str, ...]
    folder: Path
    collectives: tuple[str, ...] = ()
    checkout: bool = False
    """Whether it comes from a ParallelKernelBench checkout, whose top is ``folder``."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """How the values of one input are made on each rank.

    ``kind``: ``normal`` (mean 0, std 1), ``uniform`` [low, high), ``randint`` [low, high), ``zeros``, ``formula``
    (elementwise; ``i`` is the flat index, ``rank``, ``P``, ``trial``, ``nonce`` - a secret random integer per trial and
    timed call, the same on all ranks - and every symbol of the problem may be used), ``value`` (a literal that is
    passed as it is), ``code`` (the function ``inputs`` of the folder's ``inputs.py`` makes it), ``group`` (the process
    group of all ranks for which ``formula`` has the same value; None where ``when`` is 0).
    """

    kind: Literal["normal", "uniform", "randint", "zeros", "formula", "value", "code", "group"]
    formula: str = ""
    low: str = "0"
    high: str = ""
    """For ``uniform`` and ``randint``; uniform numbers end at 1 when it is left out."""
    scale: str = "1"
    """Factor on normal and uniform values, a formula of the same symbols (``i`` too)."""
    same: str = "rank"
    """Ranks for which this formula has the same value draw the same numbers; ``0`` for all ranks."""
    when: str = "1"
    only_rank: int | None = None
    """Other ranks get zeros."""
    value: Any = None


@dataclass(frozen=True, kw_only=True)
class Input:
    """One argument of ``solution``, in call order."""

    name: str
    kind: InputKind
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
    refresh: Draw | None = None
    """The distribution of the rewritten elements, where it is not the judged one; inputs made by code need it."""
    mutates: Effect = "none"
    scaled: bool = False
    """Whether the trial's input scale (1e-3, 1, 1e3) multiplies this input's judged values."""
    default: bool = False
    """Not passed by PKB's generator: ``solution`` has a default for it and pkwb does not pass it either."""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Output:
    """One part of the result: how it is compared, and its form for people; the judge takes the form of the reference.

    Outputs stand in the order of the result's tuple or dict; a result that is neither has one.
    """

    name: str
    kind: OutputKind = "tensor"
    shape: tuple[str, ...]
    """Formula per dimension; empty for a scalar, ``data`` for a length that only the data decide."""
    elsewhere: tuple[str, ...] | None = None
    """Shape on every rank but 0, where it differs."""
    dtype: str = "dtype"
    compare: Compare | None = None
    """The problem's own rule unless this one says otherwise."""
    tolerance: Tolerance | None = None
    """The problem's own tolerance unless this one says otherwise."""
    share: float = 0.0
    """Share of the elements that may miss the tolerance, where a flipped decision is an honest one."""


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
    known: bool = True
    """Whether the formulas say anything; they do not for tasks that pkwb has no description of."""


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
    reference_file: str = "reference.py"
    generator: str = ""
    """The file of a checkout that makes the arguments; empty where problem.toml describes them."""

    @property
    def reference_path(self) -> Path:
        """The file that holds the reference's ``solution``."""
        return self.folder / self.reference_file

    @property
    def arguments(self) -> list[str]:
        """Names of the arguments that are passed, in call order: those without a default of their own."""
        return [item.name for item in self.inputs if not item.default]

    def rule(self, output: Output) -> Compare:
        """How an output is compared."""
        return output.compare or self.compare

    def limits(self, output: Output) -> Tolerance:
        """An output's tolerance."""
        return output.tolerance or self.tolerance

    def code(self, name: str) -> str:
        """The text of another file of the folder, ``inputs.py`` or ``alternatives.py``; empty without one."""
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def baseline_source(self) -> str:
        """What baseline ranks load: the reference, and what else is right beside its results."""
        others = self.code("alternatives.py").replace("from __future__ import annotations\n", "")
        return f"{self.reference_source()}\n\n{others}" if others else self.reference_source()

    def reference_source(self) -> str:
        """The text of the reference's file, with what it imports from ``problems.common`` copied into it."""
        return inlined(self.reference_path.read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True)
class Binding:
    """A problem at one size, world size and dtype: every symbol has a number."""

    problem: Problem
    size: str
    world: int
    dtype: str
    symbols: Mapping[str, int | float] = field(default_factory=dict)

"""The terms of the cost model: what a problem asks for, and how long each part of it takes at least on a topology."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from problems.model import Binding, CollectiveOp
from problems.wording import figure_by_rank, largest
from workbench.judge.bandwidth import busbw_factor
from workbench.topology.cuts import Cut, cuts
from workbench.topology.model import Rates, Topology
from workbench.topology.patterns import IN_NETWORK, OPS, crossing

RATES = {"bfloat16": ("bfloat16", "float16"), "float16": ("float16",), "float32": ("tf32", "float32")}
"""Rates that hold for a run's dtype, the first that is known; matrix units may take float32 data as tf32."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a problem asks of each rank, in bytes and operations."""

    world: int
    dtype: str
    needed: tuple[float, ...]
    """Bytes by rank that must be sent or received."""
    flops: float
    hbm_bytes: float
    op: CollectiveOp | None = None
    """The one collective that the result is, as far as its bytes go; None where it is none, or several."""
    data_dependent: bool = False


@dataclass(frozen=True, kw_only=True)
class Term:
    """One part of the floor; ``seconds`` is None where a rate is not known, and ``words`` has the arithmetic."""

    name: str
    seconds: float | None
    words: str


def work_of(binding: Binding) -> Work | None:
    """What a problem asks for; None where its figures are not known."""
    problem = binding.problem
    if not problem.figures.known:
        return None
    ops = {OPS.get(name) for name in problem.collectives}
    whole = largest(binding, "needed_bytes") == largest(binding, "reference_bytes")
    return Work(
        world=binding.world,
        dtype=binding.dtype,
        needed=tuple(figure_by_rank(binding, "needed_bytes")),
        flops=largest(binding, "flops"),
        hbm_bytes=largest(binding, "hbm_bytes"),
        op=ops.pop() if len(ops) == 1 and whole else None,
        data_dependent=problem.figures.data_dependent,
    )


def link_term(work: Work, topology: Topology, bypass_gbps: float = 0.0, in_network: CollectiveOp | None = None) -> Term:
    """The cut that takes longest; the bytes over cuts around several ranks are known for single collectives alone.

    ``bypass_gbps`` is what each device may move beside its links, ``in_network`` the collective that switches shorten.
    """
    if not any(work.needed):
        return Term(name="link", seconds=0.0, words="needs no communication")
    part = IN_NETWORK[in_network] if in_network else lambda sets: 1.0
    loads = [_Load(cut, _bytes_over(work, cut), cut.gbps, bypass_gbps * len(cut.ranks), part) for cut in cuts(topology)]
    known = [load for load in loads if load.bytes and load.gbps is not None]
    sure = {rank for load in known for rank in load.cut.ranks if len(load.cut.ranks) == 1}
    if any(count and rank not in sure for rank, count in enumerate(work.needed)):
        return Term(name="link", seconds=None, words="the links' rate is not known")
    longest = max(known, key=lambda load: load.seconds)
    return Term(name="link", seconds=longest.seconds, words=longest.words)


@dataclass(frozen=True)
class _Load:
    """What goes over a cut, at ``gbps`` of its links and ``beside`` them; switches leave a ``part`` of it."""

    cut: Cut
    bytes: float
    gbps: float | None
    beside: float
    part: Callable[[int], float]

    @property
    def seconds(self) -> float:
        return self.bytes * self.part(self.cut.beside) / ((self.gbps or 0.0) + self.beside) / 1e9

    @property
    def words(self) -> str:
        """``2,097,152 bytes / (450 by links + 63.02 by PCIe) GB/s, rank 0``."""
        rate = f"({self.gbps:g} by links + {self.beside:g} by PCIe)" if self.beside else f"{self.gbps:g}"
        share = self.part(self.cut.beside)
        less = f", {share:.3g} of it where switches add" if share < 1 else ""
        return f"{self.bytes:,.0f} bytes / {rate} GB/s, {self.cut.name}{less}"


def _bytes_over(work: Work, cut: Cut) -> float:
    if len(cut.ranks) == 1:
        return work.needed[min(cut.ranks)]
    if work.op is None:
        return 0.0
    size = max(work.needed) / busbw_factor(work.op, work.world)
    return crossing(work.op, size, cut, work.world)


def memory_term(work: Work, rates: Rates) -> Term:
    """Every argument and result once over the memory's bandwidth."""
    if rates.hbm_gbps is None:
        return Term(name="memory", seconds=None, words="the memory's bandwidth is not known")
    rate = rates.hbm_gbps.value
    return Term(
        name="memory", seconds=work.hbm_bytes / rate / 1e9, words=f"{work.hbm_bytes:,.0f} bytes / {rate:g} GB/s"
    )


def compute_term(work: Work, rates: Rates) -> Term:
    """The operations at the dense rate of the run's dtype."""
    names = RATES.get(work.dtype, (work.dtype,))
    name = next((name for name in names if name in rates.tflops), None)
    if name is None:
        return Term(name="compute", seconds=None, words=f"the rate for {work.dtype} is not known")
    rate = rates.tflops[name].value
    words = f"{work.flops:,.0f} operations / {rate:g} TFLOP/s, dense {name}"
    return Term(name="compute", seconds=work.flops / rate / 1e12, words=words)


def latency_term(steps: int, rates: Rates) -> Term:
    """Dependent steps, each as long as a write takes until another device sees it."""
    if steps and rates.alpha_us is None:
        return Term(name="latency", seconds=None, words=f"the time of a step is not known (least steps: {steps})")
    alpha = rates.alpha_us.value if rates.alpha_us else 0.0
    words = f"{steps} step{'s' if steps != 1 else ''} of {alpha:g} us" if steps else "no step"
    return Term(name="latency", seconds=steps * alpha / 1e6, words=words)

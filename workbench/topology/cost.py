"""The cost model: the least time for a problem on a topology, term by term.

T = max(operations / rate, memory bytes / memory bandwidth, max over cuts of bytes / capacity) + alpha * least steps.
The bytes are those that the result needs, whatever the reference moves.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from problems.model import Binding, CollectiveOp
from problems.wording import figure_by_rank, largest
from workbench.judge.bandwidth import busbw_factor
from workbench.topology.cuts import Cut, cuts
from workbench.topology.model import Rates, Topology
from workbench.topology.patterns import IN_NETWORK, OPS, crossing, ways

RATES = {"bfloat16": ("bfloat16", "float16"), "float16": ("float16",), "float32": ("tf32", "float32")}
"""Rates that hold for a run's dtype, the first that is known; matrix units may take float32 data as tf32."""
TERMS = ("link", "memory", "compute", "latency")


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


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """What a transfer mechanism was seen to reach: the link's term at its share of the rate."""

    mechanism: str
    share: float
    seconds: float
    source: str


@dataclass(frozen=True, kw_only=True)
class Roofline:
    """The least time and what it is made of. ``floor_s`` is None where the links' rate is not known."""

    topology: str
    terms: tuple[Term, ...]
    binding: str
    floor_s: float | None
    in_network_s: float | None = None
    """The floor where switches add and multicast; None where they cannot, or it makes no difference."""
    wire_s: float = 0.0
    """Time of the needed bytes on the links alone, with all that switches can do: nothing real is faster."""
    ceilings: tuple[Ceiling, ...] = ()
    notes: tuple[str, ...] = ()
    imagined: bool = False
    measured: bool = False
    """Whether the link's rate was measured, as on CPU ranks: then the floor is no physical limit."""

    def term(self, name: str) -> Term:
        """The term of this name."""
        return next(term for term in self.terms if term.name == name)


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


def roofline(work: Work, topology: Topology) -> Roofline:
    """The floor of this work on a topology; rank r of the work is rank r of the topology."""
    link = _link(work, topology)
    memory = _memory(work, topology.rates)
    compute = _compute(work, topology.rates)
    options = [_option(link, share, steps, topology.rates) for share, steps in _ways(work, topology)]
    best = min(options, key=lambda option: _total((option[0], memory, compute), option[1]))
    terms = (best[0], memory, compute, best[1])
    floor = _total(terms[:3], best[1])
    network = _in_network(work, topology.rates, link, memory, compute)
    network = network if network is not None and network < floor else None
    return Roofline(
        topology=topology.name,
        terms=terms,
        binding=max(terms, key=lambda term: term.seconds or 0.0).name if any(t.seconds for t in terms) else "",
        floor_s=None if link.seconds is None else floor,
        in_network_s=network,
        wire_s=_wire(work, topology.rates, link),
        ceilings=_ceilings(topology.rates, best[0]),
        notes=tuple(_notes(work, topology, network is not None)),
        imagined=topology.imagined,
        measured=topology.graph == "host",
    )


def _link(work: Work, topology: Topology) -> Term:
    """The cut that takes longest; the bytes over cuts around several ranks are known for single collectives alone."""
    if not any(work.needed):
        return Term(name="link", seconds=0.0, words="needs no communication")
    loads = [(cut, _bytes_over(work, cut)) for cut in cuts(topology)]
    loads = [(cut, count) for cut, count in loads if count]
    missing = next((cut for cut, _ in loads if cut.gbps is None), None)
    if missing is not None or not loads:
        return Term(name="link", seconds=None, words="the links' rate is not known")
    cut, count = max(loads, key=lambda load: load[1] / (load[0].gbps or 1.0))
    rate = cut.gbps or 1.0
    return Term(name="link", seconds=count / rate / 1e9, words=f"{count:,.0f} bytes / {rate:g} GB/s, {cut.name}")


def _bytes_over(work: Work, cut: Cut) -> float:
    if len(cut.ranks) == 1:
        return work.needed[min(cut.ranks)]
    if work.op is None:
        return 0.0
    size = max(work.needed) / busbw_factor(work.op, work.world)
    return crossing(work.op, size, cut, work.world)


def _memory(work: Work, rates: Rates) -> Term:
    if rates.hbm_gbps is None:
        return Term(name="memory", seconds=None, words="the memory's bandwidth is not known")
    rate = rates.hbm_gbps.value
    return Term(
        name="memory", seconds=work.hbm_bytes / rate / 1e9, words=f"{work.hbm_bytes:,.0f} bytes / {rate:g} GB/s"
    )


def _compute(work: Work, rates: Rates) -> Term:
    names = RATES.get(work.dtype, (work.dtype,))
    name = next((name for name in names if name in rates.tflops), None)
    if name is None:
        return Term(name="compute", seconds=None, words=f"the rate for {work.dtype} is not known")
    rate = rates.tflops[name].value
    words = f"{work.flops:,.0f} operations / {rate:g} TFLOP/s, dense {name}"
    return Term(name="compute", seconds=work.flops / rate / 1e12, words=words)


def _ways(work: Work, topology: Topology) -> tuple[tuple[float, int], ...]:
    return ways(work.op, work.world, topology) if any(work.needed) else ((1.0, 0),)


def _option(link: Term, share: float, steps: int, rates: Rates) -> tuple[Term, Term]:
    """The link's and the latency's term of one way to move the bytes."""
    if link.seconds is not None and share > 1:
        link = Term(name="link", seconds=link.seconds * share, words=f"{link.words}, {share:g} times in one step")
    return link, _latency(steps, rates)


def _latency(steps: int, rates: Rates) -> Term:
    if steps and rates.alpha_us is None:
        return Term(name="latency", seconds=None, words=f"the time of a step is not known (least steps: {steps})")
    alpha = rates.alpha_us.value if rates.alpha_us else 0.0
    words = f"{steps} step{'s' if steps != 1 else ''} of {alpha:g} us" if steps else "no step"
    return Term(name="latency", seconds=steps * alpha / 1e6, words=words)


def _total(parallel: tuple[Term, ...], latency: Term) -> float:
    """What overlaps counts once, the steps come on top; what is not known counts as nothing."""
    return max(term.seconds or 0.0 for term in parallel) + (latency.seconds or 0.0)


def _in_network(work: Work, rates: Rates, link: Term, memory: Term, compute: Term) -> float | None:
    part = IN_NETWORK.get(work.op) if work.op else None
    if not rates.in_network_reduction or part is None or not link.seconds:
        return None
    less = dataclasses.replace(link, seconds=link.seconds * part(work.world))
    return _total((less, memory, compute), _latency(1, rates))


def _wire(work: Work, rates: Rates, link: Term) -> float:
    """Where the collective is not known, any part of the bytes may be an all-reduce's, which switches shorten most."""
    if not link.seconds or work.data_dependent:
        return 0.0
    if not rates.in_network_reduction:
        return link.seconds
    part = IN_NETWORK.get("all_reduce" if work.op is None else work.op)
    return link.seconds * (part(work.world) if part else 1.0)


def _ceilings(rates: Rates, link: Term) -> tuple[Ceiling, ...]:
    if not link.seconds:
        return ()
    return tuple(
        Ceiling(mechanism=mechanism, share=fact.value, seconds=link.seconds / fact.value, source=fact.source)
        for mechanism, fact in rates.ceilings.items()
    )


def _notes(work: Work, topology: Topology, network: bool) -> list[str]:
    notes = []
    if topology.graph == "host" and any(work.needed):
        notes.append("CPU figures: the link's rate was measured on these ranks, so a kernel may beat the floor.")
    if work.data_dependent:
        notes.append("The data decide how much is moved: the bytes are those of the published data.")
    if network:
        notes.append("The floor does without in-network reduction, which not every such machine allows.")
    return notes

"""The cost model: the least time for a problem on a topology, term by term.

T = max(operations / rate, memory bytes / memory bandwidth, max over cuts of bytes / capacity) + alpha * least steps.
The bytes are those that the result needs, whatever the reference moves.
"""

from __future__ import annotations

from dataclasses import dataclass

from problems.model import CollectiveOp
from workbench.events import Floor
from workbench.topology.cuts import cuts
from workbench.topology.model import Rates, Topology
from workbench.topology.patterns import IN_NETWORK, ways
from workbench.topology.terms import Term, Work, compute_term, latency_term, link_term, memory_term


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
    wire: Term
    """Time of the needed bytes on the links and beside them, with all that switches can do: nothing real is faster."""
    in_network_s: float | None = None
    """The floor where switches add and multicast; None where they cannot, or it makes no difference."""
    ceilings: tuple[Ceiling, ...] = ()
    notes: tuple[str, ...] = ()
    imagined: bool = False
    measured: bool = False
    """Whether the link's rate was measured, as on CPU ranks: then the floor is no physical limit."""

    def term(self, name: str) -> Term:
        """The term of this name."""
        return next(term for term in self.terms if term.name == name)


def roofline(work: Work, topology: Topology) -> Roofline:
    """The floor of this work on a topology; rank r of the work is rank r of the topology."""
    link = link_term(work, topology)
    memory = memory_term(work, topology.rates)
    compute = compute_term(work, topology.rates)
    options = [_option(link, share, steps, topology.rates) for share, steps in _ways(work, topology)]
    best = min(options, key=lambda option: _total((option[0], memory, compute), option[1]))
    terms = (best[0], memory, compute, best[1])
    floor = _total(terms[:3], best[1])
    network = _in_network(work, topology, memory, compute)
    network = network if network is not None and network < floor else None
    return Roofline(
        topology=topology.name,
        terms=terms,
        binding=max(terms, key=lambda term: term.seconds or 0.0).name if any(t.seconds for t in terms) else "",
        floor_s=None if link.seconds is None else floor,
        in_network_s=network,
        wire=_wire(work, topology),
        ceilings=_ceilings(topology.rates, best[0]),
        notes=tuple(_notes(work, topology, link, network is not None)),
        imagined=topology.imagined,
        measured=topology.graph == "host",
    )


def as_floor(found: Roofline, here: Roofline | None = None) -> Floor:
    """A roofline as events carry it; its limit is the running machine's, ``here``, where that is a physical one."""
    limit = here or found
    physical = not (limit.imagined or limit.measured)
    return Floor(
        ms=_ms(found.floor_s),
        binding=found.binding,
        terms_ms={term.name: _ms(term.seconds) for term in found.terms},
        topology=found.topology,
        wire_ms=(limit.wire.seconds or 0.0) * 1e3 if physical else 0.0,
        wire=f"{limit.wire.words}; {limit.topology}" if physical else "",
        in_network_ms=_ms(found.in_network_s),
        what_if=found.imagined,
        measured=found.measured,
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


def _ways(work: Work, topology: Topology) -> tuple[tuple[float, int], ...]:
    return ways(work.op, work.world, topology) if any(work.needed) else ((1.0, 0),)


def _option(link: Term, share: float, steps: int, rates: Rates) -> tuple[Term, Term]:
    """The link's and the latency's term of one way to move the bytes."""
    if link.seconds is not None and share > 1:
        link = Term(name="link", seconds=link.seconds * share, words=f"{link.words}, {share:g} times in one step")
    return link, latency_term(steps, rates)


def _total(parallel: tuple[Term, ...], latency: Term) -> float:
    """What overlaps counts once, the steps come on top; what is not known counts as nothing."""
    return max(term.seconds or 0.0 for term in parallel) + (latency.seconds or 0.0)


def _shortened(op: CollectiveOp | None, rates: Rates) -> CollectiveOp | None:
    """The collective, where switches shorten it."""
    return op if rates.in_network_reduction and op in IN_NETWORK else None


def _in_network(work: Work, topology: Topology, memory: Term, compute: Term) -> float | None:
    op = _shortened(work.op, topology.rates)
    link = link_term(work, topology, in_network=op)
    return _total((link, memory, compute), latency_term(1, topology.rates)) if op and link.seconds else None


def _wire(work: Work, topology: Topology) -> Term:
    """Where the collective is not known, any part of the bytes may be an all-reduce's, which switches shorten most."""
    op = _shortened(work.op or "all_reduce", topology.rates)
    term = link_term(work, topology, topology.bypass_gbps, op)
    known = 0.0 if work.data_dependent else term.seconds or 0.0
    return Term(name="wire", seconds=known, words=term.words)


def _ceilings(rates: Rates, link: Term) -> tuple[Ceiling, ...]:
    if not link.seconds:
        return ()
    return tuple(
        Ceiling(mechanism=mechanism, share=fact.value, seconds=link.seconds / fact.value, source=fact.source)
        for mechanism, fact in rates.ceilings.items()
    )


def _notes(work: Work, topology: Topology, link: Term, network: bool) -> list[str]:
    notes = []
    if topology.graph == "host" and any(work.needed):
        notes.append("CPU figures: the link's rate was measured on these ranks, so a kernel may beat the floor.")
    unknown = [cut.name for cut in cuts(topology) if cut.gbps is None]
    if unknown and link.seconds:
        notes.append(f"What the links around {', '.join(unknown)} carry is not known and left out.")
    if work.data_dependent:
        notes.append("The data decide how much is moved: the bytes are those of the published data.")
    if network:
        notes.append("The floor does without in-network reduction, which not every such machine allows.")
    return notes

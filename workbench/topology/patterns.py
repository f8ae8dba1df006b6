"""What each collective must move across a cut, and in how many dependent steps.

S is the size that nccl-tests prints: the whole vector (all-gather: the gathered result; reduce-scatter: the input;
all-to-all: one rank's buffer). P ranks; ``a`` of them are on one side of a cut; N sets share the ranks between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from problems.model import CollectiveOp
from workbench.topology.cuts import Cut
from workbench.topology.model import Topology

OPS: Mapping[str, CollectiveOp] = {
    "all_reduce": "all_reduce",
    "all_gather_into_tensor": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "all_to_all_single": "all_to_all",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
}
"""Collectives by the name of their torch.distributed call."""

CROSSING: Mapping[CollectiveOp, Callable[[float, int, int, int], float]] = {
    "all_reduce": lambda size, a, world, sets: 2 * (sets - 1) / sets * size,
    "all_gather": lambda size, a, world, sets: max(a, world - a) / world * size,
    "reduce_scatter": lambda size, a, world, sets: max(a, world - a) / world * size,
    "all_to_all": lambda size, a, world, sets: a * (world - a) / world * size,
    "broadcast": lambda size, a, world, sets: size,
    "reduce": lambda size, a, world, sets: size,
    "gather": lambda size, a, world, sets: min(a, world - a) / world * size,
    "scatter": lambda size, a, world, sets: min(a, world - a) / world * size,
}
"""Bytes that go one way over a cut, at least: (S, a, P, N).

All-reduce: N sets that hold a partial sum each are N ranks of one all-reduce, 2(N-1)/N * S each; a cut in two: S.
All-gather: the side with a of P pieces lacks the other P-a. Reduce-scatter is its reverse, partial sums for pieces.
All-to-all: each of a ranks has 1/P of its buffer for each of the P-a others. Broadcast, reduce: the vector, whatever
side the root is on. Gather, scatter: the pieces of the side without the root, the smaller side where that is not known.
"""

Way = tuple[float, int]
"""How often the least bytes are moved, and in how many dependent steps."""


def ways(op: CollectiveOp | None, world: int, topology: Topology) -> tuple[Way, ...]:
    """Ways to run a collective on ranks that all reach each other, of which the fastest bounds any other.

    All-reduce in one step sends every vector to every rank, (P-1) * S in place of 2(P-1)/P * S, P/2 times as much;
    in two steps each rank adds up one piece and sends it round. Reduce and broadcast in one step are (P-1) * S at the
    root in place of S. All others move their bytes in one step. log2 P steps would bound ranks that talk to one peer
    at a time; here a rank writes to all at once. On a torus bytes go from neighbour to neighbour, the farthest ranks
    set the steps, and what passes is added up on the way.
    """
    if topology.graph == "torus":
        return ((1.0, _farthest(topology)),)
    if op == "all_reduce":
        return (1.0, 2), (world / 2, 1)
    if op in ("reduce", "broadcast"):
        return (1.0, 2), (world - 1.0, 1)
    return ((1.0, 1),)


IN_NETWORK: Mapping[CollectiveOp, Callable[[int], float]] = {
    "all_reduce": lambda sets: sets / max(2, 2 * (sets - 1)),
    "broadcast": lambda sets: 1.0,
    "reduce": lambda sets: 1.0,
}
"""Part of the least bytes over a cut when switches add and multicast, in one step, by the number of sets that the cut
divides the ranks into: all-reduce S in place of 2(N-1)/N * S."""


def crossing(op: CollectiveOp, size: float, cut: Cut, world: int) -> float:
    """Bytes that must go one way over a cut."""
    return CROSSING[op](size, len(cut.ranks), world, cut.beside)


def _farthest(topology: Topology) -> int:
    """Hops between the two ranks that are farthest from each other, at least 1."""
    axes = zip(topology.shape, topology.wraps)
    return max(1, sum(length // 2 if ring else length - 1 for length, ring in axes))

"""Rooflines of problems on systems of the catalogue, worked out by hand from sizes and data sheets.

Default sizes, bfloat16: matrices of problems 1 to 8 and 13 are 1024 x 1024, 2 MiB; B = 2 bytes an element.
"""

from __future__ import annotations

import pytest

from problems.binding import bind
from problems.loader import find_problem
from workbench.topology.catalogue import find_system
from workbench.topology.cost import Roofline, roofline
from workbench.topology.placing import place
from workbench.topology.terms import work_of

S = 2 * 2**20
"""Bytes of one matrix."""
Terms = tuple[float, float, float, float]
"""Microseconds of link, memory, operations and steps."""
CASES: dict[tuple[int, str, int], Terms] = {
    # all-reduce: 2(P-1)/P * S over a rank's links in two steps; S read and S written; (P-1)/P additions an element
    (1, "dgx-h100", 8): (1.75 * S / 450e3, 2 * S / 3350e3, 7 / 8 * 2**20 / 989.4e6, 2.0),
    (1, "mi300x", 4): (1.5 * S / (3 * 64e3), 2 * S / 5300e3, 3 / 4 * 2**20 / 1307.4e6, 2.0),
    (1, "tpu-v6e", 16): (1.875 * S / (2 * 90e3), 2 * S / 1638e3, 15 / 16 * 2**20 / 918e6, 6.0),
    (1, "dgx-h100-unit", 16): (1.875 * S / 450e3, 2 * S / 3350e3, 15 / 16 * 2**20 / 989.4e6, 4.0),
    # gather: the root's links take in P-1 matrices
    (6, "l40s-box", 8): (7 * S / 31.5e3, 9 * S / 864e3, 0.0, 0.5),
    # all-to-all of P matrices a rank: rank, socket (4 of 8) and the middle of a torus of 4 x 4 chips as cuts
    (8, "dgx-h100", 8): (7 * S / 450e3, 16 * S / 3350e3, 0.0, 1.0),
    (8, "l40s-box", 8): (4 * 4 / 8 * 8 * S / 62e3, 16 * S / 864e3, 0.0, 0.5),
    (8, "tpu-v6e", 16): (8 * 8 / 16 * 16 * S / (4 * 90e3), 32 * S / 1638e3, 0.0, 6.0),
    (8, "dgx-h100-unit", 16): (8 * 8 / 16 * 16 * S / 400e3, 32 * S / 3350e3, 0.0, 2.0),
    # GEMM of 1024 x 512 by 512 x 1024 on each rank, then all-reduce: 2 * M * K * N operations
    (13, "dgx-h100", 8): (1.75 * S / 450e3, 2 * S / 3350e3, 2**30 / 989.4e6, 2.0),
    (13, "mi300x", 4): (1.5 * S / (3 * 64e3), 2 * S / 5300e3, 2**30 / 1307.4e6, 2.0),
    # ring attention: keys and values of all other ranks, or partial results, 64 KiB a tensor of 4 ranks
    (54, "mi300x", 4): (3 * 64 * 2**10 / (3 * 64e3), 4 * 64 * 2**10 / 5300e3, 2**21 / 1307.4e6, 1.0),
}
"""By problem, system and ranks."""


def found(number: int, system: str, world: int) -> Roofline:
    """What pkwb works out."""
    work = work_of(bind(find_problem(str(number)), "default", world, "bfloat16"))
    assert work is not None
    return roofline(work, place(find_system(system), world))


@pytest.mark.parametrize(("number", "system", "world"), CASES)
def test_terms_by_hand(number: int, system: str, world: int) -> None:
    """Link, memory, operations and steps are what pencil and paper say, and so is their sum."""
    terms = CASES[number, system, world]
    there = found(number, system, world)

    assert [(term.seconds or 0) * 1e6 for term in there.terms] == pytest.approx(terms, rel=1e-9)
    assert (there.floor_s or 0) * 1e6 == pytest.approx(max(terms[:3]) + terms[3], rel=1e-9)
    assert there.binding == ("link", "memory", "compute", "latency")[terms.index(max(terms))]


def test_switches_of_two_nodes_by_hand() -> None:
    """Where switches add, a node of two sends its sum of S bytes over its 400 GB/s, once and in one step."""
    there = found(1, "dgx-h100-unit", 16)

    assert (there.in_network_s or 0) * 1e6 == pytest.approx(S / 400e3 + 2.0, rel=1e-9)

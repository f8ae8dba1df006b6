"""The cost model against closed forms and cases worked out by hand."""

from __future__ import annotations

import dataclasses

import pytest

from problems.binding import bind
from problems.loader import find_problem
from problems.model import CollectiveOp
from workbench.judge.bandwidth import busbw_factor
from workbench.topology.catalogue import find_system
from workbench.topology.cost import Roofline, roofline
from workbench.topology.cuts import cuts
from workbench.topology.model import Device, Fact, Link, Rates, Topology
from workbench.topology.placing import place
from workbench.topology.terms import Work, link_term, work_of

GB = 1e9
OPS: tuple[CollectiveOp, ...] = (
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather", "scatter",
)  # fmt: skip


def moving(op: CollectiveOp | None, size: float, world: int, **more: float) -> Work:
    """Work that is one collective of ``size`` bytes, in the convention of nccl-tests, and nothing else."""
    needed = size * (busbw_factor(op, world) if op else 1.0)
    return Work(world=world, dtype="bfloat16", needed=(needed,) * world, flops=0.0, hbm_bytes=0.0, op=op, **more)  # type: ignore[arg-type]


def on(system: str, work: Work) -> Roofline:
    """The roofline of work on a system of the catalogue."""
    return roofline(work, place(find_system(system), work.world))


def link(system: str, op: CollectiveOp, size: float, world: int) -> float:
    """Seconds on the links; sizes are large, so that steps are cheaper than bytes that go twice."""
    return on(system, moving(op, size, world)).term("link").seconds or 0.0


@pytest.mark.parametrize("world", [2, 4, 8])
@pytest.mark.parametrize("op", OPS)
def test_switch(op: CollectiveOp, world: int) -> None:
    """Behind a switch the time is factor * S / W for every collective, W = 300 GB/s on a DGX A100."""
    assert link("dgx-a100", op, 100 * GB, world) == pytest.approx(busbw_factor(op, world) * 100 / 300)


@pytest.mark.parametrize("world", [2, 3, 8])
def test_full_mesh(world: int) -> None:
    """In a mesh of links w the time is (S/P)/w for all-gather and all-to-all, 2(S/P)/w for all-reduce."""
    for op, factor in (("all_gather", 1), ("reduce_scatter", 1), ("all_to_all", 1), ("all_reduce", 2)):
        assert link("mi300x", op, 100 * GB, world) == pytest.approx(factor * 100 / world / 64)  # type: ignore[arg-type]


def test_a_pair_in_a_mesh_has_one_link() -> None:
    """Two MI300X move bytes over one link of 64 GB/s, a seventh of what each of eight has."""
    pair, all_eight = on("mi300x", moving("all_gather", GB, 2)), on("mi300x", moving("all_gather", GB, 8))

    assert pair.term("link").words.endswith("bytes / 64 GB/s, rank 0")
    assert all_eight.term("link").words.endswith("bytes / 448 GB/s, rank 0")


def test_all_reduce_of_32_nodes() -> None:
    """32 DGX H100: a node's 400 GB/s bind, 32/31 * 400 = 413 GB/s for gather and scatter, half for all-reduce."""
    assert GB * 100 / link("dgx-h100-unit", "all_gather", 100 * GB, 256) / GB == pytest.approx(412.9, abs=0.05)
    assert 2 * GB * 100 / link("dgx-h100-unit", "all_reduce", 100 * GB, 256) / GB == pytest.approx(412.9, abs=0.05)
    assert "400 GB/s, node" in on("dgx-h100-unit", moving("all_reduce", GB, 256)).term("link").words


def test_one_node_of_many_is_bound_by_its_own_links() -> None:
    """Ranks on one node do not use the network: 8/7 * 450 = 514 GB/s for all-gather, and the step is NVLink's."""
    found = on("dgx-h100-unit", moving("all_gather", 100 * GB, 8))

    assert 100 / (found.term("link").seconds or 0) == pytest.approx(514, abs=0.5)
    assert found.term("latency").seconds == pytest.approx(1e-6)
    assert on("dgx-h100-unit", moving("all_gather", GB, 16)).term("latency").seconds == pytest.approx(2e-6)


def test_ring_and_torus() -> None:
    """On a closed axis X of links w: all-gather (X-1)/X * S/(2w), k axes k times as fast, all-to-all X * S/(8w)."""
    assert link("tpu-v6e", "all_gather", 100 * GB, 256) == pytest.approx(255 / 256 * 100 / (4 * 90))
    assert link("tpu-v6e", "all_reduce", 100 * GB, 256) == pytest.approx(2 * 255 / 256 * 100 / (4 * 90))
    assert link("tpu-v6e", "all_to_all", 100 * GB, 256) == pytest.approx(16 * 100 / (8 * 90))
    assert on("tpu-v6e", moving("all_gather", GB, 256)).term("latency").seconds == pytest.approx(16e-6)


def test_open_axes_cost_more() -> None:
    """Without closing links the chips at the corners have half the links, and the way across is twice as long."""
    assert link("tpu-v6e", "all_gather", 100 * GB, 4) == pytest.approx(3 / 4 * 100 / (2 * 90))
    found = on("tpu-v6e", moving("all_gather", GB, 8))
    assert found.term("latency").words == "4 steps of 1 us"


def test_sockets_of_a_tree() -> None:
    """Between two sockets of capacity C: all-reduce S/C, all-to-all a(P-a)/P * S/C; within one, the cards' links."""
    size = 100 * GB
    assert link("l40s-box", "all_to_all", size, 8) == pytest.approx(4 * 4 / 8 * 100 / 62)
    assert "62 GB/s, socket 0" in on("l40s-box", moving("all_to_all", size, 8)).term("link").words
    assert link("l40s-box", "all_reduce", size, 8) == pytest.approx(2 * 7 / 8 * 100 / 31.5)
    assert link("l40s-box", "all_to_all", size, 4) == pytest.approx(3 / 4 * 100 / 31.5)


def test_what_goes_beside_the_links_of_a_group() -> None:
    """What each of a socket's four cards may move beside its links adds to what the socket can."""
    topology = place(find_system("l40s-box"), 8)
    found = link_term(moving("all_to_all", 100 * GB, 8), topology, bypass_gbps=10.0)

    assert found.seconds == pytest.approx(max(4 * 4 / 8 * 100 / (62 + 4 * 10), 7 / 8 * 100 / (31.5 + 10)))


def test_few_bytes_take_one_step() -> None:
    """Small all-reduces go in one step with P/2 times the bytes, large ones in two; the floor takes the faster."""
    small, large = on("dgx-a100", moving("all_reduce", 1000, 8)), on("dgx-a100", moving("all_reduce", 10 * 2**20, 8))

    assert (small.term("latency").words, small.binding) == ("1 step of 1 us", "latency")
    assert small.term("link").seconds == pytest.approx(7 * 1000 / 300 / GB)
    assert (large.term("latency").words, large.binding) == ("2 steps of 1 us", "link")


@pytest.mark.parametrize("op", ["broadcast", "reduce"])
def test_the_root_alone_or_all_ranks(op: CollectiveOp) -> None:
    """Few bytes go straight between the root and all ranks, P-1 times in one step; many go once, in two steps."""
    small, large = on("dgx-a100", moving(op, 1000, 8)), on("dgx-a100", moving(op, 10 * 2**20, 8))

    assert [found.term("latency").words for found in (small, large)] == ["1 step of 1 us", "2 steps of 1 us"]
    bytes_moved = [(found.term("link").seconds or 0) * 300 * GB for found in (small, large)]
    assert bytes_moved == pytest.approx([7 * 1000, 10 * 2**20])


def test_two_ranks_need_one_step() -> None:
    """Two ranks all-reduce in one step with no byte more."""
    found = on("dgx-a100", moving("all_reduce", GB, 2))

    assert (found.term("latency").words, found.term("link").seconds) == ("1 step of 1 us", pytest.approx(1 / 300))


def test_switches_that_add_are_told_apart() -> None:
    """NVLink SHARP all-reduces in S/W and one step; the floor does not count on it, what may be believed does."""
    found = on("dgx-h100", moving("all_reduce", 100 * GB, 8))

    assert found.floor_s == pytest.approx(2 * 7 / 8 * 100 / 450, rel=1e-4)
    assert found.in_network_s == pytest.approx(100 / 450, rel=1e-4)
    assert found.wire.seconds == pytest.approx(100 / 450)
    assert on("dgx-a100", moving("all_reduce", 100 * GB, 8)).in_network_s is None
    assert on("dgx-h100", moving("all_reduce", 100 * GB, 2)).in_network_s is None
    assert on("dgx-h100", moving("all_gather", 100 * GB, 8)).wire.seconds == pytest.approx(7 / 8 * 100 / 450)
    assert on("dgx-h100", moving(None, 7 / 4 * GB, 8)).wire.seconds == pytest.approx(1 / 450)


def test_terms_add_up() -> None:
    """What overlaps counts once, steps come on top, and the largest term is named."""
    work = dataclasses.replace(moving("all_gather", 2 * GB, 2), flops=989.4e12 * 0.01, hbm_bytes=3350e9 * 0.001)
    found = on("dgx-h100", work)

    assert [term.seconds for term in found.terms] == pytest.approx([1 / 450, 0.001, 0.01, 1e-6])
    assert (found.binding, found.floor_s) == ("compute", pytest.approx(0.010001))
    assert found.term("compute").words == "9,894,000,000,000 operations / 989.4 TFLOP/s, dense bfloat16"


def test_float32_may_use_matrix_units() -> None:
    """A floor for float32 takes the rate of TF32, where the device has it."""
    work = dataclasses.replace(moving(None, 0, 2), dtype="float32", flops=1e12)

    assert on("dgx-h100", work).term("compute").words.endswith("494.7 TFLOP/s, dense tf32")
    assert on("mi355x", work).term("compute").seconds is None


def test_ceilings_of_transfer_mechanisms() -> None:
    """Copy engine, bulk copies and registers have ceilings of their own below the link's rate."""
    found = on("hgx-b200", moving("all_gather", 2 * GB, 2))

    assert [(one.mechanism, one.share) for one in found.ceilings] == [
        ("copy engine", 0.81), ("bulk copy", 0.74), ("register", 0.7),
    ]  # fmt: skip
    assert found.ceilings[0].seconds == pytest.approx(1 / 900 / 0.81)


def test_no_communication() -> None:
    """A result that needs no other rank has no link term and no step, and the text says so."""
    work = work_of(bind(find_problem("39"), "default", 4, "bfloat16"))
    assert work is not None
    found = on("hgx-h200", work)

    assert found.term("link").words == "needs no communication"
    assert (found.term("link").seconds, found.term("latency").seconds, found.wire.seconds) == (0, 0, 0)
    assert found.binding == "memory"


def test_unknown_rates_leave_the_floor_open() -> None:
    """Without the links' rate there is no floor; without other rates it is made of what is known."""
    devices = tuple(Device(name=f"cuda:{rank}", kind="gpu", rank=rank) for rank in range(2))
    pcie = Link(a="cuda:0", b="cuda:1", kind="PCIe")
    topology = Topology(name="two", graph="mesh", devices=devices, links=(pcie,))
    work = moving("all_gather", 2 * GB, 2)

    assert roofline(work, topology).floor_s is None
    assert roofline(work, topology).wire.seconds == 0
    linked = dataclasses.replace(topology, links=(dataclasses.replace(pcie, gbps=50.0),))
    assert roofline(work, linked).floor_s == pytest.approx(1 / 50)


def test_data_that_decide_set_no_limit() -> None:
    """Where the data decide how much is moved, the floor says so and nothing is called impossible."""
    found = on("dgx-a100", moving("all_to_all", GB, 4, data_dependent=True))

    assert found.wire.seconds == 0
    assert any("published data" in note for note in found.notes)


def test_problems_are_single_collectives_only_where_their_bytes_say_so() -> None:
    """Problem 1 needs what its all-reduce moves; problems 20 and 15 need less than what their collectives move."""
    one, less, many = (work_of(bind(find_problem(name), "default", 4, "bfloat16")) for name in ("1", "20", "15"))

    assert one is not None
    assert less is not None
    assert many is not None
    assert (one.op, less.op, many.op) == ("all_reduce", None, None)
    assert one.needed == (2 * 3 / 4 * 1024 * 1024 * 2,) * 4


def test_idle_devices_carry_nothing() -> None:
    """Links to devices without a rank are no part of a cut: nothing runs there that could pass bytes on."""
    assert [cut.gbps for cut in cuts(place(find_system("mi300x"), 3))] == [128.0] * 3


def test_a_rate_with_a_step_of_its_own() -> None:
    """The time of a step comes from the topology."""
    topology = place(find_system("dgx-a100"), 2)
    slow = dataclasses.replace(topology, rates=Rates(alpha_us=Fact(5.0, "a test")))

    assert roofline(moving("all_gather", 8, 2), slow).floor_s == pytest.approx(5e-6, rel=1e-3)

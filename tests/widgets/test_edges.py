"""What the topology pane says of its links: effective, on the wire, and which of them it is."""

from __future__ import annotations

import dataclasses

import pytest

from tests.widgets import script
from tests.widgets.host import NARROW, SIZES, Host, flowing
from widgets.edges import edges, pair_lines
from widgets.state import RunView
from widgets.topology import TopologyPane
from workbench.events import GpuLoad, LinkCounters, PeerTraffic, RankBandwidth, Verdict
from workbench.topology.catalogue import find_system
from workbench.topology.draw import draw
from workbench.topology.placing import place

LOAD = GpuLoad(
    rank=0, busy_percent=0, memory_used_bytes=1, memory_total_bytes=2, clock_mhz=None, power_watts=None
)  # fmt: skip


def timed(number: int = 1, gbps: tuple[float, ...] = (212.0, 106.0)) -> RunView:
    """After a good attempt whose ranks had these effective rates."""
    ranks = tuple(
        RankBandwidth(rank=rank, needed_bytes=rate, gbps=rate, share=None, nominal_gbps=450, nominal_share=rate / 450)
        for rank, rate in enumerate(gbps)
    )
    last = script.good_run(number)[-1]
    assert isinstance(last, Verdict)
    rate = dataclasses.replace(script.bandwidth(number), ranks=ranks)
    return script.show([*script.good_run(number)[:-1], dataclasses.replace(last, bandwidth=rate)])


def watched(view: RunView, *loads: GpuLoad) -> RunView:
    """The view with these GPUs looked at."""
    return dataclasses.replace(view, telemetry=dataclasses.replace(script.telemetry(), gpus=loads))


def test_effective_figures_stand_at_their_ranks() -> None:
    """Each rank has its own effective rate, which is said to be no count; one that needs no byte has none."""
    found = edges(timed(3, (212.0, 0.0)))

    assert found.by_rank == {0: ("eff 212 GB/s",)}
    assert found.legend == (
        "eff: effective, the bytes that a rank needs over the time of #3; not counted on the wire.",
    )


def test_figures_of_the_last_good_attempt_stay() -> None:
    """While the next attempt has no figures yet those of the last good one stand, with its number."""
    view = script.show(script.loaded(4), timed(3))

    assert edges(view).by_rank[1] == ("eff 106 GB/s",)
    assert "#3" in edges(view).legend[0]


def test_counted_traffic_stands_beside() -> None:
    """What the driver counted stands in a line of its own and is named as that."""
    load = dataclasses.replace(LOAD, sent_gbps=12.34, received_gbps=0.0, counters="moving")
    found = edges(watched(timed(), load, dataclasses.replace(LOAD, rank=1, counters="moving")))

    assert found.by_rank == {0: ("eff 212 GB/s", "out 12.3 in 0.0"), 1: ("eff 106 GB/s",)}
    assert found.legend[1] == "out, in: GB/s on a rank's NVLinks since the look before, by the driver's counters."


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (("zero", "zero"), "are there and read 0, as in many virtual machines"),
        (("absent", "moving"), "does not count NVLink traffic"),
        (("still", "moving"), "nothing has crossed the NVLinks since"),
        (("no links", "no links"), ""),
    ],
    ids=["virtual machine", "old driver", "at rest", "PCIe"],
)
def test_counters_that_say_nothing_are_told_once(states: tuple[LinkCounters, ...], words: str) -> None:
    """What counters are worth is one line for all GPUs; without NVLinks there is nothing to say."""
    loads = [dataclasses.replace(LOAD, rank=rank, counters=state) for rank, state in enumerate(states)]
    legend = edges(watched(RunView(), *loads)).legend

    assert len(legend) == bool(words)
    assert words in "".join(legend)


def test_pairs_have_a_table() -> None:
    """Traffic between GPUs that are linked directly is shown from row to column; a narrow pane has a list."""
    others = {rank: {0, 1, 2} - {rank} for rank in range(3)}
    traffic = {
        rank: tuple(PeerTraffic(rank=peer, sent_gbps=10.0 * rank + peer, received_gbps=0) for peer in peers)
        for rank, peers in others.items()
    }
    loads = [dataclasses.replace(LOAD, rank=rank, peers=peers) for rank, peers in traffic.items()]
    pairs = edges(watched(RunView(), *loads)).pairs
    table = pair_lines(pairs, 60)

    assert table[-2:] == ["rank 1    10.0     -  12.0", "rank 2    20.0  21.0     -"]
    assert "2 to 1 21.0" in " ".join(pair_lines(pairs, 24))
    assert all(len(line) <= 24 for line in pair_lines(pairs, 24))
    assert pair_lines({}, 60) == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("system", ["hgx-h200", "mi300x", "l40s-box"])
async def test_figures_are_drawn(system: str, size: tuple[int, int]) -> None:
    """On a switch, a mesh and a tree of PCIe every rank's figures are in the drawing, at any width."""
    here = dataclasses.replace(place(find_system(system), 2), imagined=False)
    pane = TopologyPane(script.make_target(), lambda world, device: lambda width, live: draw(here, width, live=live))
    async with Host(pane).run_test(size=size) as pilot:
        await pane.workers.wait_for_complete()
        pane.show_view(timed())
        await pilot.pause()

        assert all(f"eff {rate} GB/s" in flowing(pane) for rate in (212, 106))
        assert "not counted on the wire" in flowing(pane)
        assert all(len(line) <= size[0] for line in pane.lines.texts)


async def test_another_system_has_no_figures_of_this_one() -> None:
    """On a what-if system what was measured here is not drawn."""
    target = dataclasses.replace(script.make_target(), what_if=place(find_system("mi300x"), 2))
    pane = TopologyPane(target)
    async with Host(pane).run_test(size=NARROW) as pilot:
        await pane.workers.wait_for_complete()
        pane.show_view(timed())
        await pilot.pause()

        assert "eff" not in flowing(pane)

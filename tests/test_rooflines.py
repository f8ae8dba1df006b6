"""A roofline in words: ceilings of transfer mechanisms with where each was seen."""

from __future__ import annotations

import dataclasses

import pytest

from problems.binding import bind
from problems.loader import find_problem
from tests import machines
from tests.nvml import put_in_place
from tests.rates import rate, report
from workbench.config import Settings, TopologySettings
from workbench.judge.links import store_ceilings
from workbench.rooflines import find_roofline, roofline_document, roofline_rows
from workbench.topology.catalogue import find_system
from workbench.topology.ceilings import ceiling_notes
from workbench.topology.cost import Roofline, roofline
from workbench.topology.detect import detect, with_ceilings
from workbench.topology.draw import draw
from workbench.topology.gpus import detect_gpus
from workbench.topology.model import Topology
from workbench.topology.placing import place
from workbench.topology.terms import Work

WORK = Work(world=2, dtype="bfloat16", needed=(4.5e9, 4.5e9), flops=0.0, hbm_bytes=0.0, op="all_gather")
"""10 ms on the links of two H200s."""


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Topology:
    """Two H200s, with the catalogue's ceilings."""
    put_in_place(monkeypatch, machines.hopper(2))
    return detect_gpus(2)


def test_ceilings_of_the_catalogue(here: Topology) -> None:
    """Each mechanism has its time at its share of the link's rate; one source is said once."""
    rows = roofline_rows(roofline(WORK, here), 1)

    assert ("by copy engine", "link 11.5 ms, at 87% of the link's rate") in rows
    assert ("by register", "link 12.2 ms, at 82% of the link's rate") in rows
    assert [text for name, text in rows if name == "seen in"] == [
        "peer copies of 1 GiB on 2 H200s: 392, 369 and 369 of 450 GB/s"
    ]


def test_ceilings_measured_here_are_told_apart(here: Topology) -> None:
    """Where some mechanisms were measured on this machine, a number says which figure is from where."""
    found = roofline(WORK, with_ceilings(here, {"copy engine": 405.0}))
    rows = dict(roofline_rows(found, 1))

    assert rows["by copy engine"] == "link 11.1 ms, at 90% of the link's rate [1]"
    assert rows["by bulk copy"].endswith("[2]")
    assert rows["seen in"] == "[1] measured on this machine by 'pkwb bench links'"
    first = roofline_document(found)["ceilings"][0]
    assert (first["mechanism"], first["share"]) == ("copy engine", 0.9)


def test_gpus_that_are_shared_have_no_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ranks share GPUs no floor is worked out for them: it says which GPUs, and how to ask for a system."""
    put_in_place(monkeypatch, machines.hopper(2))
    monkeypatch.setattr("workbench.rooflines.place_ranks", lambda ranks, world: ("cuda", 2))
    binding = bind(find_problem("1"), "default", 4, "bfloat16")
    found = find_roofline(binding, Settings())

    assert isinstance(found, str)
    assert "4 ranks share 2" in found
    assert found.endswith("choose a system with --topology.")
    asked = find_roofline(binding, Settings(topology=TopologySettings(name="hgx-h200")))
    assert isinstance(asked, Roofline)


def test_ceilings_of_this_machine_hold_for_any_number_of_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a mechanism was measured at between two GPUs is this machine's ceiling for four ranks as well."""
    put_in_place(monkeypatch, machines.hopper(4))
    store_ceilings(report(rate("copy engine", 405.0)))

    assert detect(4, "cuda").rates.ceilings["copy engine"].value == pytest.approx(0.9)


def test_drawings_tell_ceilings(here: Topology) -> None:
    """Below a drawing the mechanisms stand in GB/s with their source, and how to measure one's own."""
    assert "Of a link's 450 GB/s: copy engine 392 (87%), bulk copy 369 (82%), register 369 (82%);" in " ".join(
        draw(here, 120)
    )
    assert "'pkwb bench links' measures its own" in " ".join(draw(here, 120))
    assert "measures its own" not in " ".join(draw(place(find_system("hgx-h200"), 2), 120))
    ours = with_ceilings(here, {"copy engine": 405.0, "bulk copy": 360.0, "register": 360.0})
    assert list(ceiling_notes(ours)) == [
        "Of a link's 450 GB/s: copy engine 405 (90%), bulk copy 360 (80%), register 360 (80%); "
        "measured on this machine by 'pkwb bench links'."
    ]
    assert list(ceiling_notes(dataclasses.replace(here, links=()))) == []

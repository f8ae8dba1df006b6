"""Topologies of GPU ranks from what NVML reports; the reports are made by hand, since tests need no GPU."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from workbench.devices import choose_device, torch_cuda, visible_gpus
from workbench.errors import UsageError
from workbench.topology.cost import roofline
from workbench.topology.cuts import cuts
from workbench.topology.detect import with_ceilings
from workbench.topology.draw import draw
from workbench.topology.gpu_facts import Gpu
from workbench.topology.gpus import gpu_topology
from workbench.topology.pcie import slot_rate
from workbench.topology.ports import ports
from workbench.topology.terms import Work


def _gpu(index: int, links: int = 18, to_switch: bool = True, peers: dict[str, int] | None = None) -> Gpu:
    return Gpu("H200", f"0000:{index:02x}", 141 * 10**9, 0, links, 25.0 if links else None, to_switch, peers or {})


def test_gpus_behind_a_switch_are_drawn_on_it() -> None:
    """Eighteen links of NVLink 4 to a switch are 450 GB/s one way a rank."""
    topology = gpu_topology([_gpu(0), _gpu(1)])

    assert topology.graph == "switch"
    assert [link.total_gbps for link in topology.links] == [450.0, 450.0]
    assert any("NVSwitch" in line for line in draw(topology, 80))


def test_bridged_gpus_are_linked_in_pairs() -> None:
    """GPUs that are linked to each other are drawn with the links they share; others as PCIe."""
    gpus = [_gpu(0, 6, False, {"0000:01": 6}), _gpu(1, 6, False, {"0000:00": 6}), _gpu(2, 0, False)]
    links = gpu_topology(gpus).links

    assert [(link.a, link.b, link.kind, link.total_gbps) for link in links] == [
        ("cuda:0", "cuda:1", "NVLink", 150.0),
        ("cuda:0", "cuda:2", "PCIe", None),
        ("cuda:1", "cuda:2", "PCIe", None),
    ]


def test_links_through_one_slot() -> None:
    """A bridged GPU reaches all others over its one PCIe slot: that rate counts once beside its NVLinks."""
    gpus = [dataclasses.replace(_gpu(rank, 12, False, {f"0000:{rank ^ 1:02x}": 12}), slot=(5, 16)) for rank in range(4)]
    found = ports(gpu_topology(gpus))[0]

    assert found is not None
    assert found.gbps == pytest.approx(300 + 63.02)
    assert found.label.endswith("2 peers by PCIe, 63.02 GB/s one way together")


def test_visible_gpus_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA_VISIBLE_DEVICES narrows the GPUs that ranks may use: up to the first that is none, and to one instance."""
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    assert visible_gpus(tmp_path) == 2
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert visible_gpus(tmp_path) == 1
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert visible_gpus(tmp_path) == 0
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,-1,0")
    assert visible_gpus(tmp_path) == 1
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-1,MIG-2")
    assert visible_gpus(tmp_path) == 1
    for chosen, count in (("0,7,1", 1), ("nonsense,0", 0), ("GPU-1,0", 2), ("0,0", 0)):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
        assert visible_gpus(tmp_path) == count


def test_auto_takes_gpus_only_when_every_rank_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Auto falls back to CPU ranks; asking for cuda where it cannot be says what to do."""
    monkeypatch.setattr("workbench.devices.visible_gpus", lambda: 2)
    monkeypatch.setattr("workbench.devices.torch_cuda", lambda python: "13.0")

    assert choose_device("auto", 2) == "cuda"
    assert choose_device("auto", 4) == "cpu"
    with pytest.raises(
        UsageError, match=r"4 ranks need 4 GPUs and 2 can be seen: use --ranks 2 or fewer, .* --share-gpus"
    ):
        choose_device("cuda", 4)
    monkeypatch.setattr("workbench.devices.torch_cuda", lambda python: "")
    assert choose_device("auto", 2) == "cpu"
    with pytest.raises(UsageError, match="CPU build"):
        choose_device("cuda", 2)


def test_the_cuda_version_of_a_torch_is_read_without_importing_it(tmp_path: Path) -> None:
    """What an interpreter's torch was built for comes from its version file."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise RuntimeError('imported')")
    version = tmp_path / "torch" / "version.py"
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {tmp_path}/torch/__init__.py\n")
    python.chmod(0o755)

    version.write_text("cuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n")
    assert torch_cuda(str(python)) == "13.0"
    version.write_text("cuda: Optional[str] = None\n")
    assert torch_cuda(str(python)) == ""


def test_rates_come_from_the_catalogue() -> None:
    """GPUs that the catalogue knows bring memory bandwidth and operations a second, and say from where."""
    topology = gpu_topology([_gpu(0), _gpu(1)])

    assert topology.rates.hbm_gbps is not None
    assert topology.rates.hbm_gbps.value == 4800
    assert topology.rates.in_network_reduction
    assert any("those of topology hgx-h200" in note for note in topology.notes)
    assert not gpu_topology([_gpu(0, 0, False), _gpu(1, 0, False)]).rates.in_network_reduction


def test_unknown_gpus_have_no_rates() -> None:
    """A GPU that the catalogue does not know is used all the same."""
    other = dataclasses.replace(_gpu(0), name="Unheard-of")

    assert gpu_topology([other, other]).rates.hbm_gbps is None
    assert any("not known" in note for note in gpu_topology([other]).notes)


def _card(index: int, numa: int | None = 0, slot: tuple[int, int] | None = (5, 16)) -> Gpu:
    return dataclasses.replace(_gpu(index, 0, False), numa=numa, slot=slot)


def test_cards_without_nvlink_hang_on_pcie() -> None:
    """Without NVLink each GPU has its slot's rate, 63 GB/s one way for PCIe 5.0 x16, and a floor can be worked out."""
    topology = gpu_topology([_card(0), _card(1)])

    assert topology.graph == "tree"
    assert [(link.b, link.kind, link.gbps) for link in topology.links] == [("host", "PCIe 5.0 x16", 63.02)] * 2
    assert any("PCIe 5.0 x16, 63.02 GB/s one way" in line for line in draw(topology, 80))
    assert [cut.gbps for cut in cuts(topology)] == [63.02, 63.02]


def test_cards_on_two_sockets() -> None:
    """GPUs are drawn below their NUMA nodes; what the nodes have between them is left out of the floor, and said."""
    topology = gpu_topology([_card(0, 0), _card(1, 1), _card(2, 1, (4, 8))])
    work = Work(world=3, dtype="bfloat16", needed=(63.02e9,) * 3, flops=0.0, hbm_bytes=0.0, op="all_to_all")
    found = roofline(work, topology)

    assert [(group.name, len(group.members)) for group in topology.groups] == [
        ("host", 2),
        ("NUMA 0", 1),
        ("NUMA 1", 2),
    ]
    assert found.term("link").seconds == pytest.approx(4, rel=1e-3)
    assert found.term("link").words.endswith("15.75 GB/s, rank 2")
    assert any("NUMA 1 carry is not known" in note for note in found.notes)


def test_slots_that_are_not_known() -> None:
    """A slot whose speed the driver does not tell leaves the floor open."""
    assert [link.gbps for link in gpu_topology([_card(0), _card(1, slot=None)]).links] == [63.02, None]
    assert [slot_rate(slot) for slot in ((3, 16), (4, 16), (6, 16), (9, 16))] == [15.75, 31.51, 121.0, None]
    assert [slot_rate(slot) for slot in ((1, 16), (2, 8))] == [4.0, 4.0]


def test_ceilings_measured_here_come_first() -> None:
    """What this machine's transfers were measured at stands in place of the catalogue's figure for them."""
    topology = with_ceilings(gpu_topology([_gpu(0), _gpu(1)]), {"copy engine": 405.0})
    shares = {name: fact.value for name, fact in topology.rates.ceilings.items()}

    assert shares == {"copy engine": 0.9, "bulk copy": 0.82, "register": 0.82}
    assert "measured on this machine" in topology.rates.ceilings["copy engine"].source
    assert with_ceilings(topology, {}) == topology


def test_what_goes_beside_the_links_is_no_cheating() -> None:
    """A limit for times leaves room for bytes that go through the host while the NVLinks are full."""
    gpus = [dataclasses.replace(_gpu(index), slot=(5, 16)) for index in range(2)]
    work = Work(world=2, dtype="bfloat16", needed=(1e9, 1e9), flops=0.0, hbm_bytes=0.0, op="all_gather")
    found = roofline(work, gpu_topology(gpus))

    assert found.term("link").seconds == pytest.approx(1 / 450)
    assert found.wire.seconds == pytest.approx(1 / 513.02)
    assert found.wire.words == "1,000,000,000 bytes / (450 by links + 63.02 by PCIe) GB/s, rank 0"

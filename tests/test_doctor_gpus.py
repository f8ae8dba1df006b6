"""What the doctor says about machines with GPUs: NVML and the answer of the ranks' interpreter are made by hand."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import machines
from tests.nvml import FakeGpu, FakeNvml, eight, put_in_place
from tests.program import RANKS_PYTHON
from workbench import doctor
from workbench.checks import look, probe
from workbench.checks.findings import Finding
from workbench.checks.probe import Probe, ask_ranks
from workbench.config import RanksSettings, Settings
from workbench.devices import pci_gpus, torch_cuda
from workbench.errors import RanksError

PROBE = Probe(
    torch="2.11.0",
    cuda="13.0",
    python="3.12.3",
    numpy=True,
    gloo=True,
    nccl="2.28.9",
    gpus=2,
    multicast=True,
    peers=[[True, True], [True, True]],
    copies=["", ""],
)
Doctor = Callable[..., dict[str, Finding]]
COUNTED = "counted by cause: power, thermal, sync boost, board limit, reliability"


@pytest.fixture
def examine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    """The findings about ranks and GPUs of a machine, by name; ``traffic`` is what its counters see of the copies."""

    def ask(
        nvml: FakeNvml,
        answer: Probe | None = PROBE,
        nvcc: str = "13.0",
        traffic: int = 1 << 16,
        chosen: str = "",
        **ranks: Any,
    ) -> dict[str, Finding]:
        def asked(python: str) -> Probe:
            for gpu in nvml.gpus:
                gpu.pass_on(traffic, 1)
            if answer is None:
                raise RanksError("no torch here")
            return answer

        put_in_place(monkeypatch, nvml)
        if chosen:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
        monkeypatch.setattr(doctor, "visible_gpus", lambda: len(chosen.split(",")) if chosen else len(nvml.gpus))
        monkeypatch.setattr(doctor, "ask_ranks", asked)
        monkeypatch.setattr(look, "find_nvcc", lambda: "/opt/nvcc" if nvcc else "")
        monkeypatch.setattr(look, "nvcc_version", lambda path: nvcc)
        settings = Settings(ranks=dataclasses.replace(RanksSettings(), **ranks))
        return {finding.name: finding for finding in doctor._ranks(settings, tmp_path)}

    return ask


def two(**figures: object) -> FakeNvml:
    """A machine of two GPUs; ``figures`` are those of the second."""
    return FakeNvml([FakeGpu(bus="a"), dataclasses.replace(FakeGpu(bus="b"), **figures)])  # type: ignore[arg-type]


def test_a_machine_that_is_ready(examine: Doctor) -> None:
    """Two linked GPUs with all that is needed: nothing to do, and the figures that matter are named."""
    found = examine(two())
    assert {finding.state for finding in found.values()} == {"ok"}
    assert found["driver"].value == "580.159.04, runs CUDA up to 13.0"
    assert found["nccl"].value == "2.28.9"
    assert found["nvcc"].value == "13.0, /opt/nvcc"
    assert found["gpus"].value == "2 × H200, 144 GB"
    assert found["p2p"].value == "NVLink between all 2 GPUs"
    assert found["nvlink"].value == "18 of 18 links up, 25 GB/s each, 450 GB/s one way together"
    assert found["nvlink counters"].value == "present, and they move"
    assert found["peer copies"].meaning == "arrived whole"
    assert found["gpu processes"].value == "none"


@pytest.mark.parametrize(("supported", "words"), [(True, "supported, and kept off"), (False, "not supported")])
def test_multicast_stays_off(examine: Doctor, monkeypatch: pytest.MonkeyPatch, supported: bool, words: str) -> None:
    """Whether GPUs could multicast, that pkwb keeps it off, and that it does so against the user's environment."""
    monkeypatch.delenv("NCCL_NVLS_ENABLE", raising=False)
    answer = dataclasses.replace(PROBE, multicast=supported)
    quiet = examine(two(), answer)["multicast"]
    assert quiet.value == words
    assert "without NVLink multicast" in quiet.meaning
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "1")
    loud = examine(two(), answer)["multicast"]
    assert (loud.state, "NCCL_NVLS_ENABLE=1 is set here" in loud.value) == ("note", True)


def test_counters_that_read_nothing(examine: Doctor) -> None:
    """Counters of a virtual machine that stay 0 are not trusted, and those that stand still neither."""
    silent = examine(two(), traffic=0)["nvlink counters"]
    assert (silent.state, silent.value) == ("note", "present but read 0")
    assert "not trusted" in silent.meaning
    frozen = examine(FakeNvml([FakeGpu(sent_kib=5), FakeGpu(bus="b", sent_kib=5)]), traffic=0)["nvlink counters"]
    assert (frozen.state, "stand still" in frozen.value) == ("note", True)
    alone = FakeNvml([FakeGpu(sent_kib=5)])
    idle = examine(alone, dataclasses.replace(PROBE, copies=[], gpus=1), traffic=0, world=1)["nvlink counters"]
    assert (idle.state, idle.value) == ("ok", "present")
    absent = examine(FakeNvml([FakeGpu(), FakeGpu(bus="b")], refused=["nvmlDeviceGetFieldValues"]))["nvlink counters"]
    assert (absent.state, absent.value) == ("note", "not offered by this driver")


def test_links_that_are_down(examine: Doctor) -> None:
    """A GPU with fewer links than it has is named, with what that costs."""
    found = examine(two(links=[1] * 16 + [0, 0]))["nvlink"]
    assert found.state == "note"
    assert found.value == "gpu 1: 16 of 18 links up, 25 GB/s each, 400 GB/s one way together"


def test_gpus_over_pcie(examine: Doctor) -> None:
    """Without NVLink nothing is said about counters, and kernels are told what speed to expect."""
    nvml = FakeNvml([FakeGpu(bus="a", links=[]), FakeGpu(bus="b", links=[])])
    nvml.p2p[2] = 1
    found = examine(nvml)
    assert found["p2p"].value == "PCIe between all 2 GPUs"
    assert found["nvlink"].value == "none"
    assert "nvlink counters" not in found


def test_matrix_of_a_mixed_machine(examine: Doctor) -> None:
    """Where pairs differ every GPU has a line with its peers."""
    nvml = FakeNvml(eight()[:4])
    nvml.apart.add(3)
    found = examine(nvml, dataclasses.replace(PROBE, gpus=4, copies=[""] * 4, peers=[]))
    assert (found["p2p"].state, found["p2p"].value) == ("note", "differs from pair to pair")
    assert found["p2p of 1"].value == "0 NVLink, 2 NVLink, 3 none"
    assert found["p2p of 3"].value == "0 none, 1 none, 2 none"


def test_cuda_has_the_last_word_on_paths(examine: Doctor) -> None:
    """What CUDA says about peers counts where NVML says otherwise, since kernels depend on it."""
    nvml = two()
    barred = examine(nvml, dataclasses.replace(PROBE, peers=[[True, False], [True, True]]))["p2p"]
    assert (barred.state, barred.value) == ("note", "none between all 2 GPUs")
    nvml.p2p[0] = 1
    reached = examine(nvml)["p2p"]
    assert (reached.state, reached.value) == ("ok", "other between all 2 GPUs")
    assert examine(nvml, None)["p2p"].value == "none between all 2 GPUs"


def test_copies_that_fail(examine: Doctor) -> None:
    """GPUs that do not hand data on are a problem, with the two and the reason."""
    found = examine(two(), dataclasses.replace(PROBE, copies=["", "other values arrived"]))["peer copies"]
    assert (found.state, found.value) == ("problem", "1 to 0: other values arrived")


def test_who_is_on_the_gpus(examine: Doctor) -> None:
    """Foreign processes are named with number, user, command and memory, as far as they are visible."""
    found = examine(two(processes=[(os.getpid(), 3_200_000_000), (2**30, None)]))["gpu processes"]
    assert found.state == "note"
    assert found.value.startswith(f"gpu 1: pid {os.getpid()} (")
    assert " 3.2 GB, pid 1073741824 (not visible from here) unknown memory" in found.value


def test_gpus_that_are_not_free(examine: Doctor) -> None:
    """Exclusive mode, instances and little free memory are told of the GPU they are about."""
    assert examine(two(mode=3))["gpu 1"].state == "problem"
    assert "MIG" in examine(two(split=True))["gpu 1"].value
    assert examine(two(used=141_000_000_000))["gpu 1"].value == "3.0 of 144 GB free"


def test_more_ranks_than_gpus(examine: Doctor) -> None:
    """Four ranks on two GPUs: how many to ask for, how to share them, and what happens otherwise."""
    found = examine(two(), world=4)["gpus"]
    assert found.state == "note"
    assert "use --ranks 2, or --share-gpus" in found.meaning
    assert "or they run on the CPU" in found.meaning
    sharing = examine(two(), world=4, share_gpus=True)["gpus"]
    assert (sharing.state, sharing.meaning) == ("note", "4 ranks share them: results are judged, nothing is timed")


MACHINES: dict[str, tuple[Callable[[], FakeNvml], dict[str, str]]] = {
    "1 H200": (lambda: machines.hopper(1), {"gpus": "1 × H200, 144 GB", "p2p": "", "throttling": COUNTED}),
    "2 H200, virtual": (
        lambda: machines.virtual(2),
        {
            "p2p": "NVLink between all 2 GPUs",
            "nvlink counters": "present but read 0",
            "throttling": "not counted by this driver on gpu 0, 1",
        },
    ),
    "8 H200": (
        lambda: machines.hopper(8),
        {
            "p2p": "NVLink between all 8 GPUs",
            "nvlink": "18 of 18 links up, 25 GB/s each, 450 GB/s one way together",
            "ranks' gpus": "rank 0 on gpu 0 (00000000:18:00.0), rank 1 on gpu 1 (00000000:28:00.0)",
        },
    ),
    "4 A100, mesh": (
        machines.mesh,
        {
            "nvlink": "12 of 12 links up, 25 GB/s each, 300 GB/s one way together",
            "nvlink counters": "present but read 0",
        },
    ),
    "two sockets": (machines.two_sockets, {"p2p": "PCIe between all 8 GPUs", "nvlink": "none", "nvlink counters": ""}),
    "desktop": (machines.desktop, {"p2p": "none between all 2 GPUs", "nvlink": "none"}),
    "MIG": (
        machines.split,
        {
            "gpu 0": "split into instances (MIG)",
            "gpu 1": "split into instances (MIG)",
            "nvlink": "none",
        },
    ),
    "no permission": (
        machines.guarded,
        {
            "nvlink counters": "not offered by this driver",
            "throttling": "not counted by this driver on gpu 0, 1",
            "gpu processes": "not told by this driver on gpu 0, 1",
        },
    ),
    "no driver": (machines.driverless, {"gpus": "2, but the GPUs cannot be looked at: NVML says Driver Not Loaded"}),
}
"""By name: the machine, and what is found of some things; empty = nothing is said."""


@pytest.mark.parametrize("name", MACHINES)
def test_machines(examine: Doctor, name: str) -> None:
    """What the doctor says of whole machines."""
    make, expected = MACHINES[name]
    nvml = make()
    peers = [] if nvml.p2p[0] else [[True] * len(nvml.gpus)] * len(nvml.gpus)
    copies = [""] * len(nvml.gpus) if len(nvml.gpus) > 1 else []
    probe = dataclasses.replace(PROBE, gpus=len(nvml.gpus), peers=peers, copies=copies)
    found = examine(nvml, probe, traffic=0)

    assert {what: found[what].value if what in found else "" for what in expected} == expected
    assert all(finding.meaning for finding in found.values())


def test_instances_and_ranks(examine: Doctor) -> None:
    """CUDA gives a process one instance of a GPU in parts: two ranks are told so, one rank is fine."""
    alone = dataclasses.replace(PROBE, gpus=1, copies=[], peers=[[True]])
    found = examine(machines.split(), alone)
    assert "use --ranks 1, or ask for whole GPUs" in found["gpus"].meaning
    assert found["p2p"].value == "none between all 2 GPUs"
    assert examine(machines.split(), alone, world=1)["gpus"].state == "ok"


def test_chosen_gpus_are_named(examine: Doctor) -> None:
    """With CUDA_VISIBLE_DEVICES the doctor says which GPU each rank takes, and by whose word."""
    nvml = machines.hopper(8)
    found = examine(nvml, chosen="6,GPU-3")["ranks' gpus"]

    assert found.value == "rank 0 on gpu 6 (00000000:78:00.0), rank 1 on gpu GPU-3 (00000000:48:00.0)"
    assert found.meaning.startswith("as CUDA_VISIBLE_DEVICES=6,GPU-3 says")


def test_software_that_does_not_fit(examine: Doctor) -> None:
    """A driver older than torch, an nvcc of another CUDA, a CPU build, no NCCL: each with its remedy."""
    newer = examine(two(), dataclasses.replace(PROBE, cuda="14.1"))
    assert (newer["driver"].state, "update the driver" in newer["driver"].meaning) == ("problem", True)
    assert (newer["nvcc"].state, "CUDA 14" in newer["nvcc"].meaning) == ("note", True)
    assert examine(two(), nvcc="")["nvcc"].state == "note"
    cpu = examine(two(), dataclasses.replace(PROBE, cuda="", nccl="", gpus=0, multicast=None, copies=[]))
    assert (cpu["cuda"].state, "ranks.python" in cpu["cuda"].meaning) == ("note", True)
    assert (cpu["gpus"].state, cpu["gpus"].meaning.partition(" as")[0]) == ("note", "not used")
    assert examine(two(), dataclasses.replace(PROBE, nccl=""))["nccl"].state == "problem"
    blind = examine(two(), dataclasses.replace(PROBE, gpus=0, copies=[]))["cuda"]
    assert (blind.state, blind.value) == ("problem", "torch sees 0 of 2 GPUs")


def test_gpus_without_torch(examine: Doctor) -> None:
    """Where the ranks' interpreter does not answer, the GPUs are still described."""
    found = examine(two(), None)
    assert found["torch"].state == "problem"
    assert found["nvlink"].state == "ok"
    assert (found["gpus"].state, found["gpus"].meaning.partition(" as")[0]) == ("note", "not used")


@pytest.mark.parametrize("message", ["Driver Not Loaded", "Insufficient Permissions"])
def test_driver_that_does_not_answer(examine: Doctor, message: str) -> None:
    """GPUs that are there while NVML cannot be asked: what it says, and what is missing then."""
    nvml = FakeNvml([FakeGpu(), FakeGpu()], refused=["nvmlInit"], message=message)
    found = examine(nvml, dataclasses.replace(PROBE, gpus=0, copies=[]))
    assert found["gpus"].state == "note"
    assert message in found["gpus"].value
    assert (found["cuda"].state, found["cuda"].value) == ("problem", "torch sees 0 of 2 GPUs")


def test_hidden_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GPUs that the environment hides are told apart from none."""
    monkeypatch.setattr(doctor, "visible_gpus", lambda: 0)
    monkeypatch.setattr(doctor, "installed_gpus", lambda: 2)
    assert "CUDA_VISIBLE_DEVICES" in doctor._no_gpus().value
    monkeypatch.setattr(doctor, "installed_gpus", lambda: 0)
    monkeypatch.setattr(doctor, "pci_gpus", lambda: 0)
    assert doctor._no_gpus().value == "none"


def test_gpus_without_a_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GPUs on the bus that no driver serves are counted, and what to do is said; other cards are no GPUs."""
    for name, vendor, kind in (("a", "0x10de", "0x030200"), ("b", "0x10de", "0x040300"), ("c", "0x1002", "0x030000")):
        folder = tmp_path / "bus/pci/devices" / name
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "class").write_text(f"{kind}\n")
    monkeypatch.setattr(doctor, "installed_gpus", lambda: 0)
    monkeypatch.setattr(doctor, "pci_gpus", lambda: pci_gpus(tmp_path))
    found = doctor._no_gpus()

    assert (found.state, found.value) == ("note", "1 on the PCI bus, without a driver here")
    assert "driver" in found.meaning


def interpreter(folder: Path, text: str) -> str:
    """A program in place of the ranks' Python."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_probe_keeps_multicast_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ranks' interpreter is asked with multicast off, whatever the user's environment says."""
    monkeypatch.setenv("TORCH_SYMM_MEM_DISABLE_MULTICAST", "0")
    fields = json.dumps({**dataclasses.asdict(PROBE), "nccl": "$TORCH_SYMM_MEM_DISABLE_MULTICAST"}).replace('"', '\\"')
    assert ask_ranks(interpreter(tmp_path, f'echo noise; echo "{fields}"')).nccl == "1"


def test_probe_of_the_ranks_interpreter() -> None:
    """The ranks' torch on a machine: versions, gloo and numpy, and as many copies as there are neighbours."""
    found = ask_ranks(RANKS_PYTHON)
    assert found.gloo
    assert found.torch
    assert len(found.copies) == (found.gpus if found.gpus > 1 else 0)


def test_kernels_in_the_folder_are_no_modules_of_the_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beside the user's, called like modules that torch imports, do not run when the interpreter is asked."""
    monkeypatch.chdir(tmp_path)
    for name in ("cuda", "json", "numpy"):
        Path(f"{name}.py").write_text("raise SystemExit('a kernel of the user ran')\n")
    Path("torch").mkdir()
    Path("torch/__init__.py").write_text("")
    Path("torch/version.py").write_text("cuda = '99.0'\n")

    assert ask_ranks(RANKS_PYTHON).torch
    assert torch_cuda(RANKS_PYTHON) != "99.0"


def test_interpreters_that_do_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No such program, one that fails, one that talks nonsense, one that hangs: each with its reason."""
    with pytest.raises(RanksError, match="No such file"):
        ask_ranks("/nowhere/python")
    with pytest.raises(RanksError, match="no module torch"):
        ask_ranks(interpreter(tmp_path, "echo no module torch >&2; exit 1"))
    with pytest.raises(RanksError, match="no output"):
        ask_ranks(interpreter(tmp_path, "echo 17"))
    monkeypatch.setattr(probe, "PROBE_SECONDS", 0.2)
    with pytest.raises(RanksError, match="no answer from"):
        ask_ranks(interpreter(tmp_path, "exec sleep 60"))

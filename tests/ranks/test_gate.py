"""The gate in front of timed calls: its kernel compiles, what it saw is read, and ranks without it hold nobody up."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the ranks run under another interpreter here")

import torch

from tests.ranks.kernels.scale import needs_nvrtc
from workbench.ranks import gate
from workbench.ranks.gate import KernelGate, Opened, OpenGate, SpinGate, make_gate
from workbench.ranks.names.utils import kernels
from workbench.ranks.shared import Field, Slots


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="this machine has no CUDA compiler (nvcc)")
@pytest.mark.parametrize("architecture", ["sm_70", "sm_80", "sm_90", "sm_100"])
def test_nvcc_compiles_it(architecture: str, tmp_path: Path) -> None:
    """The kernel is valid, without a warning, for every generation of data-centre GPUs that this nvcc knows."""
    known = subprocess.run(("nvcc", "--list-gpu-code"), capture_output=True, text=True, check=True, timeout=60).stdout
    if architecture not in known.split():
        pytest.skip(f"this nvcc does not know {architecture}")
    (tmp_path / "gate.cu").write_text(gate.SOURCE)
    command = ("nvcc", "-Werror", "all-warnings", f"-arch={architecture}", "-cubin", "-o", "gate.cubin", "gate.cu")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


@needs_nvrtc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a", "sm_100"])
def test_nvrtc_compiles_it(architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NVRTC makes of it a kernel that takes an address and four numbers, as ranks launch it."""
    monkeypatch.setenv(kernels.CACHE, str(tmp_path))
    assert kernels.compile(gate.SOURCE, "gate", arch=architecture).parameters == ("Q", "I", "I", "I", "Q")


def made(slots: Slots) -> KernelGate:
    """A gate of rank 1 on a machine without GPUs."""
    found = object.__new__(KernelGate)
    found._slots, found._rank = slots, 1
    return found


@pytest.mark.parametrize(
    ("ns", "cycles", "held", "expected"),
    [(100_000, 198_000, 0, Opened(1980, False)), (1_000_000, 1_200_000, 1, Opened(1200, True)), (0, 0, 0, Opened())],
    ids=["full clock", "held, low clock", "nothing"],
)
def test_what_the_kernel_left_is_read(ns: int, cycles: int, held: int, expected: Opened) -> None:
    """Clock and patience come from the rank's own slot, whatever the other ranks' say."""
    slots = Slots(2)
    for field, value in ((Field.SHUT_NS, ns), (Field.SHUT_CYCLES, cycles), (Field.HELD, held)):
        slots.put(1, field, value)
        slots.put(0, field, 12345)
    assert made(slots).opened() == expected


def test_a_rank_without_the_kernel_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel cannot be built a rank spins instead, and tells the gates of the others that it has arrived."""
    spun: list[int] = []
    monkeypatch.setattr(torch.cuda, "_sleep", spun.append)
    monkeypatch.setattr(gate, "KernelGate", lambda *_: (_ for _ in ()).throw(OSError("there is no NVRTC here")))
    slots = Slots(2)
    found = make_gate("cuda", slots, 1)
    assert isinstance(found, SpinGate)
    found.shut(3, 0)
    assert (len(spun), slots.get(1, Field.ARRIVED), slots.get(1, Field.QUEUED)) == (1, 3, 0)
    found.queued(3)
    assert slots.get(1, Field.QUEUED) == 3
    assert (found.holds, found.opened()) == (True, Opened())


def test_cpu_ranks_have_an_open_gate() -> None:
    """On the CPU calls begin when they are made."""
    found = make_gate("cpu", Slots(1), 0)
    assert isinstance(found, OpenGate)
    assert (found.holds, found.opened()) == (False, Opened())


WAIT_NS, PATIENCE_NS = 400_000, 1_000_000


def shut_for(found: KernelGate, slots: Slots, epoch: int, queued: bool) -> tuple[int, bool]:
    """ns that the gate was shut and whether its patience ended, for a host that needs ``WAIT_NS``, or never queues."""
    found.shut(epoch, PATIENCE_NS)
    ready = time.perf_counter_ns() + WAIT_NS
    while time.perf_counter_ns() < ready:
        pass
    if queued:
        found.queued(epoch)
    torch.cuda.synchronize()
    return slots.get(0, Field.SHUT_NS), found.opened().held


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_it_holds_until_all_is_queued() -> None:
    """The kernel stays shut as long as the host needs, gives up on one that never comes, and sees the clock."""
    torch.cuda.init()
    slots = Slots(1)
    found = make_gate("cuda", slots, 0)
    assert isinstance(found, KernelGate)
    # A host that is put aside for longer than the patience spoils a try, not the gate.
    tries = [shut_for(found, slots, epoch, queued=True) for epoch in range(1, 11)]
    assert any(ns >= WAIT_NS and not held for ns, held in tries)
    ns, held = shut_for(found, slots, 11, queued=False)
    assert (ns >= PATIENCE_NS, held) == (True, True)
    assert 100 < found.opened().mhz < 4000

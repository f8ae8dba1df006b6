"""The data of measured transfers, and the kernels that copy on GPUs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the ranks run under another interpreter here")

import torch

from workbench.ranks.copy_kernels import KERNELS
from workbench.ranks.transfer import POISON, pattern


def test_patterns_tell_places_and_senders_apart() -> None:
    """Shifted data, another rank's data, nothing at all: none of them passes for what was sent."""
    sent = pattern(10_000, 0)
    assert not torch.equal(sent, pattern(10_000, 1))
    assert not torch.equal(sent[1:], sent[:-1])
    assert not bool((sent == POISON).any())
    assert len(sent.unique()) > 9_900


def test_pattern_fills_memory_in_place() -> None:
    """Shared memory is filled where it lies."""
    memory = torch.full((64,), POISON, dtype=torch.int32)
    pattern(64, 3, out=memory)
    assert torch.equal(memory, pattern(64, 3))


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="this machine has no CUDA compiler (nvcc)")
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_compile(name: str, tmp_path: Path) -> None:
    """The copying kernels are valid for the oldest GPUs that they claim to run on, or that this nvcc knows."""
    kernel = KERNELS[name]
    source = tmp_path / "kernel.cu"
    source.write_text(kernel.source)
    architecture = "sm_{}{}".format(*max(kernel.capability, (8, 0)))
    command = ("nvcc", "-Werror", "all-warnings", f"-arch={architecture}", "-cubin", "-o", "kernel.cubin", "kernel.cu")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")

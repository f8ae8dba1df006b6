"""Slim modules on a GPU do what those with torch's own headers do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build.slim_builds import build_full, build_slim, tools
from tests.program import RANKS_PYTHON
from workbench.build.model import Request
from workbench.devices import torch_cuda, visible_gpus

_HERE = Path(__file__).parent
TEXT = (_HERE / "on_gpu.cu").read_text(encoding="utf-8")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not visible_gpus(), reason="needs an NVIDIA GPU"),
    pytest.mark.skipif(bool(visible_gpus()) and not torch_cuda(RANKS_PYTHON), reason="the ranks' torch is a CPU build"),
]


def probe(folder: Path, *more: str) -> str:
    """What gpu_probes.py prints of the module in a folder."""
    command = [tools().python or sys.executable, "-W", "ignore", str(_HERE / "gpu_probes.py"), str(folder), *more]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def built(folder: Path) -> tuple[Path, Path]:
    """Folders of the slim and of the full build of on_gpu.cu."""
    slim, real = folder / "slim", folder / "real"
    slim.mkdir()
    real.mkdir()
    request = Request(name="on_gpu", cuda=TEXT, cuda_flags=("-O3",))
    build_slim(request, slim, folder / "runtime.o")
    build_full(request, real)
    return slim, real


@pytest.mark.timeout(600)
def test_streams_devices_handles_errors_and_numbers_are_torchs(tmp_path: Path) -> None:
    """Both builds see the same stream, devices and cuBLAS handle, fail alike, and round alike."""
    slim, real = (dict(json.loads(probe(folder))) for folder in built(tmp_path))
    assert slim == real
    assert slim["stream"] == slim["cuBLAS handle"] == slim["guard"] == "True"

"""Launches of raw kernels: what arguments become, and what the driver is told."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the ranks run under another interpreter here")

import torch

from tests.flow.sitting import Sitting
from tests.ranks.kernels.scale import NAME, SCALE, needs_nvrtc
from workbench.ranks.names.utils import kernels

BY_KIND = """\
struct Peers { const float* of[8]; };
extern "C" __global__ void by_kind(char c, short s, int i, unsigned u, long long l, float* p, Peers all) {}
"""
CUDA_H = next((path for path in map(Path, kernels._header_folders(Path("/"))) if (path / "cuda.h").exists()), Path("/"))


@needs_nvrtc
def test_arguments_become_what_the_kernel_declares() -> None:
    """Every integer takes the size of its parameter; addresses fill a struct, which is filled up with zeros."""
    packed = kernels.compile(BY_KIND, "by_kind")._packed((-1, -2, -3, 4_000_000_000, -5, 1 << 63, [7, None, 9]))
    numbers = b"\xff" + b"\xfe\xff" + b"\xfd\xff\xff\xff" + (4_000_000_000).to_bytes(4, "little")
    assert packed[:11] == numbers
    assert packed[11:27] == (-5).to_bytes(8, "little", signed=True) + (1 << 63).to_bytes(8, "little")
    assert packed[27:] == b"".join(one.to_bytes(8, "little") for one in (7, 0, 9, 0, 0, 0, 0, 0))
    raw = (ctypes.c_uint64 * 8)(*range(8))
    assert kernels.compile(BY_KIND, "by_kind")._packed((0, 0, 0, 0, 0, None, raw))[27:] == bytes(raw)


@needs_nvrtc
@pytest.mark.parametrize(
    ("place", "value", "error", "words"),
    [
        (0, 300, ValueError, "argument 0 of by_kind is a bool or char there: 300 does not fit into 8 bits"),
        (2, 2.5, TypeError, "argument 2 of by_kind is an int there: 'float'"),
        (2, 1 << 32, ValueError, "does not fit into 32 bits"),
        (2, torch.zeros(2), TypeError, "argument 2 of by_kind is an int there"),
        (
            5,
            torch.zeros(2),
            ValueError,
            "argument 5 of by_kind is a pointer .* lies on the cpu, where no kernel reaches it",
        ),
        (5, "x", TypeError, "argument 5 of by_kind is a pointer"),
        (6, [0] * 9, ValueError, "a struct of 64 bytes; got 72"),
        (6, b"x", ValueError, "a struct of 64 bytes; got 1"),
        (6, 1.5, TypeError, "argument 6 of by_kind is a struct there"),
    ],
)
def test_arguments_that_do_not_fit(place: int, value: object, error: type[Exception], words: str) -> None:
    """An argument that the kernel's parameter cannot take is named before anything is launched."""
    given: list[object] = [0, 0, 0, 0, 0, None, []]
    given[place] = value
    with pytest.raises(error, match=words):
        kernels.compile(BY_KIND, "by_kind")(1, 1, *given)


@needs_nvrtc
def test_number_of_arguments() -> None:
    """Too few arguments are counted."""
    with pytest.raises(TypeError, match="by_kind takes 7 arguments and got 1"):
        kernels.compile(BY_KIND, "by_kind")(1, 1, 0)


@needs_nvrtc
@pytest.mark.parametrize("grid", [0, (1, 2, 3, 4), (1, -1), ()])
def test_grids_that_cannot_be(grid: kernels.Dims) -> None:
    """A grid is one to three numbers from 1 on."""
    with pytest.raises(ValueError, match=r"grid .* is not one to three numbers from 1 on"):
        kernels.compile(SCALE, NAME)(grid, 256, None, 1.0, 0, False, 0.0)


@needs_nvrtc
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a driver here")
def test_no_driver() -> None:
    """Without a GPU a kernel compiles, and launching says why it cannot run."""
    with pytest.raises(kernels.CudaError, match="no NVIDIA driver here: the kernel compiles, but it cannot run"):
        kernels.compile(SCALE, NAME)(1, 256, None, 1.0, 0, False, 0.0)


@needs_nvrtc
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a driver here")
@pytest.mark.parametrize("argument", ["tensor", "tensor.data_ptr()"])
def test_candidate_without_a_gpu(argument: str) -> None:
    """On CPU ranks a raw kernel is compiled, and since it cannot run the verdict is unknown."""
    kernel = 'extern "C" __global__ void k(float* x) {}'
    sitting = Sitting("1", limit=20.0)
    try:
        launch = f"kernels.compile({kernel!r}, 'k')(1, 1, {argument})"
        verdict = sitting.judge(f"from utils import kernels\ndef solution(tensor):\n    {launch}\n")
        assert verdict.status == "unknown"
        assert verdict.reason == "no CUDA device: the raw kernel compiles and was not run"
    finally:
        sitting.close()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """A driver that records what it is told, made with the real header."""
    if shutil.which("g++") is None or not (CUDA_H / "cuda.h").exists():
        pytest.skip("this machine has no C++ compiler, or no CUDA headers")
    library = tmp_path_factory.mktemp("driver") / "libcuda.so"
    source = Path(__file__).with_name("recording_driver.cpp")
    subprocess.run(["g++", "-shared", "-fPIC", f"-I{CUDA_H}", "-o", library, source], check=True, timeout=100)
    return ctypes.CDLL(str(library))


@pytest.fixture
def record(driver: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where that driver writes; launches go to its GPU 0, stream 7 when none is given."""
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    monkeypatch.setattr(kernels, "_driver", lambda: driver)
    monkeypatch.setattr(kernels, "_place", lambda stream: (0, stream or 7))
    monkeypatch.setattr(torch.cuda, "device", lambda _device: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    return tmp_path / "record"


@needs_nvrtc
def test_what_a_launch_tells_the_driver(record: Path) -> None:
    """Grid, block, shared memory, stream, cluster, cooperation and every argument arrive as they were given."""
    kernel = kernels.compile(SCALE, NAME)
    kernel((3, 2), 256, 0xABC000, 1.5, -4, True, 0.25)
    kernel(4, (16, 8, 2), None, 2, 1 << 40, False, -1.0, smem=100_000, stream=9, cooperative=True, cluster=(2, 2))
    kernel(16, 32, 1, 1.0, 1, 1, 1.0, smem=80_000, cluster=16)
    assert record.read_text().splitlines() == [
        "grid 3 2 1 block 256 1 1 smem 0 stream 7",
        "values abc000 1.5 -4 1 0.25",
        "attribute 8 100000",
        "grid 4 1 1 block 16 8 2 smem 100000 stream 9 cooperative 1 cluster 2 2 1",
        "values 0 2 1099511627776 0 -1",
        "attribute 14 1",
        "grid 16 1 1 block 32 1 1 smem 80000 stream 7 cluster 16 1 1",
        "values 1 1 1 1 1",
    ]


@needs_nvrtc
@pytest.mark.usefixtures("record")
def test_what_the_driver_refuses() -> None:
    """The driver's own words come with what was asked of it."""
    kernel = kernels.compile(SCALE, NAME)
    with pytest.raises(kernels.CudaError, match=r"launching scale<__nv_bfloat16> failed: text of the error"):
        kernel(13, 256, None, 1.0, 0, False, 0.0)
    with pytest.raises(kernels.CudaError, match="asking for 400000 bytes of shared memory"):
        kernel(1, 256, None, 1.0, 0, False, 0.0, smem=400_000)
    with pytest.raises(kernels.CudaError, match="loading broken failed"):
        kernels.Kernel("broken", "broken", (), b"no object")(1, 1)

"""Raw kernels: what NVRTC makes of CUDA text, what is kept, and what the driver is told."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the ranks run under another interpreter here")

import torch

from tests.flow.sitting import Sitting
from workbench.events import Diagnostic
from workbench.ranks.names.utils import kernels

SCALE = """\
#include <cstdint>
#include <cuda_bf16.h>
template <typename T>
__global__ void scale(T* x, float factor, int64_t count, bool twice, double more) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < count) x[i] = T(float(x[i]) * factor * (twice ? 2 : 1) + float(more));
}
"""
NAME = "scale<__nv_bfloat16>"
BY_KIND = """\
struct Peers { const float* of[8]; };
extern "C" __global__ void by_kind(char c, short s, int i, unsigned u, long long l, float* p, Peers all) {}
"""


def _nvrtc_there() -> bool:
    with contextlib.suppress(OSError):
        return bool(kernels._nvrtc())
    return False


needs_nvrtc = pytest.mark.skipif(not _nvrtc_there(), reason="this machine has no NVRTC: pip install nvidia-cuda-nvrtc")
on_gpu = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")]
CUDA_H = next((path for path in map(Path, kernels._header_folders(Path("/"))) if (path / "cuda.h").exists()), Path("/"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own for what is kept, and nothing kept in this process."""
    monkeypatch.setenv(kernels.CACHE, str(tmp_path / "kernels"))
    kernels._compiled.cache_clear()
    yield tmp_path / "kernels"
    kernels._compiled.cache_clear()


def refuse(*_args: object) -> kernels._Built:
    """In the place of NVRTC, where it must not be asked again."""
    raise AssertionError("compiled again")


@needs_nvrtc
def test_template_with_number_types_compiles() -> None:
    """An instance of a template over CUDA's bf16 type compiles, and its parameters are known by type."""
    kernel = kernels.compile(SCALE, NAME)
    assert kernel.parameters == ("Q", "f", "Q", "B", "d")
    assert kernel.cubin.startswith(b"\x7fELF")
    assert kernels.compile(SCALE, NAME) is kernel


BROKEN = """
extern "C" __global__ void k(int* x) {
  *x = y;
}
"""


@needs_nvrtc
def test_errors_have_the_lines_of_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    """What NVRTC refuses is told with the line in the text, and in the file that holds the text."""
    with pytest.raises(kernels.CompileError) as failed:
        kernels.compile(BROKEN, "k")
    assert failed.value.msg == 'kernel.cu(3): error: identifier "y" is undefined'
    assert "*x = y;" in capsys.readouterr().err
    lines = Path(__file__).read_text().splitlines()
    assert (failed.value.filename, failed.value.lineno) == (__file__, lines.index("  *x = y;") + 1)
    with pytest.raises(kernels.CompileError) as failed:
        kernels.compile(BROKEN.replace("y", "z"), "k")
    assert (failed.value.filename, failed.value.lineno) == (None, None)


@needs_nvrtc
def test_errors_are_in_the_candidates_file() -> None:
    """A candidate with a broken kernel is told the line of its own file."""
    sitting = Sitting("1", limit=20.0)
    try:
        at_load = f'from utils import kernels\nSOURCE = """{BROKEN}"""\nK = kernels.compile(SOURCE, "k")\n'
        in_call = at_load.replace("K = ", "def solution(tensor):\n    ")
        assert [sitting.judge(text).status for text in (at_load, in_call)] == ["build-error"] * 2
        found = [event for event in sitting.events if isinstance(event, Diagnostic)]
        assert [one.line for one in found] == [4, 4]
        assert all('kernel.cu(3): error: identifier "y" is undefined' in one.message for one in found)
    finally:
        sitting.close()


@needs_nvrtc
@pytest.mark.parametrize("name", ["scales", "scale", "helper"])
def test_names_that_are_no_kernel(name: str) -> None:
    """A name that no kernel has, a template without its types and a device function are named as the fault."""
    with pytest.raises(kernels.CompileError, match=f"no __global__ function '{name}'"):
        kernels.compile(SCALE + "__device__ int helper() { return 1; }\n", name)


@needs_nvrtc
def test_option_that_nvrtc_does_not_know() -> None:
    """A wrong option is shown."""
    with pytest.raises(kernels.CompileError, match="--no-such"):
        kernels.compile(SCALE, NAME, options=["--no-such"])


@needs_nvrtc
def test_options_and_architecture_reach_nvrtc() -> None:
    """Definitions and the architecture are what the text sees."""
    text = '#if __CUDA_ARCH__ == 800\nextern "C" __global__ void k(int* x) { *x = N; }\n#endif\n'
    assert kernels.compile(text, "k", options=["-DN=4"], arch="sm_80").parameters == ("Q",)
    with pytest.raises(kernels.CompileError):
        kernels.compile(text, "k", options=["-DN=4"], arch="sm_90a")


@needs_nvrtc
@pytest.mark.parametrize("root", [None, *kernels.ROOTS])
def test_headers_of_libraries(root: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers are found in include paths and below the roots of header-only libraries; a changed one counts."""
    header = tmp_path / "include" / "tile.cuh"
    header.parent.mkdir()
    header.write_text("#define PARAMETERS int* x\n")
    if root:
        monkeypatch.setenv(root, str(tmp_path))
    text, paths = '#include "tile.cuh"\nextern "C" __global__ void k(PARAMETERS) {}\n', [] if root else [header.parent]
    assert kernels.compile(text, "k", include_paths=list(map(str, paths))).parameters == ("Q",)
    header.write_text("#define PARAMETERS int* x, float y\n")
    kernels._compiled.cache_clear()
    assert kernels.compile(text, "k", include_paths=list(map(str, paths))).parameters == ("Q", "f")


@needs_nvrtc
@pytest.mark.parametrize("name", ["tile.inl", "tile", "deep/tile.hpp"])
def test_headers_of_any_name(name: str, tmp_path: Path) -> None:
    """A change counts in whatever a source includes; links that lead nowhere, such as an editor's locks, do not."""
    header = tmp_path / "include" / name
    header.parent.mkdir(parents=True)
    (header.parent / ".#tile.h").symlink_to("user@host.17")
    (header.parent / "gone.h").symlink_to("nowhere")
    text = f'#include "{name}"\nextern "C" __global__ void k(PARAMETERS) {{}}\n'
    for parameters, known in (("int* x", ("Q",)), ("int* x, float y", ("Q", "f"))):
        header.write_text(f"#define PARAMETERS {parameters}\n")
        kernels._compiled.cache_clear()
        assert kernels.compile(text, "k", include_paths=[str(tmp_path / "include")]).parameters == known


@needs_nvrtc
def test_user_without_a_home(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user of no known home, as in many containers, gets kernels all the same; so does one who may only read."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    def read_only(path: Path) -> None:
        raise PermissionError(path)

    first = kernels.compile(SCALE, NAME)
    kernels._compiled.cache_clear()
    with monkeypatch.context() as reading:
        reading.setattr(kernels, "_run", refuse)
        reading.setattr("os.utime", read_only)
        assert kernels.compile(SCALE, NAME).cubin == first.cubin
    monkeypatch.delenv(kernels.CACHE)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    kernels._compiled.cache_clear()
    assert kernels.compile(SCALE, NAME).cubin == first.cubin


@needs_nvrtc
def test_disk_without_room(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room for a kernel it compiles, and leaves nothing half behind."""

    def full(*_paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert kernels.compile(SCALE, NAME).parameters
    assert list(cache.iterdir()) == []


@needs_nvrtc
def test_kept_on_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process that asks for the same kernel gets it without NVRTC; another option or name is another kernel."""
    first = kernels.compile(SCALE, NAME)
    kernels._compiled.cache_clear()
    monkeypatch.setattr(kernels, "_run", refuse)
    again = kernels.compile(SCALE, NAME)
    assert (again.parameters, again.cubin) == (first.parameters, first.cubin)
    for other in (SCALE, "scale<float>", ()), (SCALE, NAME, ("-DX",)), (SCALE + "\n", NAME, ()):
        with pytest.raises(AssertionError, match="compiled again"):
            kernels.compile(other[0], other[1], options=other[2])
    assert len(list(cache.iterdir())) == 1


@needs_nvrtc
@pytest.mark.parametrize("content", [b"", b"{}\n", b"\xff\n", b'{"entry": "k"}\nx', b"half"])
def test_damaged_files_are_made_again(content: bytes, cache: Path) -> None:
    """A file that is cut off or holds something else is not loaded: the kernel is compiled again."""
    first = kernels.compile(SCALE, NAME)
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(content if content != b"half" else whole[: len(whole) // 2])
    kernels._compiled.cache_clear()
    assert kernels.compile(SCALE, NAME).cubin == first.cubin
    assert file.read_bytes() == whole


@needs_nvrtc
def test_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the folder cannot be made, kernels compile all the same."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(kernels.CACHE, str(tmp_path / "file" / "kernels"))
    assert kernels.compile(SCALE, NAME).parameters


@needs_nvrtc
def test_what_is_kept_is_limited(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels that were not used for longest go when the folder is full."""
    monkeypatch.setattr(kernels, "_CACHE_BYTES", 20_000)
    for i in range(8):
        kernels.compile(SCALE, NAME, options=[f"-DN={i}"])
    assert sum(path.stat().st_size for path in cache.iterdir()) <= 20_000
    kernels._compiled.cache_clear()
    monkeypatch.setattr(kernels, "_run", refuse)
    assert kernels.compile(SCALE, NAME, options=["-DN=7"]).parameters


@needs_nvrtc
def test_alone_beside_a_file(tmp_path: Path) -> None:
    """The module works when it is copied to another place, with torch alone."""
    folder = tmp_path / "utils"
    folder.mkdir()
    shutil.copy(kernels.__file__, folder)
    text = f"from utils import kernels\nprint(kernels.compile({SCALE!r}, {NAME!r}).parameters)\n"
    (tmp_path / "own.py").write_text(text)
    nvrtc = next(
        entry for entry in [*sys.path, ""] if not entry or list(Path(entry).glob("nvidia/*/lib/libnvrtc.so.*"))
    )
    environment = {
        "PYTHONPATH": nvrtc,
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        kernels.CACHE: str(tmp_path / "k"),
    }
    command = [sys.executable, str(tmp_path / "own.py")]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("('Q', 'f', 'Q', 'B', 'd')\n", "")


def test_no_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without NVRTC the message says what to install."""
    monkeypatch.setattr(kernels, "_toolkits", list)
    kernels._nvrtc.cache_clear()
    with pytest.raises(OSError, match="pip install nvidia-cuda-nvrtc, or set CUDA_HOME"):
        kernels.compile(SCALE, NAME)


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


class TestOnGpu:
    """Launches for real."""

    pytestmark = on_gpu

    def test_values(self) -> None:
        """A kernel changes what its pointer points to, by the numbers it was given."""
        x = torch.arange(1000, dtype=torch.bfloat16, device="cuda")
        kernels.compile(SCALE, NAME)(4, 256, x, 0.5, x.numel(), True, 3.0)
        assert torch.equal(x, torch.arange(1000, dtype=torch.bfloat16, device="cuda") + 3)

    def test_large_shared_memory(self) -> None:
        """Dynamic shared memory may be as large as the GPU allows."""
        text = """extern "C" __global__ void k(int* x, int last) {
            extern __shared__ int stage[];
            if (threadIdx.x == 0) { stage[last] = 7; *x = stage[last]; }
        }"""
        size = int(torch.cuda.get_device_properties(0).shared_memory_per_block_optin)  # type: ignore[attr-defined]
        x = torch.zeros(1, dtype=torch.int32, device="cuda")
        kernels.compile(text, "k")(1, 32, x, size // 4 - 1, smem=size)
        assert x.item() == 7
        with pytest.raises(kernels.CudaError, match="shared memory"):
            kernels.compile(text, "k")(1, 32, x, 0, smem=size + 1)

    def test_struct_of_addresses(self) -> None:
        """Several tensors go in as one struct of pointers."""
        text = """struct All { const float* of[4]; };
        extern "C" __global__ void k(All all, int count, float* out) {
            out[0] = 0; for (int i = 0; i < count; ++i) out[0] += *all.of[i];
        }"""
        given = [torch.full((1,), float(i), device="cuda") for i in range(1, 4)]
        out = torch.zeros(1, device="cuda")
        kernels.compile(text, "k")(1, 1, [given[0], given[1].data_ptr(), given[2]], 3, out)
        assert out.item() == 6

    def test_cooperative_and_cluster(self) -> None:
        """The grid can be synchronised in cooperative launches; clusters have the size that was asked for."""
        text = """#include <cooperative_groups.h>
        extern "C" __global__ void grid(int* x) {
            if (threadIdx.x == 0) atomicAdd(x, 1);
            cooperative_groups::this_grid().sync();
            if (threadIdx.x == 0 && *(volatile int*)x == gridDim.x) atomicAdd(x + 1, 1);
        }
        extern "C" __global__ void cluster(int* x) {
            int size; asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size)); *x = size;
        }"""
        x = torch.zeros(2, dtype=torch.int32, device="cuda")
        kernels.compile(text, "grid")(64, 128, x, cooperative=True)
        assert x.tolist() == [64, 64]
        if torch.cuda.get_device_capability() >= (9, 0):
            kernels.compile(text, "cluster")(16, 32, x, cluster=4)
            assert x[0].item() == 4

    def test_streams_and_threads(self) -> None:
        """A launch goes to the stream that is given or current, from any thread."""
        x, stream = torch.zeros(256, dtype=torch.bfloat16, device="cuda"), torch.cuda.Stream()
        torch.cuda.synchronize()

        def add() -> None:
            kernels.compile(SCALE, NAME)(1, 256, x, 1.0, 256, False, 1.0, stream=stream)

        thread = threading.Thread(target=add)
        thread.start()
        thread.join()
        with torch.cuda.stream(stream):
            kernels.compile(SCALE, NAME)(1, 256, x, 1.0, 256, False, 1.0)
        stream.synchronize()
        assert x.unique().tolist() == [2]

    def test_graph(self) -> None:
        """Launches can be captured in a CUDA graph and replayed."""
        x, kernel = torch.zeros(256, dtype=torch.bfloat16, device="cuda"), kernels.compile(SCALE, NAME)
        kernel(1, 256, x, 1.0, 256, False, 0.0)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kernel(1, 256, x, 1.0, 256, False, 1.0)
        for _ in range(3):
            graph.replay()
        assert x.unique().tolist() == [3]

    @pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
    def test_second_gpu(self) -> None:
        """The same kernel runs on another GPU when that one is current, or its stream is given."""
        x, kernel = torch.zeros(256, dtype=torch.bfloat16, device="cuda:1"), kernels.compile(SCALE, NAME)
        kernel(1, 256, x, 1.0, 256, False, 1.0, stream=torch.cuda.Stream(1))
        torch.cuda.synchronize(1)
        with torch.cuda.device(1):
            kernel(1, 256, x, 1.0, 256, False, 1.0)
        assert (x.unique().tolist(), torch.cuda.current_device()) == ([2], 0)

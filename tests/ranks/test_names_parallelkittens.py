"""Parallel tensors and barriers for candidates written with ThunderKittens, as far as they need no ThunderKittens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="the ranks run under another interpreter here")

import torch
import torch.distributed as dist

from tests.flow.sitting import judged_on_gpus
from workbench.ranks.names.utils import parallelkittens_runtime as runtime
from workbench.ranks.names.utils import symmetric

CANDIDATE = '''\
from utils import kernels
from utils.parallelkittens_runtime import TKParallelTensor, get_or_create_barrier, get_or_create_parallel_tensor

SOURCE = """
struct Floats { float* of[8]; };
struct Slots { int* of[8]; };

extern "C" __global__ void meet(Slots slots, int rank) {
  __threadfence_system();
  while (atomicCAS_system(slots.of[threadIdx.x] + rank, 0, 1) != 0) {}
  while (atomicCAS_system(slots.of[rank] + threadIdx.x, 1, 0) != 1) {}
  __threadfence_system();
}

extern "C" __global__ void sum(Floats all, int world, float* out, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    out[i] = 0;
    for (int r = 0; r < world; ++r) out[i] += all.of[r][i];
  }
}
"""

def solution(tensor):
    mine = get_or_create_parallel_tensor((tensor.numel(),), tensor.dtype)
    slots = get_or_create_barrier((1, 8))
    assert isinstance(mine, TKParallelTensor) and not mine.multicast_
    meet = lambda: kernels.compile(SOURCE, "meet")(1, mine.local_world_size_, slots.raw_ptrs_, mine.local_rank_)
    mine.data_.copy_(tensor.reshape(-1))
    meet()
    out = tensor.new_empty(tensor.shape)
    kernels.compile(SOURCE, "sum")(1, 512, mine.raw_ptrs_, mine.local_world_size_, out, out.numel())
    meet()
    return out
'''


@pytest.fixture
def one_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A group of one CPU rank in this process, which stands in for a GPU's."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv(runtime.ROOT, raising=False)
    monkeypatch.setattr(runtime, "_check_place", lambda: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    store = dist.FileStore(str(tmp_path / "store"), 1)  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    for kept in (runtime._kept, runtime._native, symmetric._made):
        kept.cache_clear()
    dist.destroy_process_group()


@pytest.mark.usefixtures("one_rank")
def test_same_request_same_tensor() -> None:
    """A tensor is made once for its shape, dtype and name, and has memory of its own."""
    get = runtime.get_or_create_parallel_tensor
    first = get((2, 8), torch.bfloat16)
    assert get([2, 8], torch.bfloat16) is first
    others = [get((2, 8), torch.float16), get((8, 2), torch.bfloat16), get((2, 8), torch.bfloat16, name="other")]
    assert len({id(one) for one in (first, *others)}) == len({one.raw_ptrs_[0] for one in (first, *others)}) == 4


@pytest.mark.usefixtures("one_rank")
def test_what_a_tensor_knows() -> None:
    """Data, addresses, rank and world are named as ThunderKittens names them; without multicast its address is 0."""
    found = runtime.get_or_create_parallel_tensor((3, 4), torch.float32)
    assert found.data() is found.data_
    assert (found.data_.shape, found.data_.dtype, found.data_.any().item()) == ((3, 4), torch.float32, False)
    assert found.raw_ptrs_ == (found.data_.data_ptr(),)
    assert (found.local_rank_, found.local_world_size_, found.multicast_, found.multicast_ptr_) == (0, 1, False, 0)
    assert (found.shape_, found.dtype_) == ((3, 4), torch.float32)


@pytest.mark.usefixtures("one_rank")
def test_barrier_is_counters_of_zero() -> None:
    """A barrier is a parallel tensor of int32 zeros, and not the tensor of the same shape."""
    barrier = runtime.get_or_create_barrier((1, 8))
    assert (barrier.data_.dtype, barrier.data_.tolist()) == (torch.int32, [[0] * 8])
    assert runtime.get_or_create_barrier((1, 8)) is barrier
    assert runtime.get_or_create_parallel_tensor((1, 8), torch.int32) is not barrier


@pytest.mark.usefixtures("one_rank")
def test_class_of_an_extension() -> None:
    """An extension that binds ThunderKittens' class gets tensors of that class, without multicast where it is off."""

    class Theirs:
        def __init__(self, *arguments: Any) -> None:
            self.arguments, self.zeroed = arguments, torch.ones(2)

        def data(self) -> torch.Tensor:
            return self.zeroed

    extension = SimpleNamespace(TKParallelTensor=Theirs)
    found = runtime.get_or_create_parallel_tensor((2,), torch.float32, multicast=True, extension=extension)
    assert found.arguments == ((2,), torch.float32, 0, 1, False)
    assert found.zeroed.tolist() == [0, 0]


@pytest.mark.usefixtures("one_rank")
def test_own_rank_and_world() -> None:
    """A tensor made by hand for another rank is refused."""
    assert runtime.TKParallelTensor is runtime.SymmetricTensor
    with pytest.raises(ValueError, match="this is rank 0 of 1, not 1 of 2"):
        runtime.SymmetricTensor((2,), torch.float32, 1, 2)


@pytest.mark.usefixtures("one_rank")
@pytest.mark.parametrize("shape", [(), (1, 1, 1, 1, 1), (2, 0)])
def test_shapes_that_thunderkittens_does_not_take(shape: tuple[int, ...]) -> None:
    """One to four dimensions, none of them empty."""
    with pytest.raises(ValueError, match="1 to 4 dimensions of 1 or more"):
        runtime.get_or_create_parallel_tensor(shape, torch.float32)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_no_gpu() -> None:
    """On a CPU rank the message says what to do."""
    with pytest.raises(RuntimeError, match=r"parallel tensors need NVIDIA GPUs, .* use --device cuda"):
        runtime.get_or_create_parallel_tensor((2,), torch.float32)


@pytest.mark.parametrize("root", [None, "empty"])
def test_no_thunderkittens(root: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a checkout of ThunderKittens the message says which variable names it."""
    monkeypatch.delenv(runtime.ROOT, raising=False)
    if root:
        monkeypatch.setenv(runtime.ROOT, str(tmp_path))
    with pytest.raises(RuntimeError, match="set THUNDERKITTENS_ROOT to a checkout of ThunderKittens"):
        runtime.include_paths()


def test_where_thunderkittens_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The include folders are those of the checkout, and the class is compiled against them, once."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "kittens.cuh").touch()
    monkeypatch.setenv(runtime.ROOT, str(tmp_path))
    asked: list[tuple[Any, ...]] = []

    def compiled(*arguments: Any) -> Any:
        asked.append(arguments)
        return SimpleNamespace(TKParallelTensor=int)

    monkeypatch.setattr(runtime, "compile_cuda_extension", compiled)
    runtime._native.cache_clear()
    assert runtime.TKParallelTensor is runtime.TKParallelTensor is int
    runtime._native.cache_clear()
    ((_name, source, flags, folders, _links),) = asked
    assert folders == [str(tmp_path / "include"), str(tmp_path / "prototype")]
    assert "BIND_TK_PARALLEL_TENSOR(m)" in source
    assert "-std=c++20" in flags


def test_multicast_is_off_where_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that switches multicast off is enough, whatever the GPU can do."""
    monkeypatch.setenv("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert not runtime.multicast_supported()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_peer_to_peer_on_gpus() -> None:
    """Ranks add up each other's parallel tensors over the link, and meet at a barrier of counters, without multicast.

    Two ranks share a GPU where there is one.
    """
    verdict = judged_on_gpus(CANDIDATE, torch.cuda.device_count())
    assert verdict.status == "ok", verdict.reason

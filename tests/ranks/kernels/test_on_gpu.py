"""Raw kernels, launched for real."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("torch", reason="the ranks run under another interpreter here")

import torch

from tests.ranks.kernels.scale import NAME, SCALE
from workbench.ranks.names.utils import kernels

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")]


def test_values() -> None:
    """A kernel changes what its pointer points to, by the numbers it was given."""
    x = torch.arange(1000, dtype=torch.bfloat16, device="cuda")
    kernels.compile(SCALE, NAME)(4, 256, x, 0.5, x.numel(), True, 3.0)
    assert torch.equal(x, torch.arange(1000, dtype=torch.bfloat16, device="cuda") + 3)


def test_large_shared_memory() -> None:
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


def test_struct_of_addresses() -> None:
    """Several tensors go in as one struct of pointers."""
    text = """struct All { const float* of[4]; };
    extern "C" __global__ void k(All all, int count, float* out) {
        out[0] = 0; for (int i = 0; i < count; ++i) out[0] += *all.of[i];
    }"""
    given = [torch.full((1,), float(i), device="cuda") for i in range(1, 4)]
    out = torch.zeros(1, device="cuda")
    kernels.compile(text, "k")(1, 1, [given[0], given[1].data_ptr(), given[2]], 3, out)
    assert out.item() == 6


def test_cooperative_and_cluster() -> None:
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


def test_streams_and_threads() -> None:
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


def test_graph() -> None:
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
def test_second_gpu() -> None:
    """The same kernel runs on another GPU when that one is current, or its stream is given."""
    x, kernel = torch.zeros(256, dtype=torch.bfloat16, device="cuda:1"), kernels.compile(SCALE, NAME)
    kernel(1, 256, x, 1.0, 256, False, 1.0, stream=torch.cuda.Stream(1))
    torch.cuda.synchronize(1)
    with torch.cuda.device(1):
        kernel(1, 256, x, 1.0, 256, False, 1.0)
    assert (x.unique().tolist(), torch.cuda.current_device()) == ([2], 0)

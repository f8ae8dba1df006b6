"""Kernels that copy between GPUs: loads and stores of threads, and asynchronous bulk copies (compute capability 9.0).

The pointers may lie on either GPU: a kernel loads over the link where its source is another GPU's memory, and stores
over it where its target is. NVRTC compiles them; no header is included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from workbench.ranks.names.utils import kernels

_REGISTER = r"""
extern "C" __global__ void copy_register(uint4* __restrict__ target, const uint4* __restrict__ source, int count)
{
    const int stride = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < count - 3 * stride; i += 4 * stride) {
        const uint4 a = source[i], b = source[i + stride], c = source[i + 2 * stride], d = source[i + 3 * stride];
        target[i] = a;
        target[i + stride] = b;
        target[i + 2 * stride] = c;
        target[i + 3 * stride] = d;
    }
    for (; i < count; i += stride) target[i] = source[i];
}
"""

_BULK = r"""
constexpr int STAGES = 5;
constexpr int CHUNK = 8192;

__device__ unsigned shared_address(const void* place) { return (unsigned)__cvta_generic_to_shared(place); }

struct Share {
    char* target;
    const char* source;
    long long bytes;

    __device__ long long offset(long long k) const { return (blockIdx.x + k * gridDim.x) * CHUNK; }
    __device__ unsigned size(long long k) const
    {
        const long long left = bytes - offset(k);
        return (unsigned)(left < CHUNK ? left : CHUNK);
    }
    __device__ void load(long long k, char* stage, unsigned long long* arrived) const
    {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(shared_address(arrived)), "r"(size(k)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(shared_address(stage)), "l"(__cvta_generic_to_global(source + offset(k))), "r"(size(k)),
                        "r"(shared_address(arrived)) : "memory");
    }
    __device__ void store(long long k, const char* stage) const
    {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                     :: "l"(__cvta_generic_to_global(target + offset(k))), "r"(shared_address(stage)), "r"(size(k))
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
};

__device__ void wait_for(unsigned long long* arrived, unsigned phase)
{
    unsigned done = 0;
    while (!done) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(arrived)), "r"(phase) : "memory");
    }
}

extern "C" __global__ void copy_bulk(uint4* target, const uint4* source, int count)
{
    __shared__ alignas(128) char stages[STAGES][CHUNK];
    __shared__ alignas(8) unsigned long long arrived[STAGES];
    if (threadIdx.x != 0) return;
    for (int s = 0; s < STAGES; ++s)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(&arrived[s])) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");

    const Share share{(char*)target, (const char*)source, 16LL * count};
    const long long chunks = (share.bytes + CHUNK - 1) / CHUNK;
    const long long mine = blockIdx.x < chunks ? (chunks - blockIdx.x - 1) / gridDim.x + 1 : 0;
    for (long long k = 0; k < mine && k < STAGES - 1; ++k) share.load(k, stages[k], &arrived[k]);
    for (long long k = 0; k < mine; ++k) {
        wait_for(&arrived[k % STAGES], (k / STAGES) & 1);
        share.store(k, stages[k % STAGES]);
        const long long next = k + STAGES - 1;
        if (next < mine) {
            // The stage of chunk `next` is that of chunk k - 1, whose store must have read it; chunk k's may go on.
            asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
            share.load(next, stages[next % STAGES], &arrived[next % STAGES]);
        }
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
"""


@dataclass(frozen=True)
class CopyKernel:
    """How a kernel is launched; ``blocks_per_sm`` times the GPU's multiprocessors is the size of its usual grid."""

    name: str
    source: str
    threads: int
    blocks_per_sm: int
    capability: tuple[int, int]


KERNELS = {
    "register": CopyKernel("copy_register", _REGISTER, threads=512, blocks_per_sm=4, capability=(7, 0)),
    "bulk": CopyKernel("copy_bulk", _BULK, threads=32, blocks_per_sm=1, capability=(9, 0)),
}

Launch = Callable[[torch.Tensor, torch.Tensor, int, torch.cuda.Stream], None]
"""Copies into a target from a source, both contiguous int32 of a multiple of 4, with so many blocks on a stream."""


def build(kernel: CopyKernel, gpu: int) -> Launch:
    """Compile a kernel for one GPU; raises what :mod:`kernels` raises where that cannot be done.

    The stream of a launch is one of that GPU's.
    """
    with torch.cuda.device(gpu):
        compiled = kernels.compile(kernel.source, kernel.name)

    def launch(target: torch.Tensor, source: torch.Tensor, blocks: int, stream: torch.cuda.Stream) -> None:
        compiled(blocks, kernel.threads, target, source, target.numel() // 4, stream=stream)

    return launch

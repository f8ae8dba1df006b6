"""Buffers that all ranks reach: shared memory between CPU ranks, symmetric memory on GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the ranks run under another interpreter here")

import torch

from tests.flow.sitting import Sitting, judged_on_gpus
from tests.ranks.group import in_group
from workbench.ranks.names.utils import symmetric

CANDIDATE = """\
import torch
from utils import symmetric

def solution(tensor):
    mine = symmetric.buffer(tensor.shape, tensor.dtype)
    mine.tensor.copy_(tensor)
    mine.barrier()
    total = sum(one.double() for one in mine.peers).to(tensor.dtype)
    mine.barrier()
    return total
"""
KERNEL_CANDIDATE = '''\
from utils import kernels, symmetric

SOURCE = """
struct Peers { const float* of[8]; };

// The peer's slot for this rank is set, then the own slot for the peer is awaited and cleared.
__device__ void barrier(int** signals, int rank, int world) {
  __syncthreads();
  if (threadIdx.x < world) {
    __threadfence_system();
    while (atomicCAS_system(signals[threadIdx.x] + world + rank, 0, 1) != 0) {}
    while (atomicCAS_system(signals[rank] + world + threadIdx.x, 1, 0) != 1) {}
    __threadfence_system();
  }
  __syncthreads();
}

extern "C" __global__ void all_reduce(const float* in, Peers peers, int** signals, int rank, int world, float* out,
                                      int count) {
  float* own = const_cast<float*>(peers.of[rank]);
  for (int i = threadIdx.x; i < count; i += blockDim.x) own[i] = in[i];
  barrier(signals, rank, world);
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    float total = 0;
    for (int r = 0; r < world; ++r) total += *(volatile const float*)(peers.of[r] + i);
    out[i] = total;
  }
  barrier(signals, rank, world);
}
"""

def solution(tensor):
    mine = symmetric.buffer((tensor.numel(),), tensor.dtype)
    out = tensor.new_empty(tensor.shape)
    all_reduce = kernels.compile(SOURCE, "all_reduce")
    all_reduce(1, 512, tensor.contiguous(), mine.addresses, mine.signal_table, mine.rank, mine.world, out, out.numel())
    return out
'''


def test_ranks_see_what_the_others_write(tmp_path: Path) -> None:
    """What a rank writes into its buffer or another's is seen there after a barrier; at first all is zero."""
    body = """
    from utils import symmetric
    mine = symmetric.buffer((2, 3), torch.float64)
    assert not mine.tensor.any() and mine.tensor.shape == (2, 3) and mine.world == world and mine.rank == rank
    mine.tensor.fill_(rank + 1)
    mine.barrier()
    print([one.sum().item() for one in mine.peers])
    mine.barrier(channel=3)
    mine.peers[(rank + 1) % world][1, 2] = 100 + rank
    mine.barrier()
    print(mine.tensor[1, 2].item())
    """
    assert in_group(tmp_path, body, world=3) == [f"[6.0, 12.0, 18.0]\n{100 + sender}.0\n" for sender in (2, 0, 1)]


def test_addresses_are_where_the_buffers_are(tmp_path: Path) -> None:
    """C code that gets the addresses reads the peers' numbers, and each rank has a signal pad of zeros."""
    body = """
    import ctypes
    from utils import symmetric
    mine = symmetric.buffer((5,), torch.bfloat16)
    mine.tensor.view(torch.int16).fill_(7 + rank)
    mine.barrier()
    print([ctypes.c_int16.from_address(address + 8).value for address in mine.addresses])
    assert mine.table.tolist() == list(mine.addresses) and mine.signal_table.tolist() == list(mine.signals)
    assert all(address % 64 == 0 for address in (*mine.addresses, *mine.signals))
    mine.barrier()
    pads = [(ctypes.c_int32 * (symmetric.SIGNAL_BYTES // 4)).from_address(address) for address in mine.signals]
    assert not any(map(any, pads))
    mine.barrier()
    pads[1 - rank][40 + rank] = 1
    mine.barrier()
    print(list(pads[rank]).index(1), mine.multicast, mine.tensor.view(torch.int16).tolist() == [7 + rank] * 5)
    """
    assert in_group(tmp_path, body) == ["[7, 8]\n41 0 True\n", "[7, 8]\n40 0 True\n"]


def test_buffers_are_kept_by_shape_type_and_name(tmp_path: Path) -> None:
    """The same request gives the same buffer; another shape, type or name gives other memory."""
    body = """
    import os
    from utils import symmetric
    first = symmetric.buffer((4,), torch.float32)
    others = [symmetric.buffer(*one) for one in (((4,), torch.int32), ((4, 1), torch.float32), ((0,), torch.float32))]
    others.append(symmetric.buffer((4,), torch.float32, name="second"))
    assert symmetric.buffer([4]) is first is symmetric.buffer(torch.Size([4]), torch.float32)
    assert len({one.addresses[rank] for one in (first, *others)}) == 5
    dist.barrier()
    print(len([name for name in os.listdir(".") if name.startswith("symmetric-")]))
    """
    assert in_group(tmp_path, body) == ["0\n", "0\n"]


def test_ranks_that_disagree_are_told(tmp_path: Path) -> None:
    """Ranks that ask for different sizes get an error, not each other's memory."""
    body = """
    from utils import symmetric
    try:
        symmetric.buffer((5000 * (1 + rank),), torch.uint8)
        print("made")
    except (ValueError, RuntimeError) as error:
        print(error)
    """
    with pytest.raises(AssertionError, match="different buffers") as failed:
        in_group(tmp_path, body.replace("(ValueError, RuntimeError)", "ZeroDivisionError"))
    assert "and 24576 on the group's first rank" in str(failed.value)


def test_group_of_some_ranks(tmp_path: Path) -> None:
    """A buffer may belong to a part of the ranks."""
    body = """
    from utils import symmetric
    pairs = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    mine = symmetric.buffer((1,), torch.int64, group=pairs[rank % 2])
    mine.tensor.fill_(rank)
    mine.barrier()
    print(mine.rank, [one.item() for one in mine.peers])
    mine.barrier()
    """
    assert in_group(tmp_path, body, world=4) == ["0 [0, 2]\n", "0 [1, 3]\n", "1 [0, 2]\n", "1 [1, 3]\n"]


def test_no_process_group() -> None:
    """Without a process group the message says what to call."""
    with pytest.raises(ValueError, match=r"no process group: call torch\.distributed\.init_process_group first"):
        symmetric.buffer((1,))


@pytest.mark.parametrize("variable", ["TORCH_SYMM_MEM_DISABLE_MULTICAST", "NCCL_NVLS_ENABLE", "NVSHMEM_DISABLE_NVLS"])
def test_each_variable_switches_multicast_off(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the three variables is enough for no multicast to be used."""
    for each, off in symmetric._MULTICAST_OFF.items():
        monkeypatch.setenv(each, {"0": "1", "1": "0"}[off])
    assert symmetric.multicast_allowed()
    monkeypatch.setenv(variable, symmetric._MULTICAST_OFF[variable])
    assert not symmetric.multicast_allowed()


def test_a_candidate_is_judged() -> None:
    """A candidate whose ranks read each other's buffers is right on CPU ranks."""
    sitting = Sitting("1", world=3, limit=20.0)
    try:
        verdict = sitting.judge(CANDIDATE)
        assert verdict.status == "ok", verdict.reason
    finally:
        sitting.close()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("text", [CANDIDATE, KERNEL_CANDIDATE], ids=["tensors", "kernel"])
def test_a_candidate_is_judged_on_gpus(text: str) -> None:
    """The same on GPUs, and with a raw kernel that waits for its peers; two ranks share a GPU where there is one."""
    verdict = judged_on_gpus(text, torch.cuda.device_count())
    assert verdict.status == "ok", verdict.reason

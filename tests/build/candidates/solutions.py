"""What each candidate does around its kernels: the number of its problem, and the text of its solution."""

from __future__ import annotations

from collections.abc import Mapping

IMPORTS = '''\
import functools

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric_memory
from utils.cuda_helpers import compile_cuda_extension


@functools.cache
def buffer(count, dtype, device):
    """A buffer that all ranks can reach, and its handle. All ranks ask for the same sizes in the same order."""
    made = symmetric_memory.empty(count, dtype=dtype, device=device)
    return made, symmetric_memory.rendezvous(made, dist.group.WORLD)


def shared(tensor):
    """The handle of a buffer that holds a tensor, once every rank has written its own."""
    made, handle = buffer(tensor.numel(), tensor.dtype, tensor.device)
    made.copy_(tensor.reshape(-1))
    handle.barrier(channel=0)
    return handle

'''

LINKED: Mapping[str, list[str]] = {"gemm_cublas": ["-lcublas"]}
"""Linker flags by candidate."""

_ALL_REDUCE = """
def solution(tensor):
    handle = shared(tensor)
    out = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    extension.sum_of_peers(handle.buffer_ptrs_dev, handle.world_size, out)
    handle.barrier(channel=0)
    return out
"""

_SIGNAL_PADS = """
def solution(tensor):
    made, handle = buffer(tensor.numel(), tensor.dtype, tensor.device)
    made.copy_(tensor.reshape(-1))
    out = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    extension.all_reduce(
        handle.buffer_ptrs_dev, handle.signal_pad_ptrs_dev, out, rank=handle.rank, world=handle.world_size
    )
    return out
"""

_ALL_GATHER = """
def solution(tensor):
    handle = shared(tensor)
    out = tensor.new_empty((handle.world_size, *tensor.shape))
    extension.gather(handle.buffer_ptrs, out)
    handle.barrier(channel=0)
    return out
"""

_BROADCAST = """
def solution(tensor, src=0):
    handle = shared(tensor)
    out = extension.fetch(handle.buffer_ptrs[src], like=tensor.contiguous())
    handle.barrier(channel=0)
    return out
"""

_REDUCE = """
def solution(tensor, dst=0):
    handle = shared(tensor)
    out = tensor.clone(memory_format=torch.contiguous_format)
    if handle.rank == dst:
        peers = torch.tensor(handle.buffer_ptrs, dtype=torch.int64, device=tensor.device)
        extension.reduce_into(peers, out)
    handle.barrier(channel=0)
    return out
"""

_SCATTER = """
def solution(tensor, src=0):
    rank, world = dist.get_rank(), dist.get_world_size()
    piece = tensor[0] if rank == src else tensor
    made, handle = buffer(world * piece.numel(), tensor.dtype, tensor.device)
    if rank == src:
        made.copy_(tensor.reshape(-1))
    handle.barrier(channel=0)
    out = torch.empty_like(piece, memory_format=torch.contiguous_format)
    extension.take_piece(out, handle.buffer_ptrs[src], offset_bytes=rank * out.numel() * out.element_size())
    handle.barrier(channel=0)
    return out
"""

_GATHER = """
def solution(tensor, dst=0):
    handle = shared(tensor)
    out = extension.stack_of_peers(handle.buffer_ptrs, tensor.contiguous()) if handle.rank == dst else tensor
    handle.barrier(channel=0)
    return out
"""

_REDUCE_SCATTER = """
def solution(tensor):
    handle = shared(tensor)
    out = tensor.new_empty((tensor.shape[0] // handle.world_size, *tensor.shape[1:]))
    extension.sum_block(handle.buffer_ptrs, handle.rank, out)
    handle.barrier(channel=0)
    return out
"""

_ALL_TO_ALL = """
def solution(tensor):
    handle = shared(tensor)
    out = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    out = extension.exchange(peers=handle.buffer_ptrs_dev, rank=handle.rank, world=handle.world_size, out=out)
    handle.barrier(channel=0)
    return out
"""

_LAYERNORM = """
def solution(X_hat, dY):
    x_hat, dy = (tensor.contiguous().view(-1, tensor.shape[-1]) for tensor in (X_hat, dY))
    sums, handle = buffer(2 * dy.shape[1], torch.float32, dy.device)
    extension.local_sums(x_hat, dy, sums)
    handle.barrier(channel=0)
    both = extension.total_sums(handle.buffer_ptrs_dev, handle.world_size, dy)
    handle.barrier(channel=0)
    return both
"""

_EMBEDDING = """
def solution(indices, local_shard):
    handle = shared(local_shard)
    height = local_shard.shape[0]
    order = indices[(indices // height).argsort(stable=True)].contiguous()
    out = local_shard.new_empty(len(indices), local_shard.shape[1])
    extension.rows_of(order, handle.buffer_ptrs_dev, height, out)
    handle.barrier(channel=0)
    return out
"""

_GEMM = """
def solution(A_local, B_local):
    rows, columns = A_local.shape[0], B_local.shape[1]
    made, handle = buffer(rows * columns, A_local.dtype, A_local.device)
    extension.gemm(A_local.contiguous(), B_local.contiguous(), made.view(rows, columns))
    handle.barrier(channel=0)
    out = A_local.new_empty(rows, columns)
    extension.sum_of_peers(handle.buffer_ptrs_dev, handle.world_size, out)
    handle.barrier(channel=0)
    return out
"""

_WMMA = """
def solution(A_local, B_local):
    rows, columns = A_local.shape[0], B_local.shape[1]
    made, handle = buffer(rows * columns, torch.float32, A_local.device)
    extension.product(A_local.contiguous(), B_local.contiguous(), made.view(rows, columns))
    handle.barrier(channel=0)
    out = A_local.new_empty(rows // handle.world_size, columns)
    extension.sum_block(handle.buffer_ptrs_dev, handle.world_size, handle.rank, out)
    handle.barrier(channel=0)
    return out
"""

_RMS_NORM = """
def solution(local_hidden_states, local_weight, variance_epsilon):
    x = local_hidden_states.contiguous()
    sums, handle = buffer(x.numel() // x.shape[-1], torch.float32, x.device)
    extension.row_squares(x, sums)
    handle.barrier(channel=0)
    out = extension.apply(
        x, local_weight.contiguous(), handle.buffer_ptrs_dev, handle.world_size, variance_epsilon
    )
    handle.barrier(channel=0)
    return out
"""

_QUANTIZE = """
def solution(local_tensor, block_size=128):
    x = local_tensor.contiguous()
    codes = torch.empty(x.shape, dtype=torch.float8_e4m3fn, device=x.device)
    scales = torch.empty(*x.shape[:-1], x.shape[-1] // block_size, device=x.device)
    extension.quantize_blocks(x, codes, scales, block_size=block_size)
    both = []
    for part in (codes.view(torch.uint8), scales):
        handle = shared(part)
        peers = [handle.get_buffer(rank, part.shape, part.dtype) for rank in range(handle.world_size)]
        both.append(torch.cat(peers))
        handle.barrier(channel=0)
    return both[0].view(torch.float8_e4m3fn), both[1]
"""

_DEQUANTIZE = """
def solution(local_y, local_s, block_size=128):
    codes, scales = shared(local_y), shared(local_s)
    out = extension.dequantize_chunks(
        codes.buffer_ptrs_dev, scales.buffer_ptrs_dev, codes.rank, local_y.contiguous(), block_size
    )
    codes.barrier(channel=0)
    return out
"""

_CLIP = """
def solution(grad_tensors, max_norm, norm_type=2.0, fsdp_group=None):
    device = next(gradient for gradient in grad_tensors if gradient is not None).device
    total = torch.zeros(1, device=device)
    extension.add_powers(list(grad_tensors), power=norm_type, total=total)
    if fsdp_group is not None:
        dist.all_reduce(total, group=fsdp_group)
    norm = total[0] ** (1 / norm_type)
    if norm > max_norm:
        extension.scale_all([gradient for gradient in grad_tensors if gradient is not None], float(max_norm / norm))
    return norm
"""

_INT8 = """
def solution(flat_grad, block_size=128):
    if flat_grad.numel() == 0:
        return flat_grad.clone()
    x = flat_grad.contiguous()
    blocks = -(-x.numel() // block_size)
    codes, codes_handle = buffer(blocks * block_size, torch.int8, x.device)
    scales, scales_handle = buffer(blocks, torch.float32, x.device)
    extension.encode_blocks(x, block_size, codes, scales)
    codes_handle.barrier(channel=0)
    pointers = codes_handle.buffer_ptrs_dev, scales_handle.buffer_ptrs_dev
    out = extension.mean(*pointers, codes_handle.world_size, block_size, x)
    codes_handle.barrier(channel=0)
    return out
"""

_MEAN_NORM = """
def solution(rs_input_1d, gamma, eps):
    handle = shared(rs_input_1d)
    chunk = rs_input_1d.numel() // handle.world_size
    out = extension.mean_norm(
        handle.buffer_ptrs_dev, handle.rank, handle.world_size, chunk, gamma.contiguous(), eps
    )
    handle.barrier(channel=0)
    return out
"""

_GEMV = """
def solution(hidden_states, weight_shard, bias_shard):
    tokens, outputs = hidden_states.shape[0], weight_shard.shape[0]
    made, handle = buffer(tokens * outputs * dist.get_world_size(), hidden_states.dtype, hidden_states.device)
    handle.barrier(channel=0)
    inputs = (tensor.contiguous() for tensor in (hidden_states, weight_shard, bias_shard))
    extension.push(*inputs, handle.buffer_ptrs_dev, handle.rank, handle.world_size)
    handle.barrier(channel=0)
    return made.view(tokens, -1).clone()
"""

_ADAM = """
def solution(grad_shard, master_shard, exp_avg, exp_avg_sq, lr, beta1, beta2, eps, step):
    shards = [tensor.contiguous() for tensor in (grad_shard, master_shard, exp_avg, exp_avg_sq)]
    made, handle = buffer(grad_shard.numel(), grad_shard.dtype, grad_shard.device)
    extension.step(*shards, made, rate=lr, beta1=beta1, beta2=beta2, eps=eps, number=step)
    handle.barrier(channel=0)
    out = torch.cat([handle.get_buffer(rank, made.shape, made.dtype) for rank in range(handle.world_size)])
    handle.barrier(channel=0)
    return out
"""

SOLUTIONS: Mapping[str, tuple[int, str]] = {
    "adam_allgather": (43, _ADAM),
    "allgather_copies": (2, _ALL_GATHER),
    "allreduce_dispatch": (1, _ALL_REDUCE),
    "allreduce_signal_pads": (1, _SIGNAL_PADS),
    "alltoall_lambda": (8, _ALL_TO_ALL),
    "broadcast_words": (3, _BROADCAST),
    "clip_tensor_list": (21, _CLIP),
    "embedding_rows": (10, _EMBEDDING),
    "fp8_dequantize": (20, _DEQUANTIZE),
    "fp8_quantize": (19, _QUANTIZE),
    "gather_blob": (6, _GATHER),
    "gemm_cublas": (13, _GEMM),
    "gemm_wmma": (16, _WMMA),
    "gemv_push": (46, _GEMV),
    "int8_mean": (44, _INT8),
    "layernorm_backward": (9, _LAYERNORM),
    "reduce_all_types": (4, _REDUCE),
    "reducescatter_half2": (7, _REDUCE_SCATTER),
    "reducescatter_rmsnorm": (45, _MEAN_NORM),
    "rms_norm_warps": (18, _RMS_NORM),
    "scatter_guard": (5, _SCATTER),
}

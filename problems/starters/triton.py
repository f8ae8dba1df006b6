"""Kernels in Triton: the text of each kind."""

from __future__ import annotations

from collections.abc import Mapping

_IMPORT = """\
if USE_KERNEL:
    import triton
    import triton.language as tl

"""
_BUFFER = '''\
@functools.cache
def _buffer(count: int, dtype: torch.dtype, device: torch.device) -> tuple[torch.Tensor, Any, torch.Tensor]:
    """A buffer that all ranks can reach, its handle, and the table of addresses at which this device sees each rank's.

    All ranks ask for the same sizes in the same order. handle.get_buffer(r, sizes, dtype) is rank r's buffer as a
    tensor. NVLink multicast (handle.multicast_ptr) is not used.
    """
    import torch.distributed._symmetric_memory as symmetric_memory

    buffer = symmetric_memory.empty(count, dtype=dtype, device=device)
    handle = symmetric_memory.rendezvous(buffer, dist.group.WORLD)
    inside = buffer.data_ptr() - handle.buffer_ptrs[handle.rank]  # a buffer may lie inside a larger one
    addresses = [base + inside for base in handle.buffer_ptrs]
    return buffer, handle, torch.tensor(addresses, dtype=torch.int64, device=device)


'''

_SUM = f'''\
{_IMPORT}    @triton.jit
    def _sum_of_ranks_kernel(peers, first, last, out, count, WIDE: tl.constexpr, BLOCK: tl.constexpr):
        """out[i] = sum of rank r's i-th element over first <= r < last; peers[r] is the address of rank r's buffer."""
        place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = place < count
        total = tl.zeros((BLOCK,), dtype=WIDE)
        for rank in range(first, last):
            source = tl.load(peers + rank).to(tl.pointer_type(out.dtype.element_ty))
            total += tl.load(source + place, mask=inside, other=0.0).to(WIDE)
        tl.store(out + place, total.to(out.dtype.element_ty), mask=inside)


{_BUFFER}def _sum_of_ranks(tensor: torch.Tensor, first: int, last: int) -> torch.Tensor:
    """The sum of what the ranks from first to last - 1 pass. All ranks call it together, with equal shapes."""
    buffer, handle, peers = _buffer(tensor.numel(), tensor.dtype, tensor.device)
    buffer.copy_(tensor.reshape(-1))
    handle.barrier(channel=0)  # every rank has written
    out = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    grid = (triton.cdiv(out.numel(), 1024),)
    wide = tl.float64 if tensor.dtype == torch.float64 else tl.float32
    _sum_of_ranks_kernel[grid](peers, first, last, out, out.numel(), WIDE=wide, BLOCK=1024)
    handle.barrier(channel=0)  # every rank has read: the next call may overwrite
    return out
'''

_COPY = f'''\
{_IMPORT}    @triton.jit
    def _copy_kernel(peers, rank, out, count, BLOCK: tl.constexpr):
        """out[i] = the i-th element of a rank's buffer; peers[r] is the address of rank r's buffer."""
        place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = place < count
        source = tl.load(peers + rank).to(tl.pointer_type(out.dtype.element_ty))
        tl.store(out + place, tl.load(source + place, mask=inside), mask=inside)


{_BUFFER}def _from_rank(tensor: torch.Tensor, rank: int) -> torch.Tensor:
    """What a rank passes. All ranks call it together, with equal shapes; each may ask for another rank."""
    buffer, handle, peers = _buffer(tensor.numel(), tensor.dtype, tensor.device)
    buffer.copy_(tensor.reshape(-1))
    handle.barrier(channel=0)  # every rank has written
    out = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    _copy_kernel[(triton.cdiv(out.numel(), 1024),)](peers, rank, out, out.numel(), BLOCK=1024)
    handle.barrier(channel=0)  # every rank has read: the next call may overwrite
    return out
'''

_TILE = f'''\
{_IMPORT}    @triton.jit
    def _scale_kernel(tensor, factor, out, count, WIDE: tl.constexpr, BLOCK: tl.constexpr):
        place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = place < count
        scaled = tl.load(tensor + place, mask=inside).to(WIDE) * factor.to(WIDE)
        tl.store(out + place, scaled.to(out.dtype.element_ty), mask=inside)


def _scaled(tensor: torch.Tensor, factor: float) -> torch.Tensor:
    """This rank's elements times a factor."""
    tensor = tensor.contiguous()
    out = torch.empty_like(tensor)
    grid = (triton.cdiv(out.numel(), 1024),)
    wide = tl.float64 if tensor.dtype == torch.float64 else tl.float32
    _scale_kernel[grid](tensor, factor, out, out.numel(), WIDE=wide, BLOCK=1024)
    return out
'''

TEXTS: Mapping[str, str] = {"sum": _SUM, "copy": _COPY, "tile": _TILE}
"""Python text by kind."""

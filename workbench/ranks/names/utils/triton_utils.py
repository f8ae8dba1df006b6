"""Steps between ranks for Triton kernels: a peer's buffer by its address, signals, and a barrier of all ranks.

The tables come from a buffer of :mod:`utils.symmetric`, or from any symmetric-memory handle::

    mine = symmetric.buffer((1024,), torch.float32)
    kernel[grid](mine.table, mine.signal_table, mine.rank, mine.world, ...)

No NVLink multicast takes part. Kernels that use this also run on CPU ranks, under Triton's interpreter: there, a shared
buffer is to be reached by its address, since the interpreter hands kernels copies of the tensors they are called with.
"""

from __future__ import annotations

try:
    import triton  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found,import-untyped,unused-ignore]
except ImportError as error:
    raise ImportError(
        f"utils.triton_utils needs Triton ({error}): pip install triton, in the ranks' interpreter"
    ) from None


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def peer(table, rank, like):  # type: ignore[no-untyped-def]
    """A pointer to a rank's buffer, of the type of the pointer ``like``; ``table`` holds the addresses."""
    return tl.load(table + rank).to(like.dtype)


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def signal(signal_table, receiver, slot):  # type: ignore[no-untyped-def]
    """Set a slot of a rank's signal pad; what this program has written before is seen by who waits for it."""
    pad = tl.load(signal_table + receiver).to(tl.pointer_type(tl.int32)) + slot
    tl.debug_barrier()
    while tl.atomic_cas(pad, 0, 1, sem="release", scope="sys") != 0:
        pass


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def wait(signal_table, rank, slot):  # type: ignore[no-untyped-def]
    """Wait until a slot of this rank's own signal pad is set, and clear it."""
    pad = tl.load(signal_table + rank).to(tl.pointer_type(tl.int32)) + slot
    while tl.atomic_cas(pad, 1, 0, sem="acquire", scope="sys") != 1:
        pass
    tl.debug_barrier()


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def barrier(signal_table, rank, world, channel):  # type: ignore[no-untyped-def]
    """Wait until the programs that use this channel are here on all ranks.

    One program a rank uses a channel: its program id, say, from 1 on (``Buffer.barrier`` uses channel 0). All of a
    grid's programs that wait must fit on the GPU at once.
    """
    for receiver in range(world):
        signal(signal_table, receiver, channel * world + rank)
    for sender in range(world):
        wait(signal_table, rank, channel * world + sender)

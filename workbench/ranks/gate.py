"""A gate in front of each timed call: work that is queued behind it starts on all ranks at once, without launch gaps.

On a GPU the gate is one small kernel. It tells the other ranks' GPUs, through memory that all share, that it is there;
waits until all are; then until every rank's host has queued its whole call, as long as its patience lasts: a call that
waits for its device inside would never come to its end behind a gate that stays shut. While it waits it measures the
clock of its multiprocessor. NVRTC compiles it once a rank, before candidate code is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from workbench.ranks.names.utils import kernels
from workbench.ranks.shared import SLOT, Field, Slots

_LEAST_NS = 100_000
"""A shorter look at the clock is off by more than 2%."""
_ARRIVAL_NS = 10_000_000_000
"""How long a GPU waits for the others; a rank that never arrives has died, and its set is ended by the parent."""
_SPIN_CYCLES = 400_000
"""About 0.2 ms at 2 GHz."""
_THREADS = 32

SOURCE = "".join(
    f"#define {name} {value}\n"
    for name, value in {
        **{f"F_{field.name}": int(field) for field in Field},
        "SLOT": SLOT,
        "LEAST": f"{_LEAST_NS}LL",
        "ARRIVAL": f"{_ARRIVAL_NS}LL",
    }.items()
)
SOURCE += r"""
__device__ long long now_ns()
{
    long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

extern "C" __global__ void gate(long long* memory, int rank, int world, int epoch, long long patience)
{
    volatile long long* slots = memory;
    volatile long long* own = slots + rank * SLOT;
    const long long began = now_ns(), first_cycle = clock64();
    __shared__ int held;
    if (threadIdx.x == 0) {
        held = 0;
        own[F_ARRIVED] = epoch;
        __threadfence_system();
    }
    __syncthreads();
    for (int r = threadIdx.x; r < world; r += blockDim.x)
        while (slots[r * SLOT + F_ARRIVED] < epoch && now_ns() - began < ARRIVAL) {}
    __syncthreads();
    const long long arrived = now_ns();
    for (int r = threadIdx.x; r < world; r += blockDim.x)
        while (slots[r * SLOT + F_QUEUED] < epoch)
            if (now_ns() - arrived > patience) {
                held = 1;
                break;
            }
    while (now_ns() - arrived < LEAST) {}
    __syncthreads();
    if (threadIdx.x == 0) {
        own[F_SHUT_NS] = now_ns() - began;
        own[F_SHUT_CYCLES] = clock64() - first_cycle;
        own[F_HELD] = held;
        __threadfence_system();
    }
}
"""


@dataclass(frozen=True)
class Opened:
    """What a gate saw while it was shut: the multiprocessors' clock in MHz (0 = not measured), and whether its
    patience ended before all hosts had queued their call."""

    mhz: int = 0
    held: bool = False


class Gate(Protocol):
    """Stands between the alignment of the hosts and a timed call."""

    holds: bool
    """Whether work that is queued after ``shut`` waits for the other ranks."""

    def shut(self, epoch: int, patience_ns: int) -> None:
        """Hold back what is queued on the current stream from now on, for hosts at most ``patience_ns``.

        ``epoch`` counts up, alike on all ranks.
        """

    def queued(self, epoch: int) -> None:
        """This rank's host has queued its whole call."""

    def opened(self) -> Opened:
        """What the gate saw; ask when the call has ended."""


class OpenGate:
    """Holds nothing back: calls on the CPU begin when they are made."""

    holds = False

    def shut(self, epoch: int, patience_ns: int) -> None:
        """Nothing to do."""

    def queued(self, epoch: int) -> None:
        """Nothing to do."""

    def opened(self) -> Opened:
        """Nothing was seen."""
        return Opened()


class SpinGate:
    """A spin of fixed length where the kernel cannot be built; other ranks' gates do not wait for it."""

    holds = True

    def __init__(self, slots: Slots, rank: int) -> None:
        self._slots, self._rank = slots, rank
        self._spin: Callable[[int], None] = torch.cuda._sleep

    def shut(self, epoch: int, patience_ns: int) -> None:
        """Keep the GPU busy for about 0.2 ms."""
        self._slots.put(self._rank, Field.ARRIVED, epoch)
        self._spin(_SPIN_CYCLES)

    def queued(self, epoch: int) -> None:
        """Tell the others' gates."""
        self._slots.put(self._rank, Field.QUEUED, epoch)

    def opened(self) -> Opened:
        """A spin sees nothing."""
        return Opened()


class KernelGate:
    """The kernel. Raises whatever keeps it from being built, or from reaching the shared memory."""

    holds = True

    def __init__(self, slots: Slots, rank: int) -> None:
        self._slots, self._rank = slots, rank
        self._address = _registered(slots)
        self._kernel = kernels.compile(SOURCE, "gate")
        self._kernel(1, _THREADS, self._address, rank, 0, 0, 0)  # loads it, and waits for nobody
        torch.cuda.synchronize()
        if not self.opened().mhz:
            raise RuntimeError("the gate left no trace in the shared memory")

    def shut(self, epoch: int, patience_ns: int) -> None:
        """Launch the kernel on the current stream."""
        self._kernel(1, _THREADS, self._address, self._rank, self._slots.world, epoch, patience_ns)

    def queued(self, epoch: int) -> None:
        """Let the GPUs go on, once all hosts have said so."""
        self._slots.put(self._rank, Field.QUEUED, epoch)

    def opened(self) -> Opened:
        """Clock and patience, as the kernel left them in this rank's slot."""
        ns, cycles, held = (self._slots.get(self._rank, field) for field in _SEEN)
        return Opened(mhz=round(cycles * 1e3 / ns) if ns > 0 else 0, held=bool(held))


_SEEN = (Field.SHUT_NS, Field.SHUT_CYCLES, Field.HELD)


def make_gate(device: str, slots: Slots, rank: int) -> Gate:
    """The best gate there is for a rank on a device of that name."""
    if device == "cpu":
        return OpenGate()
    try:
        return KernelGate(slots, rank)
    except Exception:  # whatever is missing, timing goes on with a spin and says so
        return SpinGate(slots, rank)


def _registered(slots: Slots) -> int:
    """The slots' address, from now on the same for kernels; they stay in the host's memory."""
    memory = torch.frombuffer(slots.memory, dtype=torch.uint8)
    status = torch.cuda.cudart().cudaHostRegister(memory.data_ptr(), memory.numel(), 0)
    if int(status):
        raise RuntimeError(f"CUDA error {int(status)} on registering shared memory")
    return memory.data_ptr()

"""One process with two GPUs: measures what moves data between them, one mechanism at a time.

No process group and no multicast takes part: PyTorch's copies between devices open the way for peer access, and
kernels then use the other GPU's memory by its address.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import torch

from workbench.ranks.channel import Channel, Message
from workbench.ranks.copy_kernels import KERNELS, Launch, build
from workbench.ranks.transfer import POISON, answer, mechanism, pattern

_GPUS = (0, 1)
_WARM_UP = 2
_SPIN_CYCLES = 1_000_000
_SPIN_CYCLES_A_LAUNCH = 60_000
"""Together longer than the host takes to queue the launches, so that their gaps do not count."""
COPY_ENGINE = "copy engine"


@dataclass(frozen=True)
class Lane:
    """Data on their way from one GPU to another, with a stream on each for all that this lane does."""

    source: torch.Tensor
    target: torch.Tensor
    streams: dict[int, torch.cuda.Stream]

    @staticmethod
    def make(sender: int, receiver: int, count: int) -> Lane:
        """A lane for messages of ``count`` int32 numbers, its source filled and its target poisoned."""
        target = torch.full((count,), POISON, dtype=torch.int32, device=f"cuda:{receiver}")
        source = pattern(count, sender, torch.device("cuda", sender))
        return Lane(source, target, {gpu: torch.cuda.Stream(gpu) for gpu in (sender, receiver)})

    def verified(self) -> bool:
        """Whether the target holds the sender's data."""
        expected = pattern(self.target.numel(), self.source.get_device(), self.target.device)
        return torch.equal(self.target, expected)


@dataclass(frozen=True)
class Mover:
    """How one mechanism moves a message, and on which of a lane's GPUs: the sender's or the receiver's."""

    by_sender: bool
    move: Callable[[Lane, int, torch.cuda.Stream], None]
    blocks: int = 0

    def stream(self, lane: Lane) -> torch.cuda.Stream:
        """The stream whose work the move is."""
        return lane.streams[(lane.source if self.by_sender else lane.target).get_device()]


class PeerLinks:
    """Measures transfers between GPU 0 and GPU 1. One way, GPU 0's data go to GPU 1."""

    def __init__(self, control: Channel) -> None:
        self._control = control
        self._left_out: dict[str, str] = {}
        self._movers: dict[str, Mover] = {}

    def main(self) -> None:
        """Find out which mechanisms there are, then serve until the parent is gone."""
        self._movers[COPY_ENGINE] = Mover(True, _copy)
        for gpu, other in (_GPUS, _GPUS[::-1]):
            # The first copy of each direction is what makes PyTorch enable peer access.
            torch.ones(1, device=f"cuda:{gpu}").copy_(torch.zeros(1, device=f"cuda:{other}"))
        for name in KERNELS:
            self._add_kernel(name)
        self._control.send({"event": "ready", "torch": torch.__version__})
        answer(self._control, {"mechanisms": self._mechanisms, "measure": self._measure})

    def _add_kernel(self, name: str) -> None:
        obstacle, launches = _obstacle(name), {}
        if not obstacle:
            try:
                launches = {gpu: build(KERNELS[name], gpu) for gpu in _GPUS}
            except Exception as error:  # the other mechanisms are measured whatever goes wrong here
                obstacle = f"its kernel cannot be compiled: {type(error).__name__}: {error}"
        for way, by_sender in (("load", False), ("store", True)):
            if obstacle:
                self._left_out[f"{name} {way}"] = obstacle
            else:
                blocks = KERNELS[name].blocks_per_sm * torch.cuda.get_device_properties(0).multi_processor_count
                self._movers[f"{name} {way}"] = Mover(by_sender, _kernel_move(launches), blocks)

    def _mechanisms(self, _message: Message) -> Message:
        found = [mechanism(name, mover.blocks) for name, mover in self._movers.items()]
        return {"mechanisms": found, "left_out": self._left_out}

    def _measure(self, message: Message) -> Message:
        """ns of each timed call and whether the data are right; a call is ``inner`` messages, one after another."""
        mover, count = self._movers[message["mechanism"]], message["bytes"] // 4
        ways = (_GPUS, _GPUS[::-1])[: 2 if message["two_way"] else 1]
        lanes = [Lane.make(sender, receiver, count) for sender, receiver in ways]
        blocks = message["blocks"] or mover.blocks
        times = [_timed(mover, lanes, blocks, message["inner"]) for _ in range(_WARM_UP + message["calls"])]
        return {"ns": times[_WARM_UP:], "verified": all(lane.verified() for lane in lanes)}


def _timed(mover: Mover, lanes: list[Lane], blocks: int, inner: int) -> int:
    """ns from the common start of all lanes to the end of the last, by events on the first lane's stream."""
    streams = [mover.stream(lane) for lane in lanes]
    lead = streams[0]
    for gpu in _GPUS:
        torch.cuda.synchronize(gpu)
    with torch.cuda.stream(lead):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(_SPIN_CYCLES + _SPIN_CYCLES_A_LAUNCH * inner * len(lanes))
        begin.record(lead)
    for stream in streams[1:]:
        stream.wait_event(begin)
    for _ in range(inner):
        for lane, stream in zip(lanes, streams):
            mover.move(lane, blocks, stream)
    for stream in streams[1:]:
        lead.wait_event(stream.record_event())
    end.record(lead)
    end.synchronize()
    return int(begin.elapsed_time(end) * 1e6)


def _copy(lane: Lane, _blocks: int, _stream: torch.cuda.Stream) -> None:
    """PyTorch's copy between devices: cudaMemcpyAsync on the sender's stream, which the receiver's then waits for."""
    with contextlib.ExitStack() as stack:
        for stream in lane.streams.values():
            stack.enter_context(torch.cuda.stream(stream))
        lane.target.copy_(lane.source, non_blocking=True)


def _kernel_move(launches: dict[int, Launch]) -> Callable[[Lane, int, torch.cuda.Stream], None]:
    def move(lane: Lane, blocks: int, stream: torch.cuda.Stream) -> None:
        launches[stream.device_index](lane.target, lane.source, blocks, stream)

    return move


def _obstacle(name: str) -> str:
    """What keeps a kernel from running on this pair; empty when nothing does."""
    least = KERNELS[name].capability
    if not all(torch.cuda.can_device_access_peer(gpu, other) for gpu, other in (_GPUS, _GPUS[::-1])):
        return "GPU 0 and GPU 1 cannot reach each other's memory (no peer access)"
    if any(torch.cuda.get_device_capability(gpu) < least for gpu in _GPUS):
        return f"needs GPUs of compute capability {least[0]}.{least[1]} or later"
    return ""

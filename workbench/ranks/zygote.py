"""The zygote: has torch imported and no device touched; forks sets of ranks, drains their output, ends them.

It runs no user code and no tensor operation, keeps to one thread, and serves one parent. When the parent's end of the
channel closes - it quit, was killed, or its terminal went away - the zygote ends every rank and every process that a
rank left behind, and exits. Ranks themselves die with the zygote.

Requests: ``fork`` {set, role, world, device, shared_gpus, threads, pitch, dir, store} with the ranks' descriptors,
``kill`` {set}, ``stacks`` {set}, ``output`` {set}; shared_gpus is how many GPUs the ranks share, 0 = each has one of
its own; pitch: candidate and baseline ranks measure how fast their GPUs start small kernels.
Reports: ``started`` {torch}, ``forked`` {set, pids}, ``exit`` {set, rank, code, signal, at, stack}, ``log`` {set, rank,
stream, text}, ``output`` {set}, ``stacks`` {set, stacks}, ``gone`` {set}.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import selectors
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from workbench.ranks.become import adopt_orphans, become_rank, flush_output, rank_environment, rank_gpu
from workbench.ranks.channel import Channel, Message
from workbench.ranks.output import OutputPump
from workbench.ranks.shared import Region, Slots, shared_fd

_STACK_WAIT_S = 0.25
_MAX_STACK = 64 << 10
_SPIN_NS = 2_000_000
_CORES_A_RANK = 4
_BEFORE_GPU_RANKS = ("torch.distributed._symmetric_memory", "torch.fx.experimental.symbolic_shapes")
"""What symmetric memory imports when a rank first makes some: 0.2 s of that rank's first call."""
_FDS_PER_RANK = {"judge": 1, "baseline": 4, "candidate": 4, "links": 3, "peers": 1}


class RankProcess:
    """One forked rank as the zygote knows it."""

    def __init__(self, pid: int, set_id: int, rank: int, stacks: int) -> None:
        self.pid = pid
        self.set_id = set_id
        self.rank = rank
        self.stacks = stacks
        self._read = 0

    def new_stacks(self) -> str:
        """What faulthandler wrote since the last look."""
        size = os.fstat(self.stacks).st_size
        start, self._read = max(self._read, size - _MAX_STACK), size
        return os.pread(self.stacks, size - start, start).decode(errors="replace")


class Zygote:
    """The event loop over the parent's channel, ranks' output and deaths of children."""

    def __init__(self, control: Channel) -> None:
        self._control = control
        self._selector = selectors.DefaultSelector()
        self._ranks: dict[int, RankProcess] = {}
        self._pumps: dict[int, OutputPump] = {}
        self._dying: set[int] = set()
        self._wake_read, self._wake_write = os.pipe()
        for fd in (self._wake_read, self._wake_write):
            os.set_blocking(fd, False)

    def run(self) -> None:
        """Serve until the parent is gone."""
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        adopt_orphans()
        self._selector.register(self._control, selectors.EVENT_READ)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        try:
            while self._step():
                pass
        finally:
            self._end_everything()

    def _step(self) -> bool:
        for key, _mask in self._selector.select(self._patience()):
            if key.fileobj is self._control:
                message = self._control.receive()
                if message is None:
                    return False
                _REQUESTS[message["op"]](self, message)
            elif key.fd == self._wake_read:
                _drain(self._wake_read)
            else:
                self._pump(key.fd)
        self._reap()
        for pump in tuple(self._pumps.values()):
            self._report(pump.due())
        return True

    def _patience(self) -> float | None:
        """Seconds until held-back output is due; None when there is none."""
        return 0.05 if any(pump.pending for pump in self._pumps.values()) else None

    def _fork(self, message: Message) -> None:
        fds, world = self._control.fds, message["world"]
        if message["device"] == "cuda" and message["role"] in ("baseline", "candidate"):
            _import_once(_BEFORE_GPU_RANKS)
        per_rank = _FDS_PER_RANK[message["role"]]
        slots = Slots(world)
        pids = []
        for rank in range(world):
            own = fds[rank * per_rank : (rank + 1) * per_rank]
            pids.append(self._fork_rank(message, rank, own, slots))
        for fd in fds:
            os.close(fd)
        self._report({"event": "forked", "set": message["set"], "pids": pids})

    def _fork_rank(self, message: Message, rank: int, fds: list[int], slots: Slots) -> int:
        stacks = shared_fd("stacks")
        output, errors = os.pipe(), os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _rank_main(message, rank, fds, slots, parent, (output[1], errors[1], stacks))
        for fd in (output[1], errors[1]):
            os.close(fd)
        self._ranks[pid] = RankProcess(pid, message["set"], rank, stacks)
        for fd, stream in ((output[0], "stdout"), (errors[0], "stderr")):
            os.set_blocking(fd, False)
            self._pumps[fd] = OutputPump(fd, message["set"], rank, stream)
            self._selector.register(fd, selectors.EVENT_READ)
        return pid

    def _pump(self, fd: int) -> None:
        pump = self._pumps[fd]
        if not pump.read():
            self._report(pump.flush(final=True))
            self._selector.unregister(fd)
            os.close(fd)
            del self._pumps[fd]

    def _reap(self) -> None:
        for pid, status in _dead_children():
            rank = self._ranks.pop(pid, None)
            if rank is not None:
                self._flush_output(rank)
                self._report(_death(rank, status))
                os.close(rank.stacks)
        for set_id in tuple(self._dying):
            if all(rank.set_id != set_id for rank in self._ranks.values()):
                self._end_orphans()
                self._dying.discard(set_id)
                self._report({"event": "gone", "set": set_id})

    def _flush_output(self, rank: RankProcess) -> None:
        for fd, pump in tuple(self._pumps.items()):
            if (pump.set_id, pump.rank) == (rank.set_id, rank.rank):
                while pump.read(once=True):
                    pass
                self._report(pump.flush(final=True))
                self._selector.unregister(fd)
                os.close(fd)
                del self._pumps[fd]

    def _kill(self, message: Message) -> None:
        for rank in self._of(message["set"]):
            _kill_group(rank.pid)
        self._dying.add(message["set"])

    def _stacks(self, message: Message) -> None:
        ranks = self._of(message["set"])
        for rank in ranks:
            rank.new_stacks()
            os.kill(rank.pid, signal.SIGUSR1)
        time.sleep(_STACK_WAIT_S)
        stacks = {str(rank.rank): rank.new_stacks() for rank in ranks}
        self._report({"event": "stacks", "set": message["set"], "stacks": stacks})

    def _output(self, message: Message) -> None:
        """Pass on at once what the ranks have printed until now."""
        for pump in self._pumps.values():
            if pump.set_id == message["set"]:
                pump.read()
                self._report(pump.flush())
        self._report({"event": "output", "set": message["set"]})

    def _of(self, set_id: int) -> list[RankProcess]:
        return [rank for rank in self._ranks.values() if rank.set_id == set_id]

    def _end_orphans(self) -> None:
        """End what ranks left behind: children of this process that it did not fork."""
        while strangers := [pid for pid in _children() if pid not in self._ranks]:
            for pid in strangers:
                _kill_group(pid)
                _wait_for(pid)

    def _end_everything(self) -> None:
        for rank in tuple(self._ranks.values()):
            _kill_group(rank.pid)
            _wait_for(rank.pid)
        self._ranks.clear()
        self._end_orphans()

    def _report(self, message: Message | None) -> None:
        if message is not None:
            with contextlib.suppress(OSError):  # the parent is gone; the next read of its channel ends the loop
                self._control.send(message)


_REQUESTS: dict[str, Any] = {
    "fork": Zygote._fork,
    "kill": Zygote._kill,
    "stacks": Zygote._stacks,
    "output": Zygote._output,
}


def _rank_main(
    message: Message, rank: int, fds: list[int], slots: Slots, parent: int, own: tuple[int, int, int]
) -> None:
    """The child's side of a fork; never returns."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        become_rank(parent, *own, keep=fds)
        rank_environment(rank, message["world"], f"{message['dir']}/rank-{rank}", message["shared_gpus"])
        _serve(message, rank, fds, slots)
        code = 0
    except BaseException as error:
        os.write(2, "".join(traceback.format_exception(error)).encode())
    finally:
        flush_output()
        os._exit(code)


def _serve(message: Message, rank: int, fds: list[int], slots: Slots) -> None:
    from workbench.ranks.candidate import CandidateRank, RankPlace
    from workbench.ranks.judge import JudgeRank
    from workbench.ranks.links import LinkRank
    from workbench.ranks.peers import PeerLinks

    place = RankPlace(
        rank=rank,
        world=message["world"],
        device=message["device"],
        gpu=rank_gpu(rank, message["shared_gpus"]),
        pitch=message["pitch"],
        threads=message["threads"],
        store=message["store"],
        slots=slots,
    )
    spin_ns = _spin_ns(message["device"], message["world"])
    if message["role"] == "judge":
        JudgeRank(rank, message["threads"], Channel(fds[0], takes_fds=True), spin_ns).main()
    elif message["role"] == "links":
        LinkRank(place, Channel(fds[0]), Region(fds[1]), Region(fds[2])).main()
    elif message["role"] == "peers":
        PeerLinks(Channel(fds[0])).main()
    else:
        judge = Channel(fds[1], spin_ns=spin_ns)
        CandidateRank(place, Channel(fds[0]), judge, Region(fds[2]), Region(fds[3])).main()


def _spin_ns(device: str, world: int) -> int:
    """How long judges and GPU ranks look for each other's messages before they sleep: cores must be left for others."""
    return _SPIN_NS if device == "cuda" and (os.cpu_count() or 1) >= _CORES_A_RANK * world else 0


def _import_once(names: Iterable[str]) -> None:
    """Import modules for all ranks that are forked from now on, those that this torch has."""
    missing = [name for name in names if name not in sys.modules]
    for name in missing:
        with contextlib.suppress(Exception):  # whatever keeps one from being imported, ranks do without
            importlib.import_module(name)
    if missing:
        gc.collect()
        gc.freeze()


def _death(rank: RankProcess, status: int) -> Message:
    signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
    report = {"event": "exit", "set": rank.set_id, "rank": rank.rank, "code": code, "signal": signalled}
    return {**report, "at": time.perf_counter_ns(), "stack": rank.new_stacks()}


def _dead_children() -> list[tuple[int, int]]:
    dead: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return dead
        if not pid:
            return dead
        dead.append((pid, status))


def _children() -> list[int]:
    """Living children by /proc; none where there is no /proc."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    try:
        return [int(pid) for pid in path.read_text().split()]
    except OSError:
        return []


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _wait_for(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _drain(fd: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(fd, 4096):
            pass


def main(fd: int, directory: str) -> None:
    """Import torch, tell the parent, serve it; at the end remove the folder of the ranks' scratch files."""
    try:
        _main(fd)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _main(fd: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = Channel(fd, takes_fds=True)
    try:
        import torch
        import torch.distributed

        from workbench.ranks import candidate, judge, links, peers  # noqa: F401
    except ImportError as error:
        control.send({"event": "failed", "detail": str(error), "python": sys.executable})
        return
    # a name that torch is about to rename is no news to people who write kernels, and would fill every log
    warnings.filterwarnings("ignore", r"`torch\.distributed\.\w+` is deprecated", FutureWarning)
    gc.collect()
    gc.freeze()
    control.send({"event": "started", "torch": torch.__version__, "python": sys.version.split()[0]})
    Zygote(control).run()

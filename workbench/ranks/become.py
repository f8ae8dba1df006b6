"""What a freshly forked process does to become a rank: own session, limits, output, dying with its parent."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_STDOUT = "stdout" if sys.platform == "linux" else "__stdoutp"
_IOLBF = 1
# NCCL takes two ranks on one GPU only for ranks of two hosts, which talk through sockets.
_SHARING = {"NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1", "TORCH_SYMM_MEM_ALLOW_OVERLAPPING_DEVICES": "1"}


def prctl(option: int, value: int) -> None:
    """Linux's prctl; nothing elsewhere."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants, so that it can end them."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Be killed when ``parent`` dies, and now if it is gone already."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def become_rank(parent: int, output: int, errors: int, stacks: int, keep: Iterable[int]) -> None:
    """Own session and process group, parent's death signal, no core files, stdin empty, output into the two pipes.

    ``stacks`` receives Python stacks on SIGUSR1 and on a fatal signal. Only the descriptors in ``keep`` stay open.
    """
    os.setsid()
    die_with_parent(parent)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (output, 1), (errors, 2)):
        os.dup2(source, target)
    _close_all_but({0, 1, 2, stacks, *keep})
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    _show_lines_of_printf()
    faulthandler.enable(file=stacks, all_threads=True)
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)


def rank_environment(rank: int, world: int, home: str, shared_gpus: int = 0) -> None:
    """The few variables that launchers set for a rank, an empty home, and a scratch folder as working directory.

    ``home`` lies in the scratch folder of the rank's set. ``shared_gpus`` is how many GPUs the ranks share; 0: each
    has one of its own.
    """
    Path(home).mkdir(parents=True, exist_ok=True)
    # PyTorch's symmetric memory looks for a peer's socket in its own TMPDIR: a set shares one.
    names = {
        "RANK": rank,
        "LOCAL_RANK": rank_gpu(rank, shared_gpus),
        "WORLD_SIZE": world,
        "LOCAL_WORLD_SIZE": shared_gpus or world,
        "HOME": home,
        "TMPDIR": Path(home).parent,
    }
    os.environ.update({name: str(value) for name, value in names.items()})
    if shared_gpus:
        os.environ.update(_SHARING, NCCL_HOSTID=f"pkwb-{rank}")
    os.chdir(home)


def rank_gpu(rank: int, shared_gpus: int) -> int:
    """The index of a rank's GPU; ``shared_gpus`` as in :func:`rank_environment`."""
    return rank % shared_gpus if shared_gpus else rank


def flush_output() -> None:
    """Flush stdout and stderr, whatever the user's code made of them."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()


def _show_lines_of_printf() -> None:
    """Have C's stdout, printf of kernels included, written line by line: ranks are killed, and what waits is lost."""
    program = ctypes.CDLL(None)
    with contextlib.suppress(ValueError, AttributeError):
        program.setvbuf(ctypes.c_void_p.in_dll(program, _STDOUT), None, _IOLBF, 0)


def _close_all_but(keep: set[int]) -> None:
    for fd in map(int, os.listdir("/dev/fd")):
        if fd not in keep:
            with contextlib.suppress(OSError):
                os.close(fd)

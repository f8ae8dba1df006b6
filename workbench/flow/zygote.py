"""The parent's side of the zygote: start it under the ranks' interpreter, fork and end sets, hear of deaths."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from workbench.devices import BY_BUS, NO_MULTICAST, NO_WATCHDOG
from workbench.errors import RanksError
from workbench.files import cache_dir
from workbench.flow.leftovers import end_leftovers
from workbench.flow.wire import Wire
from workbench.ranks.channel import Message

ROOT = Path(__file__).resolve().parents[2]
_KEPT_VARIABLES = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUTLASS_ROOT",
    "THUNDERKITTENS_ROOT",
)
_KEPT_PREFIXES = ("CUDA_VISIBLE_", "NCCL_", "GLOO_", "OMP_", "MKL_", "NVSHMEM_", "TORCH_", "TRITON_")
_BOOT = """\
import site, sys
from importlib.machinery import PathFinder


class Packages:
    @staticmethod
    def find_spec(name, path=None, target=None):
        folder = {folders!r}.get(name)
        return PathFinder.find_spec(name, [folder], target) if folder else None


sys.meta_path.insert(0, Packages)
try:
    import torch
except ImportError:
    sys.path.append(site.getusersitepackages())
from workbench.ranks.zygote import main
main({fd}, {directory!r})
"""
"""What the ranks' interpreter runs first. Only these packages come from the folder that pkwb lies in: it may be the
site-packages of another Python, whose numpy must not stand before the ranks' own."""
_FOLDERS = {
    "workbench": str(ROOT),
    "problems": str(ROOT),
    "utils": str(ROOT / "workbench" / "ranks" / "names"),
}
"""The folder of each of these packages; candidates know ``utils``."""


class Zygote:
    """One zygote process. Reports about a set of ranks go to the handler that ``fork`` was given."""

    def __init__(self) -> None:
        self.torch = ""
        self.python = ""
        self._handlers: dict[int, Callable[[Message], None]] = {}
        self._next_set = 1
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: Wire | None = None
        self._directory: Path | None = None
        self._started: asyncio.Future[Message] | None = None
        self._lost = False

    @property
    def alive(self) -> bool:
        """Whether the process was started and its channel is open."""
        return self._wire is not None and self._process is not None

    @property
    def pid(self) -> int:
        """The process id; 0 before the start."""
        return self._process.pid if self._process else 0

    async def start(self, python: str, limit: float) -> None:
        """Start the process and wait until torch is imported there; RanksError says what is missing."""
        self._started = asyncio.get_running_loop().create_future()
        self._wire = Wire(self._message, self._closed)
        try:
            self._directory = Path(tempfile.mkdtemp(prefix="pkwb-"))
            self._process = self._spawn(python or sys.executable)
        except OSError as error:
            name = python or sys.executable
            raise RanksError(f"ranks cannot start with {name}: {error.strerror}; check ranks.python") from None
        self._wire.release_far_end()
        try:
            message = await asyncio.wait_for(asyncio.shield(self._started), limit)
        except asyncio.TimeoutError:
            raise RanksError(f"ranks were not ready after {limit:g} s: torch takes long to import") from None
        if message["event"] != "started":
            raise RanksError(self._why(message, python))
        self.torch, self.python = message["torch"], message["python"]

    def fork(self, request: Message, fds: list[int], handler: Callable[[Message], None]) -> int:
        """Fork a set of ranks; its number. ``request`` holds role, world, device, shared_gpus, threads and pitch."""
        wire, _directory = self._connected()
        set_id = self._next_set
        self._next_set += 1
        self._handlers[set_id] = handler
        folder = self.scratch(set_id)
        folder.mkdir()
        store = str(folder / "store")
        wire.send({"op": "fork", "set": set_id, "dir": str(folder), "store": store, **request}, fds)
        return set_id

    def scratch(self, set_id: int) -> Path:
        """The folder that the ranks of a set share; it goes away with them."""
        return self._connected()[1] / f"set-{set_id}"

    def kill(self, set_id: int) -> None:
        """End a set at once; its handler hears ``gone`` when nothing of it is left."""
        if self._wire is not None:
            self._wire.send({"op": "kill", "set": set_id})

    def ask_stacks(self, set_id: int) -> None:
        """Have the Python stacks of a set's ranks taken; its handler gets them."""
        if self._wire is not None:
            self._wire.send({"op": "stacks", "set": set_id})

    def ask_output(self, set_id: int) -> None:
        """Have what a set's ranks printed until now passed on; its handler hears ``output`` after the last of it."""
        if self._wire is not None:
            self._wire.send({"op": "output", "set": set_id})

    async def close(self) -> None:
        """End the zygote and with it every rank."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        if self._process is not None:
            await ended(self._process)
            self._process = None
        if self._directory is not None:
            if self._lost:
                await asyncio.to_thread(end_leftovers, self._directory)
            await asyncio.to_thread(shutil.rmtree, self._directory, True)

    def _spawn(self, python: str) -> subprocess.Popen[bytes]:
        wire, directory = self._connected()
        fd = wire.far_end()
        boot = _BOOT.format(folders=_FOLDERS, fd=fd, directory=str(directory))
        with open(directory / "zygote.log", "wb") as log:
            return subprocess.Popen(
                [python, "-I", "-c", boot],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(fd,),
                env=rank_environment(directory),
                start_new_session=True,
            )

    def _connected(self) -> tuple[Wire, Path]:
        if self._wire is None or self._directory is None:
            raise RanksError("the ranks' parent process is gone; run again to start a new one")
        return self._wire, self._directory

    def _message(self, message: Message) -> None:
        if "set" in message:
            handler = self._handlers.get(message["set"])
            if message["event"] == "gone":
                self._handlers.pop(message["set"], None)
                self._remove_folder(message["set"])
            if handler is not None:
                handler(message)
        elif self._started is not None and not self._started.done():
            self._started.set_result(message)

    def _remove_folder(self, set_id: int) -> None:
        if self._directory is not None:
            folder = self._directory / f"set-{set_id}"
            asyncio.get_running_loop().run_in_executor(None, shutil.rmtree, folder, True)

    def _closed(self, reason: str) -> None:
        self._wire, self._lost = None, True
        if self._started is not None and not self._started.done():
            self._started.set_result({"event": "failed", "detail": ""})
        for set_id, handler in tuple(self._handlers.items()):
            handler({"event": "lost", "set": set_id, "reason": reason})
        self._handlers.clear()

    def _why(self, message: Message, python: str) -> str:
        name = python or sys.executable
        if "torch" in message["detail"]:
            remedy = "install it there, or set ranks.python to an interpreter that has it"
            return f"{name} has no torch ({message['detail']}): {remedy}"
        return f"ranks cannot start under {name}: {message['detail'] or self._log_tail()}"

    def _log_tail(self) -> str:
        path = self._directory / "zygote.log" if self._directory else None
        lines = path.read_text(errors="replace").strip().splitlines() if path and path.exists() else []
        return lines[-1] if lines else "the process ended without a word"


def rank_environment(directory: Path) -> dict[str, str]:
    """The ranks' environment: parts of the user's, an empty home, gloo on loopback, GPUs by bus, no multicast."""
    kept = {k: v for k, v in os.environ.items() if k in _KEPT_VARIABLES or k.startswith(_KEPT_PREFIXES)}
    own = {
        "HOME": str(directory),
        "TMPDIR": str(directory),
        # a thread that spins for its next share of work takes the core from another rank's thread that has some
        "OMP_WAIT_POLICY": "PASSIVE",
        "KERNELS_CACHE_DIR": str(kernel_cache()),
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
    }
    return {**kept, **own, **NO_MULTICAST, **NO_WATCHDOG, **BY_BUS}


def kernel_cache() -> Path:
    """The folder of raw kernels that ranks compiled."""
    return cache_dir() / "kernels"


async def ended(process: subprocess.Popen[bytes]) -> None:
    """Wait for the process, and after 5 s end it."""
    for _ in range(500):
        if process.poll() is not None:
            return
        await asyncio.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(process.wait)

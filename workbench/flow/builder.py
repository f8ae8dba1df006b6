"""The parent's side of the builder process: start it when something is to be built, order builds, hear results."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.build.assembly import Code, Kind
from workbench.build.keys import ENVIRONMENT
from workbench.build.model import Finding, Request, Result, Toolchain, plain, read_result
from workbench.config import Settings
from workbench.errors import BuilderError
from workbench.files import cache_dir
from workbench.flow.leftovers import end_leftovers
from workbench.flow.wire import Wire
from workbench.flow.zygote import ROOT, ended, rank_environment
from workbench.ranks.channel import Message

Early = Callable[[tuple[Finding, ...]], None]
_START_S = 20.0
GIGABYTE = 1_000_000_000
_COMPILERS = ("CC", "CXX", *ENVIRONMENT)
_BOOT = "import sys; sys.path.append({root!r}); from workbench.build.builder import main; main({fd}, {options!r})"
_OVER = "builds were ended: pkwb closes, or opens another problem"


@dataclass
class _Job:
    answer: asyncio.Future[Message]
    early: Early


class Builder:
    """One builder process, started by the first order and ended by ``close``; started anew should it die."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._numbers = itertools.count(1)
        self._jobs: dict[int, _Job] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: Wire | None = None
        self._home: Path | None = None
        self._ready: asyncio.Future[Toolchain] | None = None
        self._starting = asyncio.Lock()
        self._over = False

    @property
    def pid(self) -> int:
        """The process id; 0 while there is no process."""
        return self._process.pid if self._process else 0

    async def toolchain(self) -> Toolchain:
        """The compilers and the torch that builds use."""
        await self._start()
        assert self._ready is not None
        return await asyncio.wait_for(asyncio.shield(self._ready), _START_S)

    async def build(
        self, request: Request, arch: str, *, full: bool = False, unfit: bool = False, early: Early = lambda found: None
    ) -> Result:
        """What becomes of a request; cancelled, it ends the compilers. BuilderError when the builder fails twice."""
        for _ in range(2):
            await self._start()
            with contextlib.suppress(ConnectionError):
                options = {"arch": arch, "full": full, "unfit": unfit}
                return read_result((await self._order("build", request, options, early))["result"])
        await self._after_its_end()
        raise BuilderError("the process that builds extensions was ended twice: look at the machine's free memory")

    async def close(self) -> None:
        """End the process and every compiler, for good: orders that wait get a BuilderError."""
        self._over = True
        if self._wire is not None:
            self._wire.close()
        self._end(BuilderError(_OVER))
        async with self._starting:  # a start that is under way sees that it is over
            await self._clean_up()

    async def code(self, request: Request, arch: str, kind: Kind, *, full: bool = False) -> Code:
        """The PTX or machine code of a request's kernels, or why there is none."""
        await self._start()
        try:
            answer = await self._order("code", request, {"arch": arch, "full": full, "unfit": False, "kind": kind})
        except ConnectionError:
            await self._after_its_end()
            return Code(reason="the process that builds extensions was ended")
        return Code(text=answer["text"], reason=answer["reason"])

    async def _order(self, op: str, request: Request, options: Message, early: Early = lambda found: None) -> Message:
        number = next(self._numbers)
        job = self._jobs[number] = _Job(asyncio.get_running_loop().create_future(), early)
        limit = self._settings.limits.build
        self._send({"op": op, "id": number, "request": plain(request), "limit": limit, **options})
        try:
            return await job.answer
        finally:
            if self._jobs.pop(number, None) is not None:
                self._send({"op": "cancel", "id": number})

    async def _start(self) -> None:
        async with self._starting:
            if self._wire is not None:
                return
            await self._clean_up()
            if self._over:
                raise BuilderError(_OVER)
            self._ready = asyncio.get_running_loop().create_future()
            self._home = Path(tempfile.mkdtemp(prefix="pkwb-build-"))
            self._wire = Wire(self._message, self._closed)
            self._process = self._spawn(self._wire.far_end(), self._home)
            self._wire.release_far_end()

    def _spawn(self, fd: int, home: Path) -> subprocess.Popen[bytes]:
        options = {
            "python": self._settings.ranks.python,
            "folder": str(build_cache()),
            "limit_bytes": int(self._settings.build.cache * GIGABYTE),
            "home": str(home),
        }
        kept = {name: os.environ[name] for name in _COMPILERS if name in os.environ}
        with open(home / "builder.log", "wb") as log:
            return subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT.format(root=str(ROOT), fd=fd, options=json.dumps(options))],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(fd,),
                env={**rank_environment(home), **kept, "LC_ALL": "C"},
                start_new_session=True,
            )

    def _send(self, message: Message) -> None:
        if self._wire is not None:
            self._wire.send(message)

    def _message(self, message: Message) -> None:
        if message["event"] == "ready":
            self._take_toolchain(message["toolchain"])
            return
        job = self._jobs.get(message["id"])
        if job is None:
            return
        if message["event"] == "early":
            job.early(tuple(Finding(**finding) for finding in message["findings"]))
        elif not job.answer.done():
            del self._jobs[message["id"]]
            job.answer.set_result(message)

    def _take_toolchain(self, found: Message) -> None:
        if self._ready is not None and not self._ready.done():
            values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}
            self._ready.set_result(Toolchain(**values))

    def _closed(self, reason: str) -> None:
        self._end(ConnectionError(reason))

    def _end(self, error: Exception) -> None:
        self._wire = None
        jobs, self._jobs = self._jobs, {}
        for job in jobs.values():
            if not job.answer.done():
                job.answer.set_exception(error)
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(BuilderError("the process that builds extensions could not be started"))
            self._ready.exception()

    async def _after_its_end(self) -> None:
        """End what the process left, unless another one has been started since."""
        async with self._starting:
            if self._wire is None:
                await self._clean_up()

    async def _clean_up(self) -> None:
        """Take leave of a builder: its folder, and the compilers that outlived one that was killed."""
        process, self._process = self._process, None
        if process is not None:
            await ended(process)
        home, self._home = self._home, None
        if home is not None:
            await asyncio.to_thread(end_leftovers, home)
            await asyncio.to_thread(shutil.rmtree, home, True)


def build_cache() -> Path:
    """The folder of what was built."""
    return cache_dir() / "builds"

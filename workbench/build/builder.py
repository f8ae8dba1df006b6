"""The builder process: serves one parent's orders over a socket, and ends every compiler when the parent is gone.

Requests: ``build`` {id, request, arch, full, unfit, limit}, ``code`` {the same, kind}, ``cancel`` {id}. Reports:
``ready`` {toolchain}, ``early`` {id, findings}, ``built`` {id, result}, ``code`` {id, text, reason}.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from workbench.build.assembly import Code
from workbench.build.cache import Cache
from workbench.build.jobs import Slots
from workbench.build.linked import build_complete
from workbench.build.making import Order
from workbench.build.model import Finding, Result, plain, read_request
from workbench.build.service import BuildService
from workbench.build.toolchain import find_toolchain
from workbench.ranks.channel import HEADER, Message, body_length, decode, encode


class Builder:
    """Orders of one parent."""

    def __init__(self, service: BuildService, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._service = service
        self._reader = reader
        self._writer = writer
        self._jobs: dict[int, asyncio.Task[None]] = {}

    async def serve(self) -> None:
        """Serve until the parent's end closes; no compiler runs when this returns."""
        self._send({"event": "ready", "toolchain": plain(self._service.toolchain)})
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                header = await self._reader.readexactly(HEADER.size)
                self._take(decode(await self._reader.readexactly(body_length(header))))
        jobs = list(self._jobs.values())
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        await self._service.close()

    def _take(self, message: Message) -> None:
        number = message["id"]
        if message["op"] in ("build", "code"):
            job = self._build if message["op"] == "build" else self._code
            self._jobs[number] = asyncio.ensure_future(job(number, message))
        elif number in self._jobs:
            self._jobs[number].cancel()

    async def _build(self, number: int, message: Message) -> None:
        order = _order(message)
        try:
            result = await build_complete(self._service, order, lambda found: self._early(number, found))
        except Exception as error:
            result = Result(name=order.request.name, ok=False, way="none", reason=_words(error), machine=True)
        finally:
            self._jobs.pop(number, None)
        self._send({"event": "built", "id": number, "result": plain(result)})

    async def _code(self, number: int, message: Message) -> None:
        try:
            code = await self._service.code(_order(message), message["kind"])
        except Exception as error:
            code = Code(reason=_words(error))
        finally:
            self._jobs.pop(number, None)
        self._send({"event": "code", "id": number, "text": code.text, "reason": code.reason})

    def _early(self, number: int, found: tuple[Finding, ...]) -> None:
        self._send({"event": "early", "id": number, "findings": [plain(finding) for finding in found]})

    def _send(self, message: Message) -> None:
        if not self._writer.is_closing():
            self._writer.write(encode(message))


def _words(error: Exception) -> str:
    """What is told of an order that failed here: whoever waits gets an answer."""
    if isinstance(error, OSError):
        return f"the build service failed: {error}; check the disk and the folder of pkwb's cache"
    return f"the build service failed: {type(error).__name__}: {error}; run `pkwb cache clear` and try again"


def _order(message: Message) -> Order:
    options: dict[str, Any] = {name: message[name] for name in ("arch", "full", "unfit", "limit")}
    return Order(request=read_request(message["request"]), **options)


def main(fd: int, options: str) -> None:
    """Run the process; ``options`` is JSON: ``python``, ``folder`` and ``limit_bytes`` of the cache, and ``home``.

    The home is removed at the end: the parent may have been killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    chosen = json.loads(options)
    try:
        asyncio.run(_serve(fd, Cache(Path(chosen["folder"]), chosen["limit_bytes"]), chosen["python"]))
    finally:
        shutil.rmtree(chosen["home"], ignore_errors=True)


async def _serve(fd: int, cache: Cache, python: str) -> None:
    reader, writer = await asyncio.open_unix_connection(sock=socket.socket(fileno=fd))
    cache.sweep()
    await Builder(BuildService(find_toolchain(python), cache, Slots()), reader, writer).serve()
    writer.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])

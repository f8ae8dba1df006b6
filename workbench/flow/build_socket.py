"""The socket through which the ranks of one set ask for extensions: what comes in is text that is to be checked."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from workbench.errors import PkwbError
from workbench.ranks.built import SOCKET_NAME, address
from workbench.ranks.channel import HEADER, Message, body_length, decode, encode

_LONGEST = 12 << 20
"""Bytes of the longest request of a rank."""
_ASKING_S = 10.0
_MOST_AT_ONCE = 64
"""Requests of a set's ranks that are open at a time."""


class BuildSocket:
    """Hands each request to ``answer``, whose ValueError is told to the rank as the reason why there is no library."""

    def __init__(self, answer: Callable[[Message], Awaitable[Message]]) -> None:
        self._answer = answer
        self._open = 0

    @contextlib.asynccontextmanager
    async def serving(self, folder: Path) -> AsyncIterator[None]:
        """Serve in the scratch folder of a set while the context lasts."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with address(str(folder / SOCKET_NAME)) as path:
            listener.bind(path)
        server = await asyncio.start_unix_server(self._serve, sock=listener)
        try:
            yield
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= _MOST_AT_ONCE:
                with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
                    writer.write(encode(await self._reply(reader)))
                    await writer.drain()
        finally:
            self._open -= 1
            writer.close()

    async def _reply(self, reader: asyncio.StreamReader) -> Message:
        try:
            return await self._answer(await asyncio.wait_for(_request(reader), _ASKING_S))
        except (PkwbError, ValueError) as error:
            return {"library": "", "reason": str(error)}


async def _request(reader: asyncio.StreamReader) -> Message:
    return decode(await reader.readexactly(body_length(await reader.readexactly(HEADER.size), _LONGEST)))

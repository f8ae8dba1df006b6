"""The parent's end of a message channel, in the asyncio loop: it never blocks, whatever the other side does."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence

from workbench.errors import ChannelError
from workbench.ranks.channel import HEADER, LIMIT, Message, body_length, decode, encode


class Wire:
    """Messages to and from one process. ``on_message`` gets each message, ``on_close`` the reason of the end, once.

    ``limit`` is the longest message taken, in bytes.
    """

    def __init__(
        self, on_message: Callable[[Message], None], on_close: Callable[[str], None], limit: int = LIMIT
    ) -> None:
        self._socket, self._far = socket.socketpair()
        self._socket.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._on_message = on_message
        self._on_close = on_close
        self._limit = limit
        self._received = bytearray()
        self._outgoing: deque[tuple[memoryview, Sequence[int]]] = deque()
        self._open = True
        self.garbled = False
        """Whether it ended because the other side sent what is no message."""
        self._loop.add_reader(self._socket, self._readable)

    def far_end(self) -> int:
        """The other end's descriptor, for the process that gets it; the caller closes it by ``release_far_end``."""
        return self._far.fileno()

    def release_far_end(self) -> None:
        """Close this process's copy of the other end."""
        self._far.close()

    def send(self, message: Message, fds: Sequence[int] = ()) -> None:
        """Queue one message, with copies of descriptors beside it; the caller may close its own at once."""
        if self._open:
            self._outgoing.append((memoryview(encode(message)), [os.dup(fd) for fd in fds]))
            self._writable()

    def stop_reading(self) -> None:
        """Take no message any more: what the other side still sends stays with it, and blocks it at last."""
        self._received.clear()
        if self._open:
            self._loop.remove_reader(self._socket)

    def close(self) -> None:
        """Stop; no callback comes after this."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        self._drop_outgoing()
        self._socket.close()
        self._far.close()

    def _drop_outgoing(self) -> None:
        while self._outgoing:
            _close(self._outgoing.popleft()[1])

    def _readable(self) -> None:
        try:
            data = self._socket.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError as error:
            data, reason = b"", str(error)
        else:
            reason = "end of stream"
        if not data:
            self._end(reason)
            return
        self._received += data
        try:
            self._take_frames()
        except ChannelError as error:
            self.garbled = True
            self._end(str(error))

    def _take_frames(self) -> None:
        while self._open and len(self._received) >= HEADER.size:
            end = HEADER.size + body_length(bytes(self._received[: HEADER.size]), self._limit)
            if len(self._received) < end:
                return
            body = bytes(self._received[HEADER.size : end])
            del self._received[:end]
            self._on_message(decode(body))

    def _writable(self) -> None:
        while self._outgoing:
            data, fds = self._outgoing.popleft()
            try:
                sent = socket.send_fds(self._socket, [data], list(fds)) if fds else self._socket.send(data)
            except BlockingIOError:
                self._outgoing.appendleft((data, fds))
                self._loop.add_writer(self._socket, self._writable)
                return
            except OSError:
                _close(fds)
                self._drop_outgoing()
                return
            _close(fds)
            if sent < len(data):
                self._outgoing.appendleft((data[sent:], ()))
        self._loop.remove_writer(self._socket)

    def _end(self, reason: str) -> None:
        if self._open:
            self.close()
            self._on_close(reason)


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)

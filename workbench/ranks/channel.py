"""Messages between pkwb's processes: length-prefixed JSON over a unix stream socket, with file descriptors beside it.

A frame is 4 bytes of big-endian length and that many bytes of JSON (an object). Whatever comes from a candidate is
checked here for size and form and by the reader for content; nothing is unpickled.
"""

from __future__ import annotations

import array
import json
import socket
import struct
import time
from typing import Any

from workbench.errors import ChannelError

LIMIT = 16 << 20
"""Bytes of the longest frame; a source file of 4 MB fits even when every character is escaped."""
SMALL_LIMIT = 1 << 18
"""The same for what a candidate tells the parent; a failure of the longest text fits, every character escaped."""
HEADER = struct.Struct("!I")
_MAX_FDS = 64
_now = time.perf_counter_ns

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """A message as a frame."""
    body = json.dumps(message, separators=(",", ":")).encode()
    return HEADER.pack(len(body)) + body


def decode(body: bytes) -> Message:
    """The message of a frame's body; anything but a JSON object is a ChannelError."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ChannelError(f"a rank sent something that is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise ChannelError("a rank sent JSON that is not an object")
    return message


def body_length(header: bytes, limit: int = LIMIT) -> int:
    """Length announced by a frame's header; too long a frame is a ChannelError."""
    (length,) = HEADER.unpack(header)
    if length > limit:
        raise ChannelError(f"a rank announced a message of {length} bytes; the limit is {limit}")
    return int(length)


class Channel:
    """The blocking end of a message channel, as rank processes use it.

    Descriptors that come with a message are dropped by the kernel, unless the channel ``takes_fds``: what a candidate
    sends to its judge must not pile up there. For up to ``spin_ns`` a message is looked for again and again before the
    process sleeps: to be woken takes 0.1 to 0.2 ms in a virtual machine.
    """

    def __init__(self, fd: int, takes_fds: bool = False, spin_ns: int = 0) -> None:
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(True)
        self._takes_fds = takes_fds
        self._spin_ns = spin_ns
        self.fds: list[int] = []
        """File descriptors that came with the last message."""

    def fileno(self) -> int:
        """The socket's descriptor, for a selector."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket; the other end sees the end of the stream."""
        self._socket.close()

    def send(self, message: Message) -> None:
        """Send one message; the peer's death is an OSError."""
        self._socket.sendall(encode(message))

    def receive(self) -> Message | None:
        """The next message, or None at the end of the stream."""
        self._look_for_it()
        header = self._header()
        if header is None:
            return None
        body = self._exactly(body_length(header))
        return None if body is None else decode(body)

    def _look_for_it(self) -> None:
        ends = _now() + self._spin_ns
        while _now() < ends:
            try:
                self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
            except ConnectionError:
                pass  # the read that follows says so
            return

    def _header(self) -> bytes | None:
        if not self._takes_fds:
            return self._exactly(HEADER.size)
        data, self.fds = _receive_fds(self._socket, HEADER.size)
        if not data:
            return None
        rest = self._exactly(HEADER.size - len(data))
        return None if rest is None else data + rest

    def _exactly(self, size: int) -> bytes | None:
        parts = []
        while size:
            try:
                part = self._socket.recv(min(size, 1 << 20))
            except ConnectionError:
                return None
            if not part:
                return None
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _receive_fds(sock: socket.socket, size: int) -> tuple[bytes, list[int]]:
    fds = array.array("i")
    try:
        data, ancillary, _flags, _address = sock.recvmsg(size, socket.CMSG_LEN(_MAX_FDS * fds.itemsize))
    except ConnectionError:
        return b"", []
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
    return data, list(fds)

"""What a rank prints, on its way to the parent: always drained, passed on in pieces, and capped."""

from __future__ import annotations

import codecs
import os
import time

from workbench.ranks.channel import Message

CAP = 1 << 20
"""Bytes of one stream of one rank that are passed on; the rest is counted and dropped."""
_READ = 1 << 16
_EVERY_S = 0.05


class OutputPump:
    """One pipe of one rank."""

    def __init__(self, fd: int, set_id: int, rank: int, stream: str) -> None:
        self.set_id = set_id
        self.rank = rank
        self._fd = fd
        self._stream = stream
        self._held = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._passed = 0
        self._dropped = 0
        self._last = 0.0

    @property
    def pending(self) -> bool:
        """Whether output waits to be passed on."""
        return bool(self._held)

    def read(self, once: bool = False) -> bool:
        """Take what the pipe holds, at most 1 MiB at a time; False at its end (or, with ``once``, when it is empty)."""
        for _ in range(1 if once else 16):
            try:
                data = os.read(self._fd, _READ)
            except BlockingIOError:
                return not once
            except OSError:
                return False
            if not data:
                return False
            self._keep(data)
        return True

    def due(self) -> Message | None:
        """Held output, if it is time to pass it on."""
        return self.flush() if self._held and time.monotonic() - self._last >= _EVERY_S else None

    def flush(self, final: bool = False) -> Message | None:
        """All held output as a log report, at the end with what was dropped; None if there is none."""
        text = self._decoder.decode(bytes(self._held), final)
        if final and self._dropped:
            text += f"... {self._dropped} bytes were dropped\n"
        self._held.clear()
        self._last = time.monotonic()
        if not text:
            return None
        return {"event": "log", "set": self.set_id, "rank": self.rank, "stream": self._stream, "text": text}

    def _keep(self, data: bytes) -> None:
        room = max(0, CAP - self._passed)
        self._held += data[:room]
        self._passed += len(data[:room])
        if len(data) > room and not self._dropped:
            self._held += f"\n... what this stream prints from here on is dropped (limit {CAP} bytes)\n".encode()
        self._dropped += len(data) - len(data[:room])

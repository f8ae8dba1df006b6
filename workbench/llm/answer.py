"""A reply as it comes: its pieces, told a few times a second, and what is known at its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.llm.failures import told_apart
from workbench.ranks.channel import Message

_FLUSH_S = 0.03
"""Pieces are told this often at most; the first one at once."""
_HELD_S = 0.5
"""What may become a secret is told when nothing has followed it for so long."""
_MOST_CHARACTERS = 1_000_000
_PARTS = (("reasoning_content", True), ("content", False))
"""Parts of a streamed piece, and whether they are thinking."""


@dataclass
class Answer:
    """One reply; ``send`` takes the reports about it, in which names stand for ``secrets``."""

    send: Callable[[Message], None]
    number: int
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Names by value."""
    started: float = field(init=False, default_factory=time.monotonic)
    first_token_s: float | None = field(init=False, default=None)
    finish: str = field(init=False, default="")
    """The provider's reason of the end; ``cancelled`` and ``broken`` are ours."""
    usage: Any = field(init=False, default=None)
    called: bool = field(init=False, default=False)
    """Whether the model called a tool, of which there are none."""
    chunks: list[Any] = field(init=False, default_factory=list)
    _pieces: list[str] = field(init=False, default_factory=list)
    _thoughts: list[str] = field(init=False, default_factory=list)
    _untold: list[tuple[str, bool]] = field(init=False, default_factory=list)
    _told: float = field(init=False, default=0.0)
    _timer: asyncio.TimerHandle | None = field(init=False, default=None)
    _characters: int = field(init=False, default=0)

    @property
    def text(self) -> str:
        """What has come so far, without thinking; halves of characters that came apart are put together again."""
        return "".join(self._pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    @property
    def thinking(self) -> str:
        """What the model told of its thinking."""
        return "".join(self._thoughts).encode("utf-8", "replace").decode()

    @property
    def full(self) -> bool:
        """Whether so much has come that no more is taken."""
        return self._characters > _MOST_CHARACTERS

    def take(self, chunk: Any) -> bool:
        """Add a streamed chunk, in OpenAI's form; whether it brought text."""
        before = self._characters
        self.chunks.append(chunk)
        self.usage = getattr(chunk, "usage", None) or self.usage
        for choice in chunk.choices[:1]:
            self.finish = choice.finish_reason or self.finish
            self.called = self.called or bool(getattr(choice.delta, "tool_calls", None))
            for name, thinking in _PARTS:
                text = getattr(choice.delta, name, None)
                if text and isinstance(text, str):
                    self._add(text[: _MOST_CHARACTERS + 1 - self._characters], thinking)
        return self._characters > before

    def flush(self, last: bool = False) -> None:
        """Tell what has not been told yet; before the ``last`` time, not what may become a secret."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._told = time.monotonic()
        untold, self._untold = self._untold, []
        for thinking in (True, False):
            self._tell("".join(piece for piece, kind in untold if kind is thinking), thinking, last)
        if self._untold:
            self._later(_HELD_S, last=True)

    def _tell(self, text: str, thinking: bool, last: bool) -> None:
        text, kept = told_apart(text, self.secrets)
        if last:
            text, kept = text + kept, ""
        if kept:
            self._untold.append((kept, thinking))
        if text:
            self.send({"event": "delta", "id": self.number, "text": text, "thinking": thinking})

    def _add(self, text: str, thinking: bool) -> None:
        if self.first_token_s is None:
            self.first_token_s = time.monotonic() - self.started
        (self._thoughts if thinking else self._pieces).append(text)
        self._characters += len(text)
        self._untold.append((text, thinking))
        early = _FLUSH_S - (time.monotonic() - self._told)
        if early <= 0:
            self.flush()
        elif self._timer is None or self._timer.when() > asyncio.get_running_loop().time() + early:
            self._later(early)

    def _later(self, seconds: float, last: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.flush, last)

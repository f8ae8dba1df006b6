"""The arguments of the next draw, made on a thread of their own while ranks run the call before."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import torch

from workbench.ranks.channel import Message
from workbench.ranks.tree import leaves

_MOST_BYTES = 1 << 30
"""Arguments that take more are not made ahead: for a while there are two draws of them."""


class Draw(NamedTuple):
    """Which draw: all arguments are a function of this and of the seed."""

    number: int
    trial: int = 0
    stock: bool = False
    scale: float = 1.0

    @classmethod
    def of(cls, message: Message) -> Draw:
        """The draw that a message names."""
        return cls(message["number"], message["trial"], message["stock"], message["scale"])


class DrawAhead:
    """Gives arguments, those that were begun ahead as soon as they are there."""

    def __init__(self, draw: Callable[[int, int, bool, float], list[Any]], *, threads: int) -> None:
        self._draw = draw
        self._pool = ThreadPoolExecutor(threads, initializer=partial(torch.set_num_threads, 1)) if threads else None
        self._begun: tuple[Draw, Future[list[Any]]] | None = None
        self._bytes = 0

    def begin(self, which: Draw) -> None:
        """Begin to make a draw, if there is a thread for it and its size is known to be no trouble."""
        self.drop()
        if self._pool is not None and 0 < self._bytes <= _MOST_BYTES:
            self._begun = which, self._pool.submit(self._draw, *which)

    def take(self, which: Draw) -> list[Any]:
        """The arguments of a draw; they are made now unless they were begun."""
        begun, self._begun = self._begun, None
        arguments = begun[1].result() if begun is not None and begun[0] == which else self._draw(*which)
        self._bytes = sum(leaf.nbytes for value in arguments for leaf in leaves(value))
        return arguments

    def drop(self) -> None:
        """Let go of what was begun."""
        if self._begun is not None:
            self._begun[1].cancel()
            self._begun = None

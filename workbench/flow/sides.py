"""What was measured of one side, reference or candidate, block by block, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.ranks.channel import Message

Rows = list[list[int]]
"""P rows, one number a call."""


@dataclass(frozen=True)
class Block:
    """Calls of one side that were made one after the other; times in ns."""

    ns: Rows
    brackets: Rows
    """The judges' own clock around each call."""
    host_ns: Rows = field(default_factory=list)
    mhz: Rows = field(default_factory=list)
    held: Rows = field(default_factory=list)
    exports: Rows = field(default_factory=list)
    """The same around the fetching of each result that is compared."""
    cold: bool = False
    """Whether every call began with cold caches."""

    @staticmethod
    def of(answers: Sequence[Message]) -> Block:
        """From all judges' answers to one request."""
        by_rank = [zip(*answer["samples"]) for answer in answers]
        ns, brackets, host_ns, mhz, held = (list(map(list, rows)) for rows in zip(*by_rank))
        exports = [answer["exports"] for answer in answers]
        return Block(ns, brackets, host_ns, mhz, held, exports, all(answer["cold"] for answer in answers))


@dataclass
class Side:
    """All blocks of one side, in the order measured."""

    blocks: list[Block] = field(default_factory=list)

    def by_rank(self) -> Rows:
        """P rows of all durations in ns."""
        return [[ns for block in self.blocks for ns in block.ns[rank]] for rank in range(len(self.blocks[0].ns))]

    def slowest(self) -> Rows:
        """Per block, each call's duration on its slowest rank, in ns."""
        return [_over_ranks(block.ns) for block in self.blocks]

    def claims(self) -> list[int]:
        """Each call's duration on its slowest rank, in ns."""
        return [ns for block in self.slowest() for ns in block]

    def brackets(self) -> list[int]:
        """The judge's own bracket around each call, on its slowest rank, in ns."""
        return [ns for block in self.blocks for ns in _over_ranks(block.brackets)]

    def gaps(self) -> list[int]:
        """What each bracket holds beside the call itself, in ns."""
        return [bracket - claim for bracket, claim in zip(self.brackets(), self.claims())]

    def exports(self) -> list[int]:
        """The judge's own bracket around the fetching of each compared result, on its slowest rank, in ns."""
        return [ns for block in self.blocks for ns in _over_ranks(block.exports)]

    def host(self) -> list[int]:
        """ns until each call returned, on the rank where that took longest; 0 on the CPU."""
        return [ns for block in self.blocks for ns in _over_ranks(block.host_ns)]

    def clocks(self) -> list[int]:
        """The lowest clock of any rank's GPU in each call, in MHz; 0 where a rank did not measure it."""
        return [min(call) for block in self.blocks for call in zip(*block.mhz)]

    def held(self) -> list[bool]:
        """Whether any rank's gate opened before all had queued their work, by call."""
        return [any(call) for block in self.blocks for call in zip(*block.held)]

    @property
    def cold(self) -> bool:
        """Whether every call began with cold caches."""
        return all(block.cold for block in self.blocks)


def _over_ranks(rows: Rows) -> list[int]:
    return [max(call) for call in zip(*rows)]

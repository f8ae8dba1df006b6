"""How long gates in front of timed calls stay shut for hosts, as long as the reference's own hosts need, with room."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from workbench.flow.sides import Side

LEAST_NS, MOST_NS = 1_000_000, 20_000_000
_ROOM = 4
"""A host that is put aside for a while must not let a gate open; one in four times its usual time does not."""
_ENOUGH = 10
"""Calls by which hosts are judged; the first calls of all load kernels."""


@dataclass
class GatePatience:
    """Of both sides' gates, learnt from the reference's calls of the warm-up: a candidate has no say in it.

    A reference that waits for its device inside the call makes every gate wait for its whole patience and then open too
    early all the same; it gets the least.
    """

    ns: int = LEAST_NS
    known: bool = False
    """Whether what the warm-up has shown is enough."""

    def learn(self, side: Side) -> None:
        """From calls of the reference that were made under the patience that holds now."""
        held = side.held()
        if self.known or len(held) < _ENOUGH:
            return
        wanted = min(max(LEAST_NS, round(_ROOM * median(side.host()))), MOST_NS)
        if self.ns > LEAST_NS:
            self.known = True
            self.ns = LEAST_NS if 2 * sum(held) > len(held) else self.ns
        else:
            self.ns, self.known = wanted, wanted == LEAST_NS

"""What all measured transfers share: data that tell every message apart, answers to the parent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from workbench.ranks.channel import Channel, Message
from workbench.ranks.failures import failure

POISON = -1
"""What a target holds before anything arrives; no pattern has it."""
_FACTOR, _MASK = 2_654_435, 0xFFFFFF


def pattern(count: int, seed: int, device: torch.device | None = None, out: torch.Tensor | None = None) -> torch.Tensor:
    """``count`` int32 numbers from 0 to 2^24 - 1 that differ from place to place and from seed to seed."""
    numbers = torch.arange(count, dtype=torch.int32, device=device, out=out)
    return numbers.mul_(_FACTOR).add_(seed * 7919).bitwise_and_(_MASK)


def answer(control: Channel, operations: Mapping[str, Callable[[Message], Message]]) -> None:
    """Answer the parent's requests until it is gone; what an operation raises is told to the parent."""
    while (message := control.receive()) is not None:
        try:
            reply = operations[message["op"]](message)
        except Exception as error:
            reply = {"error": failure(error, __file__)}
        control.send({"id": message["id"], **reply})


def mechanism(name: str, blocks: int = 0, two_way: bool = True, collective: bool = False) -> dict[str, Any]:
    """How a mechanism is described to the parent; ``blocks`` 0 where no kernel copies."""
    return {"name": name, "blocks": blocks, "two_way": two_way, "collective": collective}

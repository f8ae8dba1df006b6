"""Which GPU each rank has: CUDA_VISIBLE_DEVICES as CUDA reads it, and what NVML calls the same devices."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import UsageError
from workbench.topology.nvml import answer, text


@dataclass(frozen=True, kw_only=True)
class RankGpu:
    """The GPU of one rank. ``label`` is its number in the order of the PCI bus, or the name that the user gave it."""

    label: str
    handle: Any
    """NVML's handle; of an instance (MIG) where the rank has one."""
    card: Any
    """The handle of the whole GPU: links, slot, clocks and power belong to it."""
    bus: str

    @property
    def instance(self) -> bool:
        """Whether it is a part of a GPU."""
        return self.handle is not self.card


def rank_gpus(nvml: Any, world: int) -> list[RankGpu]:
    """The GPUs of ranks 0 to ``world`` - 1; UsageError where fewer are left to them.

    Ranks run with CUDA_DEVICE_ORDER=PCI_BUS_ID, so a number means the same GPU to CUDA and here. As CUDA does, names
    are read up to the first one that is none, and a GPU that is named twice leaves none at all.
    """
    cards = _cards(nvml)
    names = chosen_names()
    found = cards if names is None else list(_named(nvml, names, cards))
    if len({(gpu.bus, gpu.instance and gpu.label) for gpu in found}) < len(found):
        raise UsageError(f"CUDA_VISIBLE_DEVICES={','.join(names or ())} names a GPU twice: CUDA takes none then")
    if len(found) < world:
        raise UsageError(_too_few(len(found), world, names))
    return found[:world]


def _too_few(found: int, world: int, names: Sequence[str] | None) -> str:
    fewer = [f"use --ranks {found}"] if found else []
    if names is None:
        return f"NVML finds {found} of {world} GPUs: {', '.join(fewer) or 'the driver does not serve them'}"
    advice = ", or ".join(["name others", *fewer])
    return f"NVML finds {found} of {world} GPUs with CUDA_VISIBLE_DEVICES={','.join(names)}: {advice}"


def chosen_names() -> list[str] | None:
    """What CUDA_VISIBLE_DEVICES names; None where it is not set, so that all GPUs are chosen."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return None if chosen is None else [name.strip() for name in chosen.split(",")]


def _cards(nvml: Any) -> list[RankGpu]:
    handles = [_handle(nvml, index) for index in range(int(nvml.nvmlDeviceGetCount()))]
    placed = sorted(((bus_id(nvml, handle), handle) for handle in handles), key=lambda pair: pair[0])
    return [RankGpu(label=str(at), handle=card, card=card, bus=bus) for at, (bus, card) in enumerate(placed)]


def _handle(nvml: Any, index: int) -> Any:
    try:
        return nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        raise UsageError(f"GPU {index} cannot be looked at: NVML says {error}") from None


def bus_id(nvml: Any, handle: Any) -> str:
    """The place on the PCI bus, in one spelling."""
    return text(nvml.nvmlDeviceGetPciInfo(handle).busId).lower()


def _named(nvml: Any, names: Sequence[str], cards: Sequence[RankGpu]) -> Iterator[RankGpu]:
    for name in names:
        found = _instance(nvml, name) if name.startswith("MIG-") else _card(nvml, name, cards)
        if found is None:
            return
        yield found


def _card(nvml: Any, name: str, cards: Sequence[RankGpu]) -> RankGpu | None:
    """A whole GPU by its number, or by its UUID or as much of it as tells it from the others."""
    if name.isdigit():
        return cards[int(name)] if int(name) < len(cards) else None
    uuids = [text(answer(nvml, "", nvml.nvmlDeviceGetUUID, card.card)) for card in cards]
    same = [card for card, uuid in zip(cards, uuids) if uuid.startswith(name)] if name.startswith("GPU-") else []
    return RankGpu(label=name, handle=same[0].card, card=same[0].card, bus=same[0].bus) if len(same) == 1 else None


def _instance(nvml: Any, name: str) -> RankGpu | None:
    """A part of a GPU by its UUID."""
    handle = answer(nvml, None, nvml.nvmlDeviceGetHandleByUUID, name)
    card = None if handle is None else answer(nvml, None, nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle, handle)
    return None if card is None else RankGpu(label=name, handle=handle, card=card, bus=bus_id(nvml, card))

"""NVML, the driver's own library of figures: opened for a while, asked with patience for what a GPU does not know."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.aside import Aside
from workbench.errors import UsageError

ALL_LINKS = 0xFFFFFFFF
"""Scope of a link counter: the sum over a GPU's links (nvml.h)."""
SENT_KIB, RECEIVED_KIB = 138, 139
"""NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX: KiB since the driver was loaded, without protocol overhead."""


@dataclass(frozen=True)
class Counters:
    """Bytes that crossed a GPU's NVLinks, at ``at_us`` microseconds of NVML's clock."""

    sent: int
    received: int
    at_us: int

    @property
    def counting(self) -> bool:
        """Whether they hold anything. In virtual machines they can exist and stay 0: then they say nothing."""
        return bool(self.sent or self.received)


def open_nvml(purpose: str) -> Any:
    """The library, initialised; UsageError with ``purpose`` in front where it cannot be asked."""
    try:
        import pynvml  # type: ignore[import-untyped]
    except ImportError:
        raise UsageError(f"{purpose}: install nvidia-ml-py") from None
    try:
        Aside().wait(pynvml.nvmlInit)
    except pynvml.NVMLError as error:
        raise UsageError(f"{purpose}: NVML says {error}") from None
    except TimeoutError:
        raise UsageError(f"{purpose}: the GPUs' driver does not answer (nvidia-smi may hang, too)") from None
    return pynvml


def close_nvml(nvml: Any) -> None:
    """End what ``open_nvml`` began."""
    with contextlib.suppress(nvml.NVMLError):
        nvml.nvmlShutdown()


@contextlib.contextmanager
def nvml_session(purpose: str) -> Iterator[Any]:
    """NVML for a while; what it refuses becomes UsageError with ``purpose`` in front."""
    nvml = open_nvml(purpose)
    try:
        yield nvml
    except nvml.NVMLError as error:
        raise UsageError(f"{purpose}: NVML says {error}") from None
    finally:
        close_nvml(nvml)


def answer(nvml: Any, default: Any, ask: Callable[..., Any], *arguments: Any) -> Any:
    """What NVML answers, or ``default`` where this GPU or driver does not know."""
    try:
        return ask(*arguments)
    except nvml.NVMLError:
        return default


def text(value: Any) -> str:
    """NVML's strings are bytes in older versions."""
    return value.decode() if isinstance(value, bytes) else str(value)


def in_parts(nvml: Any, card: Any) -> bool:
    """Whether a GPU is divided into instances (MIG)."""
    return bool(answer(nvml, (0, 0), nvml.nvmlDeviceGetMigMode, card)[0])


def active_links(nvml: Any, handle: Any) -> tuple[list[int], int]:
    """The NVLinks that are up, and how many the GPU has."""
    states = [answer(nvml, None, nvml.nvmlDeviceGetNvLinkState, handle, i) for i in range(nvml.NVML_NVLINK_MAX_LINKS)]
    return [link for link, state in enumerate(states) if state], sum(state is not None for state in states)


def links_by_peer(nvml: Any, handle: Any) -> dict[str, tuple[int, ...]]:
    """The NVLinks that are up, by the place on the PCI bus at their other end; those that do not tell are left out."""
    found: dict[str, tuple[int, ...]] = {}
    for link in active_links(nvml, handle)[0]:
        remote = answer(nvml, None, nvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, link)
        if remote is not None:
            bus = text(remote.busId).lower()
            found[bus] = (*found.get(bus, ()), link)
    return found


def link_counters(nvml: Any, handle: Any, links: Sequence[int] = (ALL_LINKS,)) -> Counters | None:
    """Bytes over these NVLinks of a GPU, without ``links`` over all; None where the driver does not count."""
    fields: Sequence[tuple[int, int]] = [(field, link) for field in (SENT_KIB, RECEIVED_KIB) for link in links]
    values = answer(nvml, (), nvml.nvmlDeviceGetFieldValues, handle, fields)
    if not fields or len(values) < len(fields) or any(value.nvmlReturn for value in values):
        return None
    counts = [int(value.value.ullVal) * 1024 for value in values]
    return Counters(sum(counts[: len(links)]), sum(counts[len(links) :]), int(values[0].timestamp))

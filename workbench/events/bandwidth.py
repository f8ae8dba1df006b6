"""Effective bandwidth, and the floor by the roofline."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.events.base import Event


@dataclass(frozen=True, kw_only=True)
class Floor:
    """The least time by the roofline of a topology; a term is None where a rate is not known."""

    ms: float | None
    binding: str
    """The term that decides: link, memory, compute or latency; empty when all are 0."""
    terms_ms: dict[str, float | None]
    topology: str
    wire_ms: float = 0.0
    """Time of the needed bytes on this machine's links and beside them, with all that switches can do; 0 = no limit."""
    wire: str = ""
    """The arithmetic of ``wire_ms``, and this machine's name."""
    in_network_ms: float | None = None
    """The floor where switches add and multicast, where that makes a difference."""
    what_if: bool = False
    """Whether the topology is another one than that of the ranks."""
    measured: bool = False
    """Whether it rests on a rate measured on these ranks, so that it is no physical limit."""


@dataclass(frozen=True, kw_only=True)
class RankBandwidth:
    """Effective bandwidth of one rank: the bytes it needs over the attempt's median time; shares as in Bandwidth."""

    rank: int
    needed_bytes: float
    gbps: float
    share: float | None
    nominal_gbps: float | None
    nominal_share: float | None


@dataclass(frozen=True, kw_only=True)
class Bandwidth(Event):
    """Effective bandwidth of the rank that needs most: needed bytes over the median time, and what it is held against.

    ``peak_gbps`` is the best rate *measured* between these ranks, ``share`` the part of it that was reached, ``label``
    how it was measured. ``nominal_gbps`` is the one-way rate of that rank's links on paper, ``nominal_share`` the part
    of that, ``nominal_label`` the links; None where no rate on paper is known, as between processes on processors.
    """

    needed_bytes: float
    reference_bytes: float
    gbps: float
    reference_gbps: float
    busbw: float | None
    peak_gbps: float | None
    share: float | None
    label: str
    floor: Floor | None = None
    nominal_gbps: float | None = None
    nominal_share: float | None = None
    nominal_label: str = ""
    ranks: tuple[RankBandwidth, ...] = ()

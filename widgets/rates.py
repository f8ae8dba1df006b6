"""Effective bandwidth in words: what was reached, of which rate, and how much of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from widgets import format as fmt
from widgets.plain import plain
from workbench.events import Bandwidth, RankBandwidth

Field = tuple[str, Content | str]
"""Label and value of one line."""
_LISTED = 8
"""Ranks that are told apart at most."""


def bandwidth_fields(rate: Bandwidth, cells: int) -> Iterator[Field]:
    """Needed bytes over time, against the links on paper and against what was measured; a bar of ``cells``."""
    if not rate.needed_bytes:
        yield "bandwidth", f"no byte needs to move; reference {fmt.moved(rate.reference_bytes)}"
        return
    yield "bandwidth", _reached(rate)
    share = rate.share if rate.nominal_share is None else rate.nominal_share
    if share is not None:
        yield "", Content.styled(fmt.bar(share, cells), "$text-primary")
    if rate.nominal_gbps is not None:
        yield "nominal", Content.styled(plain(rate.nominal_label), "dim")
    yield "measured" if rate.peak_gbps else "", Content.styled(plain(_measured(rate)), "dim")
    yield from _ranks(rate.ranks)
    reference = f"reference {fmt.bandwidth(rate.reference_gbps)}"
    yield "", reference if rate.busbw is None else _beside(reference, ", ", f"busbw {fmt.bandwidth(rate.busbw)}")
    yield "needed", f"{fmt.moved(rate.needed_bytes)}, reference {fmt.moved(rate.reference_bytes)}"


def _reached(rate: Bandwidth) -> str:
    """``212 of 450 GB/s, 47% of nominal, 71% of measured``: of the links on paper where they are known."""
    reached, most = fmt.bandwidth(rate.gbps), rate.nominal_gbps or rate.peak_gbps
    shares = [f"{fmt.percent(rate.nominal_share)} of nominal"] if rate.nominal_share is not None else []
    shares += [f"{fmt.percent(rate.share)} of measured"] if rate.share is not None else []
    return ", ".join([_beside(reached, " of ", fmt.bandwidth(most)) if most else reached, *shares])


def _measured(rate: Bandwidth) -> str:
    peak = fmt.bandwidth(rate.peak_gbps) if rate.peak_gbps and rate.nominal_gbps else ""
    return " by ".join(filter(None, (peak, rate.label)))


def _ranks(ranks: Sequence[RankBandwidth]) -> Iterator[Field]:
    """One figure a rank, where ranks need different bytes or have different links."""
    if len({(one.gbps, one.nominal_gbps) for one in ranks}) < 2:
        return
    told = [f"rank {one.rank} {fmt.bandwidth(one.gbps)}{_share(one)}" for one in ranks[:_LISTED]]
    more = f", and {len(ranks) - _LISTED} more" if len(ranks) > _LISTED else ""
    yield "by rank", ", ".join(told) + more


def _share(one: RankBandwidth) -> str:
    share, of = (one.nominal_share, "nominal") if one.nominal_share is not None else (one.share, "measured")
    return f" ({fmt.percent(share)} of {of})" if share is not None else ""


def _beside(first: str, between: str, second: str) -> str:
    """Two figures with their unit; where it is the same, it is said once."""
    unit = f" {second.rpartition(' ')[2]}"
    return f"{first.removesuffix(unit)}{between}{second}"
